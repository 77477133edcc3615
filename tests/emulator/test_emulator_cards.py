"""The emulator answers as Azure was recorded to, but for what is listed with its reason."""

from __future__ import annotations

from functools import lru_cache, partial

import pytest

from conformance import load
from conformance.expected import Direction, listed
from conformance.verify import Score, Verdict, verify
from tests.builders import cards

_WHOLE = 0.86  # of the cards, at least; all others deviate as listed, most of them by date


@lru_cache
def verdicts(*, strict: bool = True) -> tuple[Verdict, ...]:
    return tuple(verify(load(), partial(cards.service, strict=strict), (), "1"))


@pytest.mark.slow
def test_every_card_is_tried_once() -> None:
    assert sorted(each.card.id for each in verdicts()) == sorted(card.id for card in load())


@pytest.mark.slow
def test_the_emulator_answers_as_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    score = Score.of(
        verdict for verdict in verdicts() if not cards.not_met_yet(verdict.card, Direction.EMULATOR)
    )
    with capsys.disabled():
        print(f"\nemulator: {score}")
    assert [(each.card.id, each.unexpected) for each in verdicts() if each.unexpected] == []
    assert score.status == score.cards
    assert score.whole / score.cards > _WHOLE


@pytest.mark.slow
def test_it_does_so_too_where_workspaces_are_made_on_first_use() -> None:
    found = verdicts(strict=False)
    assert [(each.card.id, each.unexpected) for each in found if each.unexpected] == []


@pytest.mark.slow
def test_what_is_listed_as_deviating_still_deviates() -> None:
    for each in listed(Direction.EMULATOR):
        found = [
            one
            for verdict in (*verdicts(), *verdicts(strict=False))
            for one in verdict.deviations
            if each.covers(verdict.card, one)
        ]
        assert found, f"nothing deviates any more at {each.at}: strike it off"
