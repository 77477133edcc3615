"""The emulator answers as Azure was recorded to, but for what is listed with its reason."""

from __future__ import annotations

from functools import lru_cache

import pytest

from mlctl.cards import load
from mlctl.cards.expected import Direction, listed
from mlctl.cards.verify import Score, Verdict, verify
from tests.builders import cards


@lru_cache
def verdicts() -> tuple[Verdict, ...]:
    return tuple(verify(load(), cards.service, (), "1"))


def test_every_card_is_tried_once() -> None:
    assert sorted(each.card.id for each in verdicts()) == sorted(card.id for card in load())


def test_the_emulator_answers_as_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    score = Score.of(verdicts())
    with capsys.disabled():
        print(f"\nemulator: {score}")
    assert score.status >= 70


def test_what_is_listed_as_deviating_still_deviates() -> None:
    for each in listed(Direction.EMULATOR):
        found = [
            one
            for verdict in verdicts()
            for one in verdict.deviations
            if each.covers(verdict.card, one)
        ]
        assert found, f"nothing deviates any more at {each.at}: strike it off"
