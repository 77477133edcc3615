"""The plug-in of pytest, as a repository of other people's uses it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import shell
from tests.builders.paths import SAMPLES

PLUGIN = "mlctl.testing.plugin"  # by the name of its entry point: loaded once, installed or not


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, with the plug-in."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=shell.environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_sample_passes_its_own_tests_on_several_workers(tmp_path: Path) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    folder = shutil.copytree(SAMPLES / "testing", tmp_path / "testing")
    done = ran(folder, "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout


UNUSED = """
import sys

def test_that_uses_nothing():
    found = sorted(one for one in sys.modules if one.partition(".")[0] == "mlctl")
    assert found == ["mlctl", "mlctl.testing", "mlctl.testing.plugin", "mlctl.version"]
"""
BROKEN = """
import os

def test_that_applies_a_broken_file(azureml):
    azureml.apply("cpu.yml")
"""
SHARED = """
import os

def test_one(azureml_session):
    azureml_session.apply("cpu.yml")
    assert "AZUREML_CURRENT_CLOUD" not in os.environ

def test_other(azureml_session, azureml, preempt):
    assert azureml_session.plan("cpu.yml").plan.empty
    assert not azureml.plan("cpu.yml").plan.empty
    assert preempt is azureml.preempt
"""


def test_a_run_that_uses_no_fixture_imports_nothing_but_their_names(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(UNUSED)
    done = ran(tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_shared_workspace_lasts_and_others_are_new(tmp_path: Path) -> None:
    shell.cluster(tmp_path / "cpu.yml")
    (tmp_path / "test_it.py").write_text(SHARED)
    done = ran(tmp_path)
    assert "2 passed" in done.stdout, done.stdout


@pytest.mark.slow
def test_errors_in_files_fail_a_test_with_their_places(tmp_path: Path) -> None:
    shell.edit(shell.cluster(tmp_path / "cpu.yml"), "max_instances: 2", "max_instances: two")
    (tmp_path / "test_it.py").write_text(BROKEN)
    done = ran(tmp_path)
    assert (done.returncode, "cpu.yml:5:16: MLC103" in done.stdout) == (1, True), done.stdout
