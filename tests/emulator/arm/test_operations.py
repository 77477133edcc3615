"""Writes that go on: the four styles, their ends, and the time that they take."""

from __future__ import annotations

import re

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane.faults import OperationStyle
from tests.builders.emulator import (
    BASE,
    CLUSTER,
    VERSION,
    WS,
    Answer,
    Wall,
    World,
    deployment,
    with_deployment,
    world,
)

HOME = Scope("sub", "rg", "ws")
CPU = f"{WS}/computes/cpu"
ENDPOINT = f"{WS}/batchEndpoints/scoring"
BLUE = f"{ENDPOINT}/deployments/blue"
BODIES: dict[str, dict[str, Data]] = {
    CPU: CLUSTER,
    ENDPOINT: {"location": "eastus", "properties": {}},
    BLUE: deployment(),
}


def fault(here: World, **fields: object) -> None:
    assert here.ask("POST", "/mlctl/faults", fields).status == 201


def state(answer: Answer) -> str:
    return str(answer.data["properties"]["provisioningState"])


@pytest.mark.parametrize(
    ("path", "again", "changed"), [(CPU, 201, 201), (ENDPOINT, 200, 200), (BLUE, 201, 201)]
)
def test_what_a_put_over_a_resource_answers_differs_by_kind(
    path: str, again: int, changed: int
) -> None:
    here = with_deployment()
    body = BODIES[path]
    for wanted, expected in ((body, again), ({**body, "tags": {"a": "b"}}, changed)):
        answer = here.made(path, wanted)
        assert answer.status == expected
        located = expected == 201 and path != CPU
        assert (answer.header("location") is not None) == located


def test_a_put_that_changes_nothing_is_an_operation_but_of_endpoints() -> None:
    here = with_deployment()
    states = {path: state(here.put(path, body)) for path, body in BODIES.items()}
    assert states == {CPU: "Creating", ENDPOINT: "Succeeded", BLUE: "Updating"}


def test_a_patch_that_goes_on_is_202_and_updates() -> None:
    here = world()
    here.made(CPU, CLUSTER)
    scale = {"properties": {"properties": {"scaleSettings": {"maxNodeCount": 2}}}}
    answer = here.ask("PATCH", CPU, scale)
    assert (answer.status, state(answer)) == (202, "Updating")
    assert here.done(answer).data["status"] == "Succeeded"


@pytest.mark.parametrize(
    ("path", "running"), [(CPU, "InProgress"), (ENDPOINT, "Updating"), (BLUE, "Updating")]
)
def test_the_first_look_at_an_operation_sees_it_going_on_and_the_second_done(
    path: str, running: str
) -> None:
    here = with_deployment()
    began = here.put(path, {**BODIES[path], "tags": {"a": "b"}})
    url = str(began.header("azure-asyncoperation"))
    first, second = here.get(url), here.get(url)
    assert began.header("x-ms-retry-after-ms") == "20"
    assert (first.status, first.data["status"]) == (200, running)
    assert (second.status, second.data["status"]) == (200, "Succeeded")
    assert state(here.get(path)) == "Succeeded"


def test_a_status_has_the_fields_that_its_provider_gives() -> None:
    here = with_deployment()
    for path, keys in ((CPU, ["status", "percentComplete"]), (BLUE, ["id", "name", "status"])):
        began = here.put(path, BODIES[path])
        assert list(here.done(began).data) == keys


def test_an_operation_of_an_endpoint_is_named_by_its_provider_and_the_workspace() -> None:
    here = with_deployment()
    began = here.put(BLUE, BODIES[BLUE])
    url, located = str(began.header("azure-asyncoperation")), str(began.header("location"))
    assert re.search(r"/mfeOperationsStatus/bdbes:[-0-9a-f]{36}:[-0-9a-f]{36}\?api-version=", url)
    assert located == f"{BASE}{BLUE}?{VERSION}"
    assert began.header("x-ms-async-operation-timeout") == "PT30M"


def test_no_write_has_a_retry_after_header() -> None:
    assert world().put(CPU, CLUSTER).header("retry-after") is None


@pytest.mark.parametrize(
    ("path", "segment"), [(CPU, "computeOperationsStatus"), (ENDPOINT, "mfeOperationsStatus")]
)
def test_the_url_of_a_status_is_spelt_as_azures(path: str, segment: str) -> None:
    began = world().put(path, CLUSTER if path == CPU else {"properties": {}})
    assert f"/locations/eastus/{segment}/" in str(began.header("azure-asyncoperation"))


def test_a_quota_refuses_by_the_operation_and_leaves_a_failed_cluster() -> None:
    here = world()
    LocalBackend(here.store, HOME).set_quota(dedicated=4)
    scale = {"minNodeCount": 2, "maxNodeCount": 2}
    inner = {"vmSize": "STANDARD_DS3_V2", "scaleSettings": scale}
    properties = {"computeType": "AmlCompute", "properties": inner}
    began = here.put(CPU, {**CLUSTER, "properties": properties})
    assert (began.status, state(began)) == (201, "Creating")
    done = here.done(began).data
    assert (done["status"], done["error"]["code"]) == ("Failed", "ClusterMinNodesExceedCoreQuota")
    assert state(here.get(CPU)) == "Failed"


def test_location_is_202_until_it_is_done_and_then_the_resource() -> None:
    wall = Wall()
    here = world(style=OperationStyle.LOCATION, pace=1.0, now=wall)
    began = here.put(CPU, CLUSTER)
    assert began.header("azure-asyncoperation") is None
    waiting = here.get(str(began.header("location")))
    wall.time += 61
    done = here.get(str(waiting.header("location")))
    assert (waiting.status, waiting.data) == (202, {})
    assert (done.status, done.data["name"], state(done)) == (200, "cpu", "Succeeded")


