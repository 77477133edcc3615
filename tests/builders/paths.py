"""Folders that tests read from."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
LOW_PRIORITY = SAMPLES / "low-priority-batch"
TESTS = ROOT / "tests"
CASES = TESTS / "cases"
SHARED = ROOT.parent / "shared"  # beside the checkout, where it is there at all
