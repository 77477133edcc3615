"""The page about the simulated cloud names tests that are there."""

from __future__ import annotations

import re

from tests.builders.paths import ROOT

PAGE = ROOT / "docs" / "simulated-cloud.md"


def test_every_sentence_is_held_by_tests_that_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", text)
    assert len(named) > 30
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