def test_state_has_no_header_and_the_resource_tells() -> None:
    here = world(style=OperationStyle.STATE)
    began = here.put(CPU, CLUSTER)
    assert began.header("azure-asyncoperation") is began.header("location") is None
    assert state(here.get(CPU)) == "Creating"
    assert state(here.get(CPU)) == "Succeeded"


def test_sync_is_done_when_the_answer_comes() -> None:
    here = world(style=OperationStyle.SYNC)
    assert state(here.put(CPU, CLUSTER)) == "Succeeded"
    assert here.ask("DELETE", CPU).status == 200


@pytest.mark.parametrize(
    "style", [OperationStyle.ASYNC, OperationStyle.LOCATION, OperationStyle.STATE]
)
@pytest.mark.parametrize("path", [CPU, ENDPOINT])
def test_a_delete_is_202_and_then_the_resource_is_gone(style: OperationStyle, path: str) -> None:
    here = with_deployment()
    began = here.ask("DELETE", path, headers={"x-mlctl-lro": style.value})
    done = here.done(began)
    ended = 200 if style is OperationStyle.ASYNC else 204
    assert (began.status, done.status, here.get(path).status) == (202, ended, 404)


def test_a_deletion_tells_its_result_where_the_provider_does_and_that_is_404_in_the_end() -> None:
    here = with_deployment()
    began = here.ask("DELETE", ENDPOINT)
    located = str(began.header("location"))
    assert "/mfeOperationResults/bebes:" in located
    assert began.response.body == b"null"
    answers = [here.get(located) for _ in range(2)]
    assert [answer.status for answer in answers] == [202, 404]
    assert answers[1].code == "UserError"
    cluster = here.ask("DELETE", CPU)
    assert (cluster.header("location"), cluster.response.body) == (None, b"")


def test_the_caller_may_choose_the_style() -> None:
    began = world().put(CPU, CLUSTER, headers={"X-MLCTL-LRO": "Location"})
    assert began.header("location") is not None


def test_a_style_that_is_none_is_refused() -> None:
    assert world().put(CPU, CLUSTER, headers={"x-mlctl-lro": "telepathy"}).status == 400


def test_a_fault_may_choose_the_style() -> None:
    here = world()
    fault(here, trouble="style", method="PUT", style="sync")
    assert state(here.put(CPU, CLUSTER)) == "Succeeded"


def test_a_failed_operation_is_200_with_the_error_inside() -> None:
    here = world()
    fault(here, trouble="fail-operation", operation="put", code="AllocationFailed", message="m")
    status = here.done(here.put(CPU, CLUSTER))
    assert (status.status, status.data["status"]) == (200, "Failed")
    assert status.data["error"]["code"] == "AllocationFailed"
    assert state(here.get(CPU)) == "Failed"


@pytest.mark.parametrize("style", [OperationStyle.LOCATION, OperationStyle.SYNC])
def test_a_failed_operation_without_a_status_is_an_error(style: OperationStyle) -> None:
    here = world(style=style)
    fault(here, trouble="fail-operation", operation="put", code="AllocationFailed", message="m")
    ended = here.done(here.put(CPU, CLUSTER))
    assert (ended.status, ended.code) == (400, "AllocationFailed")


def test_who_sees_a_resource_in_motion_lets_time_pass() -> None:
    here = world()
    here.put(CPU, CLUSTER)
    assert [state(here.get(CPU)) for _ in range(2)] == ["Creating", "Succeeded"]


def test_in_real_time_only_time_ends_an_operation() -> None:
    wall = Wall()
    here = world(pace=2.0, now=wall)
    began = here.put(CPU, CLUSTER)
    url = str(began.header("azure-asyncoperation"))
    states = []
    for seconds in (0.0, 29.0, 2.0):
        wall.time += seconds
        states.append(here.get(url).data["status"])
    assert states == ["InProgress", "InProgress", "Succeeded"]


def test_in_real_time_the_hint_is_what_is_left() -> None:
    wall = Wall()
    here = world(pace=60.0, now=wall)
    began = here.put(CPU, CLUSTER)
    assert began.header("x-ms-retry-after-ms") == "1000"


def test_a_second_write_meanwhile_is_a_conflict_that_passes() -> None:
    here = world()
    here.put(CPU, CLUSTER)
    refused = here.put(CPU, {**CLUSTER, "tags": {"a": "b"}})
    assert (refused.status, refused.code) == (409, "OperationInProgress")
    assert refused.header("retry-after") is None
    assert here.put(CPU, {**CLUSTER, "tags": {"a": "b"}}).status == 201


@pytest.mark.parametrize("token", ["x", "00000000-0000-0000-0000-000000000001"])
def test_an_operation_that_never_was_is_not_found(token: str) -> None:
    place = "/subscriptions/sub/providers/Microsoft.MachineLearningServices/locations/eastus"
    answer = world().get(f"{place}/computeOperationsStatus/{token}")
    assert (answer.status, answer.code) == (404, "UserError")


def test_deleting_twice_joins_the_running_delete() -> None:
    here = world()
    here.made(CPU, CLUSTER)
    first, second = (here.ask("DELETE", CPU) for _ in range(2))
    assert first.header("azure-asyncoperation") == second.header("azure-asyncoperation")


def test_an_operation_in_another_subscription_is_found_where_workspaces_must_be_made() -> None:
    here = world(strict=True)
    assert here.put(WS, {"location": "eastus"}).status == 201
    begun = here.put(CPU, CLUSTER)
    assert here.get(str(begun.header("azure-asyncoperation"))).data["status"] == "InProgress"
    assert here.done(begun).data["status"] == "Succeeded"
