"""Values written into text: what is not the value stays as it is, to the character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import source
from mlctl.diagnostics import Report
from mlctl.source import Document
from mlctl.source.edit import CannotEdit, apply_edits, insert, remove, rename, replace_value

TEXT = """\
# head
a: 1  # one
b: {x: y, z: "w"}   # two
c:
  # inside
  d: |
    long
    text
  e: [1, 2]
- not: reached
""".replace("- not: reached\n", "f: last")


def read(text: str) -> Document:
    """The only document of a text."""
    (document,) = source.load("a.yml", text, Report())
    return document


def after(text: str, at: tuple[str, ...], value: object) -> str:
    """The text with another value at a place."""
    (new,) = apply_edits([replace_value(read(text).label(at).span, value)]).values()
    return new


def without(text: str, *at: str) -> str:
    """The text without a key."""
    document = read(text)
    keys = document.label(at, key=True).span, document.label(at).span
    (new,) = apply_edits([remove(*keys)]).values()
    return new


def test_a_value_is_replaced_and_its_remark_stays() -> None:
    assert after(TEXT, ("a",), 22) == TEXT.replace("a: 1 ", "a: 22 ")
    assert after(TEXT, ("b", "x"), "new") == TEXT.replace("x: y", "x: new")
    assert after(TEXT, ("c", "e"), [3]) == TEXT.replace("[1, 2]", "[3]")
    assert after(TEXT, ("f",), None) == TEXT.replace("last", "null")


@pytest.mark.parametrize("value", ["yes", "1.10", "a: b", "# no", "", "two\nlines", "${{ x }}"])
def test_a_text_is_written_so_that_it_is_read_as_that_text(value: str) -> None:
    for at in (("a",), ("b", "x"), ("f",)):
        told: object = read(after(TEXT, at, value)).data
        for key in at:
            assert isinstance(told, dict)
            told = told[key]
        assert told == value


def test_a_new_key_stands_above_another_as_deep_as_it() -> None:
    document = read(TEXT)
    above = insert(document.label(("c", "e"), key=True).span, ("n", "m"), 3)
    (new,) = apply_edits([above]).values()
    assert "  n:\n    m: 3\n  e: [1, 2]\n" in new
    flow = insert(document.label(("b", "z"), key=True).span, ("n", "m"), 3)
    (new,) = apply_edits([flow]).values()
    assert 'b: {x: y, n: {"m": 3}, z: "w"}   # two' in new


def test_line_ends_are_those_of_the_file() -> None:
    dos = "a: 1\r\nb: 2\r\n"
    above = insert(read(dos).label(("b",), key=True).span, ("n",), 3)
    assert list(apply_edits([above]).values()) == ["a: 1\r\nn: 3\r\nb: 2\r\n"]


def test_a_key_goes_with_its_line_or_its_comma() -> None:
    assert without(TEXT, "a") == TEXT.replace("a: 1  # one\n", "")
    assert without(TEXT, "b", "x") == TEXT.replace("x: y, ", "")
    assert without(TEXT, "b", "z") == TEXT.replace(', z: "w"', "")
    assert without(TEXT, "f") == TEXT.removesuffix("f: last")


def test_what_would_touch_more_than_the_value_is_refused() -> None:
    with pytest.raises(CannotEdit, match="only key"):
        without("a: {b: 1}\n", "a", "b")
    commented = "a:\n  b: 1  # why\n  c: 2\n"
    with pytest.raises(CannotEdit, match="comments"):
        after(commented, ("a",), 3)


@pytest.mark.parametrize("value", [":a", "?a", "a:?b", "a,b", "{a", "::", "a: b"])
def test_a_value_can_be_read_again_in_a_flow_mapping(value: str) -> None:
    assert read(after(TEXT, ("b", "x"), value)).data["b"]["x"] == value


@given(
    st.lists(st.sampled_from([("a",), ("b", "x"), ("b", "z"), ("f",)]), unique=True, min_size=1),
    st.text("ab'\"#:\n\\é{} ", max_size=6) | st.integers() | st.booleans() | st.none(),
)
def test_several_edits_at_once_change_these_values_and_no_other(
    places: list[tuple[str, ...]], value: object
) -> None:
    document = read(TEXT)
    edits = [replace_value(document.label(at).span, value) for at in places]
    (new,) = apply_edits(edits).values()
    found = read(new).data
    for at in (("a",), ("b", "x"), ("b", "z"), ("c", "e"), ("f",)):
        was, now = document.data, found
        for key in at:
            was, now = was[key], now[key]
        assert now == (value if at in places else was)
    assert next(one for one in new.splitlines() if "# " in one) == "# head"


@pytest.mark.parametrize(
    ("written", "old", "new", "then"),
    [
        ("cpu", "cpu", "cpu-v2", "cpu-v2"),
        ("'cpu'  # its name", "cpu", "cpu-v2", "'cpu-v2'  # its name"),
        ('"azureml:CPU"', "cpu", "cpu-v2", '"azureml:CPU-v2"'),
        ("/x/computes/blue-2", "blue-2", "blue-10", "/x/computes/blue-10"),
        ("&it cpu", "cpu", "cpu-v2", "&it cpu-v2"),
        ("cpu-${{ var.x }}", "cpu-dev", "cpu-dev-v2", "cpu-${{ var.x }}-v2"),
        ("cpu-${{ var.x }}-v2", "cpu-dev-v2", "cpu-dev-v3", "cpu-${{ var.x }}-v3"),
        ("${{ var.x }}", "cpu", "cpu-v2", "${{ var.x }}-v2"),
    ],
)
def test_the_end_of_a_name_changes_and_all_else_stays(
    written: str, old: str, new: str, then: str
) -> None:
    text = f"a: {{b: [1]}}\r\nname: {written}\r\nc: d\r\n"
    (after_it,) = apply_edits([rename(read(text).label(("name",)).span, old, new)]).values()
    assert after_it == text.replace(written, then)


@pytest.mark.parametrize(
    ("written", "old", "new"),
    [
        ("*it", "cpu", "cpu-v2"),
        ("${{ var.x }}", "cpu-v2", "cpu-v3"),
        ("cpu-${{ var.x }}", "cpu-longer", "cpu-lon-2"),
        ("|\n  cpu", "cpu", "cpu-v2"),
        ('"c\\x70u"', "cpu", "cpu-v2"),
    ],
)
def test_a_name_that_does_not_stand_there_is_not_changed(written: str, old: str, new: str) -> None:
    document = read(f"a: &it cpu\nname: {written}\n")
    with pytest.raises(CannotEdit):
        rename(document.label(("name",)).span, old, new)
