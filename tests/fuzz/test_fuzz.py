"""A few cases of `make fuzz`: always the same."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.builders.paths import ROOT

SURFACES, CASES = 11, "4"


@pytest.mark.slow
def test_nothing_odd_ends_as_a_bug() -> None:
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--cases", CASES, "--seed", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [int(count) for count in re.findall(r"^ +(\d+) [\w-]+$", done.stdout, re.MULTILINE)]
    assert counts == [int(CASES)] * SURFACES
