"""Patches and deletions."""

from __future__ import annotations

import json

import pytest

from tests.builders.emulator import (
    CLUSTER,
    WS,
    with_deployment,
    world,
)


def test_a_patch_changes_what_a_patch_may_and_no_more() -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    scale = {"scaleSettings": {"maxNodeCount": 2}}
    answer = here.ask("PATCH", f"{WS}/computes/cpu", {"properties": {"properties": scale}})
    inner = answer.data["properties"]["properties"]["scaleSettings"]
    assert (answer.status, inner["maxNodeCount"], inner["minNodeCount"]) == (202, 2, 0)


@pytest.mark.parametrize(
    "body",
    [
        {"tags": {"a": "b"}},
        {"properties": {"properties": {"vmSize": "Standard_DS2_v2"}}},
        {"properties": {"description": "d"}},
    ],
    ids=json.dumps,
)
def test_a_patch_of_a_cluster_cannot_do_more_than_scale(body: object) -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    answer = here.ask("PATCH", f"{WS}/computes/cpu", body)
    assert (answer.status, answer.code) == (400, "BadArgument")


def test_a_patch_of_a_deployment_describes_it() -> None:
    here = with_deployment()
    where = f"{WS}/batchEndpoints/scoring/deployments/blue"
    body = {"properties": {"description": "d"}, "tags": {"a": "b"}}
    answer = here.ask("PATCH", where, body)
    assert answer.data["properties"]["description"] == "d"
    assert answer.data["tags"] == {"a": "b"}


def test_a_patch_of_nothing_is_not_found() -> None:
    assert world().ask("PATCH", f"{WS}/computes/cpu", {}).status == 404


def test_deleting_nothing_is_not_found() -> None:
    assert world().ask("DELETE", f"{WS}/computes/cpu").status == 404


def test_an_unknown_way_to_delete_is_refused() -> None:
    answer = world().ask("DELETE", f"{WS}/computes/cpu?underlyingResourceAction=Burn")
    assert (answer.status, answer.code) == (400, "BadArgument")
