"""The list of deviations on purpose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance import load
from conformance.expected import Direction, Expected, listed, unexpected
from conformance.form import Deviation


@pytest.mark.parametrize("direction", Direction)
def test_every_deviation_on_purpose_has_a_reason_and_names_cards_that_are_there(
    direction: Direction,
) -> None:
    cards = load()
    for each in listed(direction):
        assert len(each.reason.split()) > 3, each
        assert any(each.covers(card, Deviation(each.at, 1, 2)) for card in cards), each


def test_a_deviation_is_expected_at_its_place_of_its_cards_only() -> None:
    card = load()[0]
    here = Expected(Direction.EMULATOR, "/body/*/uri", "It leads here.", f"{card.id[:-1]}?")
    found = [Deviation("/body/properties/uri", 1, 2), Deviation("/body/uri/x", 1, 2)]
    assert list(unexpected(card, found, [here])) == [found[1]]
    other = Expected(Direction.EMULATOR, "/body/*/uri", "It leads here.", kind="another")
    assert list(unexpected(card, found, [other])) == found


def test_a_deviation_may_be_of_cards_that_were_recorded_before_a_day_only() -> None:
    card = next(card for card in load() if card.source["recorded"].startswith("2022"))
    deviation = Deviation("/body/systemData/createdAt", 1, 2)
    dated = Expected(Direction.EMULATOR, deviation.at, "It was so.", before="2023-01-01")
    later = replace(card, source={**card.source, "recorded": "2023-01-01"})
    assert list(unexpected(card, [deviation], [dated])) == []
    assert list(unexpected(later, [deviation], [dated])) == [deviation]
