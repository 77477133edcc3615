"""The tree of commands: a run builds the branch of its verb alone."""

from __future__ import annotations

import pytest

from mlctl.cli.app import VERBS, build


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_built_without_the_others(verb: str) -> None:
    assert [*build(verb).children] == [verb]


def test_without_a_verb_of_mlctl_all_are_built() -> None:
    assert [*build("frobnicate").children] != []
    assert {*build().children} == {*VERBS}


def test_building_twice_declares_nothing_twice() -> None:
    first, again = ([one.path for one in build().commands()] for _ in range(2))
    assert first == again
    assert len(first) == len(set(first))
