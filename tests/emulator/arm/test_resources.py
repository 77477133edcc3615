"""Patches and deletions."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Scope
from mlctl.pointer import Data
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


def test_deleting_nothing_is_done_already() -> None:
    assert world().ask("DELETE", f"{WS}/computes/cpu").status == 204


def test_an_unknown_way_to_delete_is_refused() -> None:
    answer = world().ask("DELETE", f"{WS}/computes/cpu?underlyingResourceAction=Burn")
    assert (answer.status, answer.code) == (400, "BadArgument")


ONLINE = f"{WS}/onlineEndpoints/now"


def test_an_online_endpoint_tells_who_made_it_and_its_host_when_it_is_there() -> None:
    here = world()
    body = {"location": "eastus", "properties": {"authMode": "AMLToken"}}
    began = here.put(ONLINE, body)
    own = began.data["properties"]["properties"]
    assert own["AzureAsyncOperationUri"] == began.header("azure-asyncoperation")
    assert "/oeidp:" in own["AzureAsyncOperationUri"]
    assert began.data["properties"]["scoringUri"] is None
    here.done(began)
    made = here.get(ONLINE).data["properties"]
    assert made["scoringUri"].endswith("/now/score")
    assert made["swaggerUri"].endswith("/now/swagger.json")
    assert (made["traffic"], made["publicNetworkAccess"]) == ({}, "Enabled")


@pytest.mark.parametrize(("mode", "keys"), [("AMLToken", False), ("Key", True)])
def test_an_online_endpoint_has_keys_where_it_takes_them(mode: str, keys: bool) -> None:
    here = world()
    here.made(ONLINE, {"location": "eastus", "properties": {"authMode": mode}})
    told = here.ask("POST", f"{ONLINE}/listKeys").data
    assert [told[name] is not None for name in ("primaryKey", "secondaryKey")] == [keys, keys]
    assert here.ask("POST", f"{WS}/onlineEndpoints/none/listKeys").status == 404


def test_a_new_key_of_an_online_endpoint_takes_the_place_of_the_old_one_alone() -> None:
    here = world()
    here.made(ONLINE, {"location": "eastus", "properties": {"authMode": "Key"}})
    before = here.ask("POST", f"{ONLINE}/listKeys").data
    began = here.ask("POST", f"{ONLINE}/regenerateKeys", {"keyType": "Primary"})
    assert (began.status, began.response.body) == (202, b"")
    assert here.done(began).data["status"] == "Succeeded"
    after = here.ask("POST", f"{ONLINE}/listKeys").data
    assert after["primaryKey"] != before["primaryKey"]
    assert after["secondaryKey"] == before["secondaryKey"]
    assert "keys" not in here.get(ONLINE).data["properties"]
    assert here.ask("POST", f"{ONLINE}/regenerateKeys", {"keyType": "Third"}).status == 400


def test_an_online_deployment_lives_under_its_endpoint_and_goes_with_it() -> None:
    here = world()
    blue = f"{ONLINE}/deployments/blue"
    body = {"location": "eastus", "properties": {"instanceType": "Standard_F4s_v2"}}
    assert here.put(blue, body).status == 404
    here.made(ONLINE, {"location": "eastus", "properties": {}})
    here.made(blue, body)
    assert here.get(blue).data["properties"]["livenessProbe"]["period"] == "PT10S"
    here.done(here.ask("DELETE", ONLINE))
    assert here.get(blue).status == 404


@pytest.mark.parametrize(
    ("hours", "shown"),
    [([], None), ([10], {"hours": [10], "minutes": [], "weekDays": None, "monthDays": None})],
)
def test_a_recurrence_that_says_no_hours_has_no_pattern(hours: list[int], shown: Data) -> None:
    here = world()
    pattern = {"hours": hours, "minutes": []}
    trigger = {"triggerType": "Recurrence", "frequency": "day", "interval": 1, "schedule": pattern}
    action = {"actionType": "CreateJob", "jobDefinition": {"jobType": "Pipeline"}}
    body = {"properties": {"trigger": trigger, "action": action}}
    told = here.put(f"{WS}/schedules/daily", body).data["properties"]["trigger"]
    assert (told["frequency"], told["schedule"]) == ("Day", shown)


def test_the_answer_to_a_schedule_does_not_say_who_it_is() -> None:
    here = world()
    trigger = {"triggerType": "Cron", "expression": "15 10 * * 1"}
    action = {"actionType": "CreateJob", "jobDefinition": {"jobType": "Pipeline"}}
    body = {"properties": {"trigger": trigger, "action": action}}
    began = here.put(f"{WS}/schedules/weekly", body)
    first = here.get(str(began.header("azure-asyncoperation")))
    last = here.done(began)
    assert list(began.data) == ["properties"]
    assert (first.data["status"], list(first.data)) == ("Creating", ["id", "name", "status"])
    assert "/mfeOperationResults/s:" in first.data["id"]
    assert list(last.data) == ["id", "name", "status", "startTime", "endTime"]
    assert here.get(f"{WS}/schedules/weekly").data["name"] == "weekly"
    assert here.put(f"{WS}/schedules/weekly", body).status == 201


INSTANCE = f"{WS}/computes/mine"
MACHINE = {
    "location": "eastus",
    "identity": {"type": "SystemAssigned"},
    "properties": {"computeType": "ComputeInstance", "properties": {"vmSize": "Standard_DS3_v2"}},
}


def test_a_compute_instance_is_told_among_the_clusters_and_is_none() -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    began = here.put(INSTANCE, MACHINE)
    assert (began.status, began.data["properties"]["properties"]["state"]) == (201, None)
    here.done(began)
    told = here.get(INSTANCE).data
    assert told["identity"]["principalId"]
    assert told["properties"]["properties"]["state"] == "Running"
    assert here.get(f"{WS}/computes").names == ["cpu", "mine"]
    backend = LocalBackend(here.store, Scope("sub", "rg", "ws"))
    assert [each.address.name for each in backend.list("compute")] == ["cpu"]
    here.done(here.ask("DELETE", INSTANCE))
    assert here.get(f"{WS}/computes").names == ["cpu"]


def test_a_compute_instance_is_stopped_and_started() -> None:
    here = world()
    here.made(INSTANCE, MACHINE)
    states = []
    for action in ("stop", "start"):
        began = here.ask("POST", f"{INSTANCE}/{action}")
        assert (began.status, began.response.body) == (202, b"")
        assert here.done(began).data["status"] == "Succeeded"
        states.append(here.get(INSTANCE).data["properties"]["properties"]["state"])
    assert states == ["Stopped", "Running"]


def test_a_cluster_is_not_stopped() -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    assert here.ask("POST", f"{WS}/computes/cpu/stop").status == 400
    assert here.ask("POST", f"{WS}/computes/none/stop").status == 404


def test_a_compute_keeps_its_type() -> None:
    here = world()
    here.made(INSTANCE, MACHINE)
    here.made(f"{WS}/computes/cpu", CLUSTER)
    assert here.put(INSTANCE, CLUSTER).status == 400
    assert here.put(f"{WS}/computes/cpu", MACHINE).status == 400


def test_a_machine_that_was_made_elsewhere_is_not_attached() -> None:
    attached = {"properties": {"computeType": "VirtualMachine", "resourceId": "/subscriptions/s"}}
    answer = world().put(f"{WS}/computes/vm1", attached)
    assert (answer.status, "attaches no computes" in str(answer.data)) == (400, True)


def test_a_job_runs_on_a_compute_instance() -> None:
    here = world()
    here.made(INSTANCE, MACHINE)
    asked = {"jobType": "Command", "command": "true", "computeId": INSTANCE}
    assert here.put(f"{WS}/jobs/train", {"properties": asked}).status == 201


def test_an_identity_of_users_alone_has_a_principal_of_zeros() -> None:
    here, where = world(), f"{WS}/batchEndpoints/scoring"
    provider = "/subscriptions/s/resourceGroups/r/providers/Microsoft.ManagedIdentity"
    user = f"{provider}/userAssignedIdentities/u"
    identity = {"type": "UserAssigned", "userAssignedIdentities": {user: {}}}
    here.made(where, {"location": "eastus", "identity": identity, "properties": {}})
    shown = here.get(where).data["identity"]
    assert (shown["type"], shown["principalId"]) == ("UserAssigned", str(UUID(int=0)))
    assert list(shown["userAssignedIdentities"][user]) == ["principalId", "clientId"]


def test_old_api_versions_show_fewer_keys_of_a_cluster() -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    (row,) = here.get(f"{WS}/computes?api-version=2020-08-01").data["value"]
    assert not {"propertyBag", "enableBatchPrivateLink"} & row["properties"]["properties"].keys()
