"""Workspaces of the emulator."""

from __future__ import annotations

from tests.builders.emulator import (
    CLUSTER,
    GROUP,
    WS,
    world,
)


def test_workspaces_are_made_on_first_use_and_kept_apart() -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    assert here.get(f"{WS}2/computes").data == {"value": []}
    assert here.get(WS.rsplit("/", 1)[0]).names == ["ws"]


def test_a_strict_emulator_refuses_workspaces_that_nobody_made() -> None:
    here = world(strict=True)
    assert here.put(f"{WS}/computes/cpu", CLUSTER).code == "ParentResourceNotFound"
    assert here.put(WS, {"location": "West US"}).status == 201
    assert here.put(f"{WS}/computes/cpu", CLUSTER).status == 201
    assert here.get(WS).data["location"] == "westus"


def test_a_strict_emulator_knows_its_home() -> None:
    here = world(strict=True)
    home = here.get("/subscriptions").data["value"][0]["id"]
    group = here.get(f"{home}/resourceGroups").data["value"][0]["id"]
    assert here.get(f"{group}/resources").names == ["local"]
    assert here.get(GROUP).code == "ResourceGroupNotFound"
    assert here.get("/subscriptions/sub").code == "SubscriptionNotFound"


def test_a_workspace_in_no_region_is_refused() -> None:
    answer = world().put(WS, {"location": "atlantis"})
    assert (answer.status, answer.code) == (400, "LocationNotAvailableForResourceType")
