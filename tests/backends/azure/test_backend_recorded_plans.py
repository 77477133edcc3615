"""Recorded bodies against the YAML that made them: `cases/azure/CARD.yml` plans no changes."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from conformance.expected import Direction, listed
from mlctl.render.plan import blocks as render
from tests.builders.azure import azure
from tests.builders.met import FILES, declared_in, settled
from tests.builders.plans import planned
from tests.builders.replayed import CARDS, Replayed

SETTLED = sorted(card.id for card in CARDS.values() if settled(card))
DEVIATING = [entry.cards for entry in listed(Direction.BACKEND) if entry.at.startswith("/plan")]
MET = [card for card in SETTLED if not any(fnmatchcase(card, other) for other in DEVIATING)]


def test_the_yaml_of_a_case_is_for_a_card() -> None:
    assert FILES.keys() <= set(SETTLED)


@pytest.mark.parametrize("card", MET)
def test_the_yaml_that_made_a_resource_plans_no_changes(card: str) -> None:
    resources = declared_in(CARDS[card])
    if not resources:
        pytest.skip("no YAML of this resource is in tests/cases/azure")
    made = planned(azure(Replayed.of(card)).backend, *resources)
    assert render.human(made.plan).startswith(render.NO_CHANGES)
