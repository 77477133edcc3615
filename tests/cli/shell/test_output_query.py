"""A query is checked before anything is written; what it cannot do with the data is wrong usage."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.shell.output import compile_query
from tests.builders.shell import Run

CREATE = ("compute", "create", "--name", "cpu", "--type", "amlcompute", "--max-instances", "2")
PARTS = ["nope(", "abs(", "contains(", "tags", ".team", "'x'", "`1`", "[0]", "[::0]", "[*]", "@"]
PARTS += [",", ")", "&", "|", "sort_by(", "!", "==", "<", "{a:", "}", "[?", "]", "join(", "`", "("]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("nope()", "Unknown function: nope()"),
        ("tags | [?nope(a)]", "Unknown function: nope()"),
        ("abs()", "abs() takes 1 argument(s), and has 0"),
        ("not_null()", "not_null() takes at least 1 argument(s), and has 0"),
        ("[", "--query"),
        ("(" * 3000, "nested too deeply"),
    ],
)
def test_a_wrong_query_is_refused_before_anything_is_written(
    mlctl: Run, query: str, said: str
) -> None:
    done = mlctl(*CREATE, "--query", query)
    assert (done.code, said in done.err, done.out) == (2, True, "")
    assert mlctl("compute", "list").json == []


@pytest.mark.parametrize("query", ["contains(tags.team, 'x')", "abs(name)", "sort_by(@, &a)"])
def test_a_query_that_does_not_suit_the_data_is_wrong_usage(mlctl: Run, query: str) -> None:
    done = mlctl(*CREATE, "--query", query)
    assert (done.code, "Invalid value for --query: In function" in done.err) == (2, True)
    assert mlctl("compute", "list", "--query", "[].name").json == ["cpu"]


def test_a_query_that_is_waited_for_is_checked_too(mlctl: Run) -> None:
    mlctl(*CREATE)
    for query in ("nope()", "abs(name)"):
        done = mlctl("compute", "wait", "-n", "cpu", "--custom", query)
        assert (done.code, "Invalid value for --custom" in done.err) == (2, True)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of jmespath, of a literal
@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join) | st.text(max_size=12))
def test_every_query_finds_something_or_is_invalid(query: str) -> None:
    data = {"name": "cpu", "tags": None, "a": [1, "x", {"b": 1e400}]}
    with suppress(InvalidValue):
        assert compile_query(query).search(data) is not NotImplemented
