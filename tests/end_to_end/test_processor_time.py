"""A test that costs much processor time must be marked slow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import processor_time
from tests.builders.paths import ROOT

CONFTEST = """\
from tests.builders import processor_time

processor_time.ALLOWED = 0.1


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: ")
    config.pluginmanager.register(processor_time.ProcessorTime("times"))
"""
TESTS = """\
import time
import pytest


def work():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass


@pytest.fixture(scope="module")
def shared():
    work()


def test_quick(shared):
    time.sleep(0.3)


def test_busy():
    work()


@pytest.mark.slow
def test_marked():
    work()
"""


@pytest.mark.slow
def test_a_slow_test_without_the_mark_fails_and_no_other_does(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_all.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed, 1 error" in done.stdout
    assert "ERROR test_all.py::test_busy - Failed: 0.3 s of processor time" in done.stdout
    times = [line.split("\t")[0] for line in (tmp_path / "times").read_text().splitlines()]
    assert [float(seconds) > 0.2 for seconds in times] == [False, True, True]


def test_the_time_of_processes_counts() -> None:
    before = processor_time.processor_time()
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert processor_time.processor_time() - before > 0.02
