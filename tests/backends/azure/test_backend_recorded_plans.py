"""Recorded bodies against the YAML that made them: `cases/azure/CARD.yml` plans no changes."""

from __future__ import annotations

import pytest

from mlctl import pointer
from mlctl.cards import Card
from mlctl.kinds.registry import ALL
from mlctl.kinds.resource import Resource
from mlctl.kinds.values import form_of_body, moving, said
from mlctl.pointer import nest
from mlctl.render import plan as render
from tests.builders.azure import SCOPE, azure
from tests.builders.paths import CASES
from tests.builders.plans import planned
from tests.builders.replayed import CARDS, Replayed, filled
from tests.builders.resources import declared, parsed

FILES = {path.stem: path for path in (CASES / "azure").glob("*.yml")}


def settled(card: Card) -> bool:
    """Whether it shows a resource that a file can declare, with no operation on it."""
    kind, body = ALL.get(card.kind), card.response.body
    if kind is None or not kind.declared or kind.runs or card.response.status >= 300:
        return False
    if card.operation not in ("get", "put") or not isinstance(body, dict) or moving(body):
        return False
    if kind.live_type is not None and pointer.get(body, kind.live_type[0]) != kind.live_type[1]:
        return False
    return ("/versions/" in card.request.path) == kind.versioned


def said_by(card: Card) -> list[Resource]:
    """What a file says that makes the recorded request."""
    body, parts = filled(card.request.body), card.request.path.split("/")
    kind = ALL[card.kind]
    own = {"name": parts[-3], "version": parts[-1]} if kind.versioned else {"name": parts[-1]}
    above = {kind.parent_key: parts[-3]} if kind.parent else {}
    values = said(body, form_of_body(kind, body, SCOPE), SCOPE, own=False)
    return [declared(card.kind, {**own, **above, **nest(values)})]


def declared_in(card: Card) -> list[Resource]:
    """What the YAML declares: that of the case, else what the request says; [] if there is none."""
    if card.id in FILES:
        return parsed(FILES[card.id].read_text())
    return said_by(card) if card.operation == "put" else []


SETTLED = sorted(card.id for card in CARDS.values() if settled(card))


def test_the_yaml_of_a_case_is_for_a_card() -> None:
    assert FILES.keys() <= set(SETTLED)


@pytest.mark.parametrize("card", SETTLED)
def test_the_yaml_that_made_a_resource_plans_no_changes(card: str) -> None:
    resources = declared_in(CARDS[card])
    if not resources:
        pytest.skip("no YAML of this resource is in tests/cases/azure")
    made = planned(azure(Replayed.of(card)).backend, *resources)
    assert render.human(made.plan).startswith(render.NO_CHANGES)
