"""The benchmark runs, and says how a row stands."""

from __future__ import annotations

import subprocess
import sys

from tests.builders.paths import ROOT


def test_a_row_has_both_medians_the_ratio_and_the_target() -> None:
    words = [sys.executable, "-m", "bench.run", "--runs", "1", "--", "--version"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    *_, row, _, summary = done.stdout.splitlines()
    assert row.split()[0] == "--version"
    assert "python -c pass" in row
    assert summary.startswith(f"1 rows, {done.returncode} missed, in ")
    assert row.split()[-1] == ("MISSED" if done.returncode else "ok")
