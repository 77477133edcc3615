"""Recorded bodies against the YAML that made them: `cases/azure/CARD.yml` plans no changes."""

from __future__ import annotations

import pytest

from conformance.expected import Direction
from mlctl.render.plan import blocks as render
from tests.builders.azure import azure
from tests.builders.cards import not_met_yet
from tests.builders.met import FILES, declared_in, settled
from tests.builders.plans import planned
from tests.builders.replayed import CARDS, Replayed

SETTLED = sorted(card.id for card in CARDS.values() if settled(card))
UNMET = [card for card in SETTLED if not_met_yet(CARDS[card], Direction.BACKEND)]
MET = [card for card in SETTLED if card not in UNMET]
NOT_YET = pytest.mark.xfail(reason="a gap that conformance/deviations.toml lists")


def test_the_yaml_of_a_case_is_for_a_card() -> None:
    assert FILES.keys() <= set(SETTLED)


@pytest.mark.parametrize("card", [*MET, *(pytest.param(card, marks=NOT_YET) for card in UNMET)])
def test_the_yaml_that_made_a_resource_plans_no_changes(card: str) -> None:
    resources = declared_in(CARDS[card])
    if not resources:
        pytest.skip("no YAML of this resource is in tests/cases/azure")
    made = planned(azure(Replayed.of(card)).backend, *resources)
    assert render.human(made.plan).startswith(render.NO_CHANGES)
