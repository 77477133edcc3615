"""Expressions: what is one, what it names, where it stands."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.kinds.expressions import broken, find, only, spelt


def test_the_names_of_an_expression_are_found_with_their_place() -> None:
    text = "python train.py --data ${{ inputs.data }} --model ${{outputs.model}}"
    data, model = find(text)
    assert (data.path, text[data.start : data.end]) == (("inputs", "data"), "${{ inputs.data }}")
    assert model.text == "${{outputs.model}}"
    assert not data.optional


def test_what_stands_in_an_optional_part_is_optional() -> None:
    needed, spare = find("a ${{inputs.x}} $[[--rate ${{inputs.rate}}]] b")
    assert (needed.optional, spare.optional) == (False, True)


@pytest.mark.parametrize("text", ["${{inputs.x}}", "  ${{ inputs.x }}  "])
def test_a_text_of_nothing_else_is_an_expression_itself(text: str) -> None:
    found = only(text)
    assert found is not None
    assert found.path == ("inputs", "x")


@pytest.mark.parametrize(
    "text", ["", "x", "a ${{inputs.x}}", "${{inputs.x}}${{inputs.y}}", "${{}}"]
)
def test_any_other_text_is_none(text: str) -> None:
    assert only(text) is None


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("python ${{inputs.x}\nexit", "${{inputs.x}"),
        ("--x ${{}} y", "${{}}"),
        ("--x ${{inputs x}} y", "${{inputs x}}"),
        ("a $[[--x ${{inputs.x}}", "$[[--x ${{inputs.x}}"),
    ],
)
def test_what_is_not_closed_or_names_nothing_is_broken(text: str, wrong: str) -> None:
    (found,) = broken(text)
    assert (found.text, text[found.start : found.end]) == (wrong, wrong)


@pytest.mark.parametrize("text", ["", "echo $HOME ${HOME} {x} [[ -f a ]]", "${{inputs.x}} $[[a]]"])
def test_other_text_of_a_shell_is_not(text: str) -> None:
    assert list(broken(text)) == []


NAMES = st.from_regex(r"[a-z_][a-z0-9_-]{0,6}", fullmatch=True)


@given(
    st.text(max_size=20).filter(lambda text: not set(text) & set("${}[]")),
    st.lists(NAMES, min_size=1),
)
def test_what_is_spelt_is_found_again(around: str, path: list[str]) -> None:
    text = f"{around}{spelt(*path)}{around}"
    (found,) = find(text)
    assert found.path == tuple(path)
    assert text[found.start : found.end] == spelt(*path)
    assert list(broken(text)) == []


@given(st.text(alphabet="${}[] .inputsx\n", max_size=30))
def test_no_text_stops_it(text: str) -> None:
    places = [(one.start, one.end) for one in find(text)]
    places += [(one.start, one.end) for one in broken(text)]
    assert all(text[start:end] for start, end in places)


@pytest.mark.parametrize("piece", ["${{" + " " * 50, "${{ ", "$[[", "$[[ ${{a}}", "$[[${{a}}]]"])
def test_a_long_text_is_read_in_linear_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    start = time.process_time()
    list(find(text))
    list(broken(text))
    assert time.process_time() - start < 2


def test_blanks_after_an_opening_are_read_in_linear_time() -> None:
    start = time.process_time()
    (wrong,) = broken("${{" + " " * 100_000)
    assert len(wrong.text) == 200
    assert time.process_time() - start < 1
