"""Fields written into documents: the result says what was meant and nothing else, or stays."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from mlctl import pointer, source
from mlctl.diagnostics import Report
from mlctl.kinds.edit import FieldEdit, rewritten
from mlctl.pointer import Data
from mlctl.source import Document
from mlctl.source.edit import CannotEdit

TEXT = """\
a: &a {x: 1, "y": two}   # flow
b: {x: *n, z: w}
c:
  <<: *a
  # above
  x: &m 3  # behind
  d: {}
e: *a
f: [*m, 2]
---
g: {h: {i: 1}}
? j
: k
l: |
  text
"""


def read(text: str) -> list[Document]:
    """The documents of a text."""
    return source.load("a.yml", text, Report())


def said(text: str) -> list[Data]:
    """What the documents of a text say."""
    return [document.data for document in read(text)]


def after(text: str, at: tuple[str, ...], value: Data) -> tuple[str, list[str]]:
    """The text with another value at a place of its first document, and what is not written."""
    (document, *_) = read(text)
    rewrites, refused = rewritten([FieldEdit(document, at, value)])
    return next((rewrite.text for rewrite in rewrites), text), [why for _, why in refused]


def test_a_value_with_an_anchor_that_nothing_names_is_replaced_with_it() -> None:
    assert after("a: &a 1  # one\nb: 2\n", ("a",), 3) == ("a: 3  # one\nb: 2\n", [])


def test_a_value_that_an_alias_or_a_merge_key_repeats_is_left() -> None:
    for text in ("a: &a {x: 1}\nb: *a\n", "a: &a {x: 1}\nb: {<<: *a, y: 2}\n"):
        for at in (("a", "x"), ("b", "x")):
            new, (why,) = after(text, at, 5)
            assert new == text
            assert why.endswith(f"write `{at[0]}.x: 5` in a.yml:1 by hand")


def test_keys_of_a_flow_mapping_are_taken_away_together() -> None:
    text = "tags: {a: 1, b: 2, c: 3}\n"
    (document,) = read(text)
    edits = [FieldEdit(document, ("tags", key), None) for key in "ab"]
    (rewrite,), refused = rewritten(edits)
    assert (rewrite.text, refused) == ("tags: {c: 3}\n", [])


@given(
    edits=st.lists(
        st.tuples(
            st.integers(0, 1),
            st.sampled_from(["a", "a.x", "b.x", "b.n", "c.x", "c.y", "c.d.n", "e.x", "g.h.i", "j"]),
            st.sampled_from([None, 7, "text", "a: b", {"x": 1}, [1, "#"], True, "", "1.10", 1.5]),
        ),
        max_size=4,
    )
)
def test_whatever_is_written_reads_as_meant(edits: list[tuple[int, str, Data]]) -> None:
    text = TEXT.replace("*n", "1")
    documents, wanted = read(text), said(text)
    field_edits = []
    for index, name, value in edits:
        at = tuple(name.split("."))
        edit = FieldEdit(documents[index], at, value)
        try:
            edit.edit(documents[index])
        except CannotEdit:
            continue
        field_edits.append(edit)
    rewrites, refused = rewritten(field_edits)
    left = [edit for edit, _ in refused]
    for edit in field_edits:
        if edit in left:
            continue
        if edit.value is None:
            pointer.drop(wanted[edit.document.index], edit.at)
        else:
            pointer.put(wanted[edit.document.index], edit.at, deepcopy(edit.value))
    assert said(next((rewrite.text for rewrite in rewrites), text)) == wanted
