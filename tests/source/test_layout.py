"""The canonical layout of YAML: what it says and its comments stay, whatever the text was like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlctl.pointer import Pointer
from mlctl.source import layout
from mlctl.source.gaps import OddLayout
from mlctl.source.layout import lay_out
from mlctl.source.same import is_same
from tests.builders.generated import worlds
from tests.builders.paths import SHARED


def order(_document: int, at: Pointer) -> Sequence[str]:
    return () if at else ("$schema", "name", "type", "size")


def laid_out(text: str) -> str:
    return lay_out(text, order)


LAID_OUT = {
    "keys have an order and the others follow as written": (
        "z: 1\nsize: b\na: 2\nname: c\n",
        "name: c\nsize: b\nz: 1\na: 2\n",
    ),
    "a comment moves with the key below it": (
        "size: b # how big\n# who\nname: c\n",
        "# who\nname: c\nsize: b  # how big\n",
    ),
    "what a document begins with stays there": (
        "# Owned by us\n\n# how big\nsize: b\nname: c\n",
        "# Owned by us\n\nname: c\n# how big\nsize: b\n",
    ),
    "blanks are one": (
        "name:    c\nlist:\n-   a\n-    b:   1\n",
        "name: c\nlist:\n  - a\n  - b: 1\n",
    ),
    "indentation is two": (
        "tags:\n     a:\n         b: 1\nlist:\n- - a\n  - b\n",
        "tags:\n  a:\n    b: 1\nlist:\n  - - a\n    - b\n",
    ),
    "empty lines are one, and none begins a block": (
        "\n\nname: c\n\n\n\ntags:\n\n  a: 1\n\n\n",
        "name: c\n\ntags:\n  a: 1\n",
    ),
    "line ends, byte order mark and final newline": (
        "\ufeffname: c\r\nsize: b",
        "name: c\nsize: b\n",
    ),
    "quotes and numbers stay as written": (
        "a: \"yes\"\nb: 1.10\nc: on\nd: 'x'\n",
        "a: \"yes\"\nb: 1.10\nc: on\nd: 'x'\n",
    ),
    "flow collections stay flow": (
        "tags:   {a: 1, b: [x,y]}\nlist:\n    k: [1,\n        2]  \n",
        "tags: {a: 1, b: [x,y]}\nlist:\n  k: [1,\n      2]\n",
    ),
    "block scalars keep their content": (
        "run: |\n      a\n        b  \n\n\n\nkeep: |+\n    x\n\n\nnext: >2-\n    y\n",
        "run: |\n  a\n    b  \n\nkeep: |+\n  x\n\n\nnext: >2-\n    y\n",
    ),
    "folded scalars keep their lines": (
        "a: one\n       two\nb: 'x\n\n   y'\nc: \"p\\\n     q\"\n",
        "a: one\n  two\nb: 'x\n\n  y'\nc: \"p\\\n  q\"\n",
    ),
    "a comment below a block stays with it": (
        "tags:\n    a: 1\n    # b: 2\n# how big\nsize: b\n",
        "# how big\nsize: b\ntags:\n  a: 1\n  # b: 2\n",
    ),
    "a comment that is indented less belongs to what stands below it": (
        "tags:\n    a: 1\n  # about z\nz: 1\n",
        "tags:\n  a: 1\n# about z\nz: 1\n",
    ),
    "a comment in the column of a key does not belong to the list above it": (
        "list:\n- a\n# about z\nz:\n- b\n# the end\n",
        "list:\n  - a\n# about z\nz:\n  - b\n# the end\n",
    ),
    "an escaped blank at the end of a line stays": (
        'a: "x\\ \n      y"\n',
        'a: "x\\ \n  y"\n',
    ),
    "comments of an empty value stay below it": (
        "outputs:\n    # none yet\nz: 1\n",
        "outputs:\n  # none yet\nz: 1\n",
    ),
    "aliases keep the order of keys": (
        "size: &s b\nname: c\nother:\n    <<: *s\n",
        "size: &s b\nname: c\nother:\n  <<: *s\n",
    ),
    "a key twice keeps the order of keys": ("size: a\nname: c\nsize: b\n",) * 2,
    "several documents": (
        "name: a\n--- # second\nsize: b\nname: c\n---\n\n---\n",
        "name: a\n---  # second\nname: c\nsize: b\n---\n---\n",
    ),
    "a comment on a dash": ("list:\n-  # why\n   a: 1\n", "list:\n  -  # why\n    a: 1\n"),
    "an anchor on a block": (
        "x:   &a\n   b: 1\ny:\n- &c\n  d: 1\n",
        "x: &a\n  b: 1\ny:\n  - &c\n    d: 1\n",
    ),
    "JSON": ('{"name": "c",\n   "size": "b"}', '{"name": "c",\n   "size": "b"}\n'),
    "nothing but a comment in a document": ("---\n# nothing\n", "---\n# nothing\n"),
}


@pytest.mark.parametrize(("text", "expected"), LAID_OUT.values(), ids=LAID_OUT)
def test_a_text_is_laid_out(text: str, expected: str) -> None:
    assert laid_out(text) == expected
    assert laid_out(expected) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("? name\n: a\n", "unusual way"),
        ("[a, b]: c\n", "key is a list"),
        ("%YAML 1.1\n---\nname: a\n", "unusual way"),
        ("--- {name: a}\n", "line of its `---`"),
        ("name: a\n...\n", "follows the last document"),
        ("run: |\n  x", "without a line break"),
        ("a:\n  &x\n  b: 1\n", "separate line"),
        ("a: b\u2028c\n", "rare character"),
    ],
)
def test_what_cannot_be_moved_safely_is_told(text: str, why: str) -> None:
    with pytest.raises(OddLayout, match=why):
        laid_out(text)


def test_a_text_that_would_not_stay_the_same_is_not_laid_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layout, "is_same", lambda _one, _other: False)
    with pytest.raises(OddLayout, match="would change"):
        laid_out("a: 1\n")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a: 1\nb: 2\n", "b: 2\na: 1\n", True),
        ("a: 1 # x\n", "# x\na: 1\n", True),
        ("a: 1 # x\n", "a: 1\n", False),
        ("a: 1 # x\n", "a: 1 # y\n", False),
        ("a: '1'\n", "a: 1\n", False),
        ("a: [1, 2]\n", "a: [2, 1]\n", False),
        ("a: &x 1\nb: *x\n", "a: &x 1\nb: 1\n", False),
        ("a: |\n  # x\n", "a: |\n  # y\n", False),
        ("a: 1\n", "a: 1\n---\n", False),
    ],
)
def test_two_texts_are_the_same_if_their_data_and_comments_are(
    one: str, other: str, same: bool
) -> None:
    assert is_same(one, other) is same


REMARKS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 6), st.booleans()), max_size=6)


def remarked(text: str, remarks: list[tuple[int, int, bool]]) -> str:
    """The text with comments where they change nothing; each has a number of its own."""
    for number, (line, indent, inline) in enumerate(remarks):
        lines = text.split("\n")
        at = line % len(lines)
        if inline:
            lines[at] += " " * (1 + indent) + f"# remark {number}!"
        else:
            lines[at:at] = ["", " " * indent + f"# remark {number}!", " " * indent][
                : 2 + number % 2
            ]
        changed = "\n".join(lines)
        if read(changed) == read(text):
            text = changed
    return text


def read(text: str) -> Any:
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        return str(error)


@pytest.mark.slow
@given(
    world=worlds(),
    style=st.fixed_dictionaries(
        {
            "indent": st.integers(2, 7),
            "default_flow_style": st.sampled_from([None, False]),
            "default_style": st.sampled_from([None, '"', "'"]),
            "width": st.sampled_from([20, 80]),
        }
    ),
    remarks=REMARKS,
    breaks=st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_laid_out_says_the_same_and_is_laid_out_then(
    world: list[tuple[str, dict[str, Any]]],
    style: dict[str, Any],
    remarks: list[tuple[int, int, bool]],
    breaks: str,
) -> None:
    dumped = [
        yaml.safe_dump(data, allow_unicode=True, sort_keys=False, **style) for _, data in world
    ]
    plain = "---\n".join(dumped)
    text = remarked(plain, remarks)
    told = laid_out(text.replace("\n", breaks))
    assert read(told) == read(plain)
    assert [told.count(f"# remark {n}!") for n in range(6)] == [
        text.count(f"# remark {n}!") for n in range(6)
    ]
    assert laid_out(told) == told


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared beside the checkout")
@pytest.mark.parametrize("folder", ["corpus", "corpus-kinds"])
def test_published_files_say_the_same_when_they_are_laid_out(folder: str) -> None:
    found = sorted((SHARED / folder).rglob("*.y*ml"))
    assert len(found) > 50
    for path in found:
        text = path.read_text(encoding="utf-8-sig")
        told = laid_out(text)
        assert read(told) == read(text), path
        assert laid_out(told) == told, path


def test_a_space_that_does_not_break_is_no_indentation() -> None:
    once = laid_out("name: a\ntags:\n        {cost center: '0',\n    \u00a0: '0'}\n")
    assert laid_out(once) == once
