"""Shares of requests: read from values, and given to others when a child goes."""

from __future__ import annotations

import pytest

from mlctl.kinds import ALL, routes
from mlctl.pointer import Data


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("blue", {"blue": 100}),
        ("", {}),
        (None, {}),
        ({"blue": 90, "green": 10}, {"blue": 90, "green": 10}),
        ({"blue": 100, "green": 0}, {"blue": 100}),
        ({"blue": True, "green": "10"}, {}),
    ],
)
def test_a_name_gets_all_and_nothing_is_left_out(value: Data, said: routes.Shares) -> None:
    assert routes.shares(value) == said


@pytest.mark.parametrize(
    ("before", "gone", "after"),
    [
        ({"blue": 90, "green": 10}, "green", {"blue": 100}),
        ({"blue": 60, "green": 30, "red": 10}, "Blue", {"green": 75, "red": 25}),
        ({"a": 34, "b": 22, "c": 22, "d": 22}, "a", {"b": 34, "c": 33, "d": 33}),
        ({"blue": 100}, "blue", {}),
        ({"blue": 100}, "green", {"blue": 100}),
        ({"blue": 10, "green": 10}, "green", {"blue": 10}),
    ],
)
def test_the_others_take_over_what_a_child_had(
    before: dict[str, float], gone: str, after: dict[str, float]
) -> None:
    assert routes.without(before, frozenset({gone.casefold()})) == after


def test_letter_case_makes_no_other_route() -> None:
    assert routes.same({"Blue": 100}, {"blue": 100})
    assert not routes.same({"blue": 100}, {"green": 100})
    assert routes.share({("traffic",): {"Blue": 90}}, "blue") == 90


def test_the_main_child_is_the_one_with_most_requests() -> None:
    kind = ALL["batch-endpoint"]
    body: dict[str, Data] = {"properties": {"defaults": {"deploymentName": "blue"}}}
    assert (routes.main_child(kind, body), routes.main_child(kind, {})) == ("blue", "")
