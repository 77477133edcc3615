"""Taking over writes tags and nothing else, whatever is live, here and on Azure."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings

from mlctl.backends.ports.backend import Backend
from mlctl.planning.ownership.owner import (
    PROJECT,
    SPEC_HASH,
    Ownership,
    adoption,
    owned_by_others,
    tags,
)
from mlctl.planning.steps.work import work
from tests.builders.azure import azure, emulated
from tests.builders.generated import Declared, resources, workspace, worlds
from tests.builders.plans import applied, fields, planned, succeeded
from tests.builders.resources import compute, endpoint
from tests.builders.workspace import SCOPE, bodies, cloud

OURS = Ownership("scoring")


def untagged(backend: Backend) -> dict[str, Any]:
    """Everything that is live, without tags and what passes with time."""
    return {address: _bare(body) for address, body in bodies(backend).items()}


def _bare(body: Mapping[str, Any]) -> dict[str, Any]:
    left = ("tags", "provisioningState", "etag")
    return {
        key: _bare(value) if isinstance(value, dict) else value
        for key, value in body.items()
        if key not in left
    }


@pytest.mark.slow
@pytest.mark.parametrize("where", ["local", "azure"])
@given(worlds())
@settings(max_examples=8)
def test_taking_over_tags_everything_and_changes_nothing_else(
    where: str, world: list[Declared]
) -> None:
    local = workspace()
    remote = azure(emulated(local.handle.store), SCOPE).backend if where == "azure" else None
    backend: Backend = remote or local
    declared = resources(world)
    applied(backend, *declared)
    addresses = [one.address for one in declared]
    before = untagged(backend)
    plan = planned(backend, *declared)
    succeeded(work(adoption(plan.plan, OURS), plan.graph), backend)
    assert untagged(backend) == before
    for live in backend.read(addresses).values():
        assert tags(live).keys() >= {PROJECT, SPEC_HASH}
    assert fields(planned(backend, *declared, ownership=OURS).plan) == {}
    with closing(remote) if remote else closing(local):
        pass


def test_what_others_own_is_told_unless_it_was_given() -> None:
    backend = cloud()
    applied(backend, compute(), ownership=Ownership("others"))
    applied(backend, endpoint())
    plan = planned(backend, compute(), endpoint()).plan
    assert owned_by_others(plan, OURS, ()) == {compute().address: "others"}
    assert owned_by_others(plan, OURS, ("others",)) == {}
