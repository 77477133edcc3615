"""Laws of reading: what every text obeys, and every place."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlctl import source
from mlctl.diagnostics import Label, Report, Severity
from mlctl.pointer import Pointer, get
from mlctl.render.findings import diagnostics, machine

# PyYAML itself does not read back the breaks that it writes, nor a byte order mark.
LETTERS = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\ufeff")
KEYS = st.text(LETTERS, min_size=1, max_size=8)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(LETTERS, max_size=20)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
DATA = st.dictionaries(KEYS, VALUES, min_size=1, max_size=5)
# Texts that are nearly YAML: every mark that means something, in odd orders.
MARKS = [
    "a",
    "b",
    "key:",
    ":",
    "-",
    "?",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&",
    "&a",
    "*a",
    "<<",
    "<<:",
    "!",
    "!!str",
    "!!int",
    "!!bool",
    "!!map",
    "'",
    '"',
    "|",
    ">",
    "|-",
    "#",
    "%",
    "@",
    "`",
    "~",
    "=",
    "1",
    "012",
    "0x1F",
    "0b1",
    "1_0",
    "1.5",
    "1e3",
    ".inf",
    ".nan",
    "12:30",
    "yes",
    "NO",
    "on",
    "null",
    "2024-01-01",
    "2024-13-01",
    "---",
    "...",
    "%YAML",
]
SPACES = [" ", "  ", "\n", "\n", "\n  ", "\n- ", ": ", "\t", "\r\n", "\x85", "\u2028", "\\n", "é日"]
JUMBLES = st.lists(st.sampled_from(MARKS + SPACES), max_size=14).map("".join)
LINES = st.tuples(
    st.sampled_from(["", "", "", "  ", "    ", "- ", "  - ", "\t"]),
    st.sampled_from(["a", "b", "c", "<<", "&x d", "? e", '"f"', "on", "1", ""]),
    st.sampled_from([":", ": ", ": ", ": ", " ", ":\t"]),
    st.sampled_from(
        [*MARKS, "&x {a: 1}", "*x", "[*x, *x]", "&x", "", "|\n  text", "'it''s'", "a # b"]
    ),
).map("".join)
SCRAPS = JUMBLES | st.lists(LINES, max_size=8).map("\n".join)


def load(text: str | bytes) -> tuple[list[source.Document], Report]:
    report = Report()
    return source.load("a.yml", text, report), report


def pointers(value: Any, at: Pointer = ()) -> Iterator[Pointer]:
    yield at
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from pointers(inner, (*at, step))


def stretch(label: Label) -> str:
    """The text of a place, indented as it stands."""
    span = label.span
    lines = span.source.lines[span.line : span.end_line + 1]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = " " * span.column + lines[0][span.column :]
    return "\n".join(lines)


def as_json(value: Any) -> Any:
    """What a value of YAML is in JSON: dates are text."""
    if isinstance(value, dict):
        return {as_json(key): as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    return str(value) if isinstance(value, datetime.date | datetime.datetime) else value


@given(DATA, st.sampled_from([True, False, None]))
def test_every_key_and_value_has_a_place_that_parses_back_to_it(
    data: dict[str, Any], flow: bool | None
) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True, width=30)
    (document,), report = load(text)
    assert not report.failed
    assert document.data == data
    for at in pointers(data):
        assert yaml.safe_load(stretch(document.label(at))) == get(data, at)
        if at and isinstance(at[-1], str):
            assert yaml.safe_load(stretch(document.label(at, key=True))) == at[-1]


@given(st.lists(LEAVES, min_size=1, max_size=3), DATA)
def test_what_an_alias_stands_for_has_its_place_at_the_anchor(
    shared: list[Any], data: dict[str, Any]
) -> None:
    data = {"first": shared, **data, "last": {"again": shared}}
    (document,), report = load(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    assert document.data == data
    assert not report.failed
    if data["first"] is shared:
        there, here = document.label(("first", 0)), document.label(("last", "again", 0))
        assert here.span == there.span
        assert stretch(document.label(("last", "again"))).strip().startswith("*")


@given(SCRAPS)
def test_a_text_means_what_the_safe_loader_takes_it_to_mean(text: str) -> None:
    documents, report = load(text)
    try:
        expected = [as_json(part) for part in yaml.safe_load_all(text) if part is not None]
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError):
        return
    if not report.failed:
        assert [document.data for document in documents] == expected


@given(SCRAPS)
def test_what_the_safe_loader_refuses_is_refused(text: str) -> None:
    documents, report = load(text)
    if report.failed or "\x85" in text or "\u2028" in text:
        return
    assert list(yaml.safe_load_all(text)) is not None
    assert all(isinstance(document.data, dict) for document in documents)


@given(
    st.binary(max_size=60) | SCRAPS.map(str.encode) | SCRAPS.map(lambda one: one.encode("utf-16"))
)
def test_no_bytes_make_the_reader_or_a_renderer_crash(raw: bytes) -> None:
    documents, report = load(raw)
    assert documents or len(report)
    for document in documents:
        for at in pointers(document.data):
            span = document.label(at).span
            assert (span.line, span.column) <= (span.end_line, span.end_column)
    for found in report:
        assert found.rule.severity is Severity.WARNING or report.failed
    shown = diagnostics.report(report, width=40)
    assert "\x1b" not in shown
    assert machine.as_json(report)
    assert machine.github(report).count("\n") == len(report)
    assert machine.azure_pipelines(report).count("\n") == len(report)
    assert machine.sarif(report)


@given(SCRAPS)
def test_numbers_are_finite_and_values_are_json(text: str) -> None:
    documents, _ = load(text)
    for document in documents:
        for at in pointers(document.data):
            value = get(document.data, at)
            assert value is None or isinstance(value, str | bool | int | float | dict | list)
            assert not isinstance(value, float) or math.isfinite(value)
