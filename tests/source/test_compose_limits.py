"""What a text may stand for, and characters that the YAML parsers read differently."""

from __future__ import annotations

import json

import pytest

from mlctl import source
from mlctl.diagnostics import Report
from mlctl.source.events import MAX_CHARACTERS


def findings(text: str) -> tuple[list[source.Document], list[str]]:
    report = Report()
    documents = source.load("a.yml", text, report)
    return documents, [f"{found.rule.code}: {found.message}" for found in report]


@pytest.mark.parametrize("inside", ["*a", "[*a]", "{b: *a}"])
def test_aliases_of_a_long_text_count_by_its_characters(inside: str) -> None:
    most = MAX_CHARACTERS
    long = "z" * (most // 10)
    lines = "".join(f"k{number}: {inside}\n" for number in range(12))
    _, found = findings(f"long: &a {long}\n{lines}")
    assert found == [f"MLC008: aliases expand this document to more than {most} characters"]


def test_aliases_of_a_mapping_count_what_is_in_it() -> None:
    long = "z" * (MAX_CHARACTERS // 10)
    lines = "".join(f"k{number}: *a\n" for number in range(12))
    _, found = findings(f"base: &a {{deep: [{long}]}}\n{lines}")
    assert [line[:6] for line in found] == ["MLC008"]


def test_a_few_aliases_of_a_long_text_are_what_they_say() -> None:
    (document,), found = findings("a: &a long text\nb: *a\nc: {d: *a}\n")
    assert found == []
    assert document.data == {"a": "long text", "b": "long text", "c": {"d": "long text"}}


def test_characters_that_json_escapes_as_pairs_are_whole() -> None:
    text = json.dumps({"\U0001f600": "\U0001f680 two \U0001f600"})
    assert "\\ud83d" in text
    (document,), found = findings(text)
    assert found == []
    assert document.data == {"\U0001f600": "\U0001f680 two \U0001f600"}


def test_half_a_pair_is_a_finding_at_its_place() -> None:
    _, found = findings('a: ok\nb: "\\ud83d"\n')
    assert found == ["MLC012: half of a surrogate pair is not a character"]


def test_a_byte_order_mark_where_two_files_were_joined_is_a_finding() -> None:
    _, found = findings("\ufeffa: 1\n---\n\ufeffb: 2\n")
    assert found == ["MLC001: a byte order mark is inside the text"]


def test_a_byte_order_mark_inside_a_text_is_a_character() -> None:
    (document,), found = findings('a: "b\ufeffc"\n')
    assert found == []
    assert document.data == {"a": "b\ufeffc"}
