"""Text: placeholders, and near misses, the same as by counting every edit by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import catalog
from mlctl.schema.text import counted, is_placeholder, nearest, placeholder, seconds

SIZES = sorted(size.name for size in catalog.sizes().values())
WORDS = [*SIZES, *sorted(catalog.regions()), "max_instances", "min_instances", "tier", "tags"]


def edits(one: str, other: str) -> int:
    """Optimal string alignment by its definition."""
    table = [
        [i + j if not i * j else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)
    ]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            same = one[i - 1] == other[j - 1]
            table[i][j] = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (not same)
            )
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def by_hand(word: str, known: list[str]) -> str | None:
    bare = [(one.replace("_", "").replace("-", "").casefold(), one) for one in [word, *known]]
    near = []
    for plain, one in bare[1:]:
        mistakes = edits(bare[0][0], plain)
        if mistakes <= max(1, max(len(bare[0][0]), len(plain)) // 3):
            near.append((mistakes, one))
    return min(near)[1] if near else None


@st.composite
def slips(draw: st.DrawFn) -> str:
    """A known word with up to six letters put in, left out, replaced or exchanged."""
    word = list(draw(st.sampled_from(WORDS)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, max(len(word) - 1, 0)))
        match draw(st.sampled_from("iles")):
            case "i":
                word.insert(at, draw(st.sampled_from("abcxyzDS_129é")))
            case "l":
                word[at : at + 1] = []
            case "e":
                word[at : at + 2] = reversed(word[at : at + 2])
            case _:
                word[at : at + 1] = draw(st.sampled_from("abcxyzDS_129"))
    return "".join(word)


@given(slips(), st.lists(st.sampled_from(WORDS), min_size=1, max_size=12, unique=True))
def test_the_nearest_word_is_the_one_with_the_fewest_edits(word: str, known: list[str]) -> None:
    assert nearest(word, known) == by_hand(word, known)


def test_what_is_longer_than_any_name_was_meant_to_be_none() -> None:
    assert nearest("Standard_DS3_v2" + "x" * 1_000_000, SIZES) is None


def test_one_is_no_plural() -> None:
    assert [counted(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert counted(2, "loss", "losses") == "2 losses"


@pytest.mark.parametrize(
    "text",
    ["$STAGE", "${STAGE}", "$(stage)", "{{ stage }}", "${{ stage }}", "#{stage}#", "__stage__"],
)
def test_placeholders_of_shells_pipelines_and_templates_are_known(text: str) -> None:
    assert is_placeholder(text)
    assert placeholder(f"../{text}/model") == text
    assert not is_placeholder(f"../{text}/model")


@pytest.mark.parametrize("text", ["", "stage", "a < b", "5 $", "__init__.py"[2:]])
def test_other_text_is_none(text: str) -> None:
    assert placeholder(text) is None


def test_no_number_of_digits_is_too_long_to_be_no_duration() -> None:
    assert [seconds(digits + "m") for digits in ("1" * 400, "1" * 5_000, "2")] == [None, None, 120]
