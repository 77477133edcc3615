"""What other tools get wrong: each complaint has a state, and tests or a reason for it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders.paths import ROOT

DATA = tomllib.loads((ROOT / "docs" / "data" / "pains.toml").read_text(encoding="utf-8"))
PAINS: list[dict[str, Any]] = DATA["pain"]
REFERENCE = ROOT.parent / "shared" / "reference" / "user-pains.md"
TABLES = "ABCDE"  # of the reference; what follows was found since
_TEST = re.compile(r"(tests/\S+\.py)::(test_\w+)")
_THREAD = re.compile(r"[\w.-]+/[\w.-]+#(\d+)|https://\S+")


def rows() -> Iterator[tuple[str, str]]:
    """The rows of the reference: their ids, and the rest."""
    for line in REFERENCE.read_text(encoding="utf-8").splitlines():
        found = re.match(r"\| ([A-E]\d+) \|(.*)", line)
        if found:
            yield found[1], found[2]


@pytest.mark.parametrize("pain", PAINS, ids=lambda one: one["id"])
def test_a_complaint_is_solved_by_tests_that_are_there_or_has_a_reason(
    pain: dict[str, Any],
) -> None:
    assert pain["complaint"]
    assert pain["answer"]
    if pain["state"] != "solved":
        assert pain["state"] in ("not applicable", "open")
        assert pain["why"]
        assert "tests" not in pain
        return
    assert pain["tests"]
    assert "why" not in pain
    for one in pain["tests"]:
        named = _TEST.fullmatch(one)
        assert named is not None, one
        assert f"\ndef {named[2]}(" in (ROOT / named[1]).read_text(encoding="utf-8"), one


def test_each_complaint_stands_once_with_its_threads() -> None:
    assert max(Counter(one["id"] for one in PAINS).values()) == 1
    assert {one["id"][0] for one in PAINS} == set(DATA["sections"])
    for one in PAINS:
        assert all(_THREAD.fullmatch(thread) for thread in one["threads"]), one["threads"]
        assert one["threads"], one["id"]


@pytest.mark.skipif(not REFERENCE.is_file(), reason="no ../shared/reference beside the checkout")
def test_no_complaint_of_the_reference_is_left_out_and_none_has_threads_of_another() -> None:
    reference = dict(rows())
    assert len(reference) == 65
    assert {one["id"] for one in PAINS if one["id"][0] in TABLES} == reference.keys()
    for one in PAINS:
        for thread in one["threads"] if one["id"] in reference else ():
            number = re.search(r"#\d+$", thread)
            assert number is None or re.search(rf"{number[0]}\b", reference[one["id"]]), thread
