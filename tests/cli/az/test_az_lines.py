"""Published lines of `az ml`: each is read, or refused with its reason."""

from __future__ import annotations

from collections import Counter

import pytest

from docs.made.lines import Line, Verdict, lines, summary
from tests.builders.paths import ROOT

DATA = ROOT / "docs" / "data" / "az-lines.tsv"
if not DATA.is_file():
    pytest.skip("the pages are not in this package", allow_module_level=True)
LINES = lines(DATA.read_text(encoding="utf-8"))
GROUPS = {
    *("compute", "batch-endpoint", "batch-deployment", "model", "environment"),
    *("data", "component", "job", "workspace"),
    *("online-endpoint", "online-deployment", "datastore", "schedule", "registry"),
}


@pytest.mark.slow
def test_every_published_line_is_read_or_refused_with_its_reason() -> None:
    right = [one for one in LINES if not one.wrong]
    assert [one.text for one in right if one.verdict is Verdict.UNKNOWN] == []
    assert len(right) > 300


def test_a_line_that_az_refuses_is_refused() -> None:
    wrong = [one for one in LINES if one.wrong]
    assert {one.verdict for one in wrong} == {Verdict.UNKNOWN}


def test_the_lines_are_of_all_groups_and_each_stands_once() -> None:
    counted = Counter(one.text.split()[2] for one in LINES)
    assert set(counted) == GROUPS
    assert min(counted.values()) >= 6
    assert len({one.text for one in LINES}) == len(LINES)


def test_what_a_line_is_worth_is_counted() -> None:
    known = [
        Line("az ml data list -o table", ""),
        Line("az ml data mount --path x", ""),
        Line("az ml data list --tag x=1", ""),
        Line("az ml job show x", "wrong"),
    ]
    said = "Of 3 lines of published scripts, workflows and pages in these groups: 1 read, 1 refused"
    assert said in summary(known)
    assert "1 unknown; that is 67 %" in summary(known)
