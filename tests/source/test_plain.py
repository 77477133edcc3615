"""Texts read in one pass, and those that are left to the composer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.diagnostics import Report, SourceText
from mlctl.source.compose import compose
from mlctl.source.construct import Builder
from mlctl.source.events import MAX_VALUES
from mlctl.source.plain import read_plain

SCRAPS = st.lists(
    st.sampled_from(
        (
            *("a: 1", "b: x", "  c: [1, two, 3.5]", "d: {e: null}", "- f", "---", "...", "# g"),
            *("h: &i 1", "j: *i", "k: !!str 2", "l: yes", "m: 012", "n: 1e3", '"o": "p\\n"', "q:"),
            *("  - r", "<<: {s: 1}", "t: |\n  u\n  v", "w: '1'", "1: x", "=: 2", "y: =", "\t", ""),
            *('z: "\\ud83d\\ude00"', "a: 2", "? [b]", "- - c", "d: 2001-01-01", "e: .nan", "é: ü"),
        )
    ),
    max_size=8,
).map("\n".join)


@given(SCRAPS)
def test_what_is_read_in_one_pass_is_what_the_composer_reads(text: str) -> None:
    parts = read_plain(text)
    if parts is None:
        return
    report = Report()
    builder = Builder(SourceText("a.yml", text), report)
    composed = list(compose(text))
    assert [part.data for part in parts] == [builder.value(part.root) for part in composed]
    assert [(one.line, one.begin, one.end) for one in parts] == [
        (one.line, one.begin, one.end) for one in composed
    ]
    assert not list(report)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a: &b 1",
            "a: {b: &c 1}",
            "a: [*b]",
            "a: !!str 1",
            "a: ! b",
            "a: !!map {}",
            "a: 1\na: 2",
        ),
        *("a: yes", "a: 1e3", "a: 012", "1: a", "a: .inf", "a: =", "<<: {a: 1}", "[a]: 1", "a"),
        *(
            "- a",
            "a: [",
            '"\\ud83d": 1',
            "a: 1\n---\n",
            "a: 1\na: 2",
            "~: 1",
            "%TAG ! tag:x,2000:\n",
        ),
    ],
)
def test_what_needs_a_word_or_a_second_look_is_left_to_the_composer(text: str) -> None:
    assert read_plain(text) is None


def test_more_values_than_a_document_may_have_are_left_to_the_composer() -> None:
    assert read_plain("a: [" + "1, " * MAX_VALUES + "1]") is None
    assert read_plain("a: " + "[" * 101 + "]" * 101) is None


def test_each_document_knows_its_part_of_the_text() -> None:
    parts = read_plain("a: 1\n---\nb: [2]\n")
    assert parts is not None
    first, second = parts
    assert (first.data, second.data) == ({"a": 1}, {"b": [2]})
    assert (second.line, second.begin, second.end) == (1, 5, 16)
