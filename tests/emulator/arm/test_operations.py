"""Writes that go on: the four styles, their ends, and the time that they take."""

from __future__ import annotations

import pytest

from mlctl.simulator.control_plane.http_faults import OperationStyle
from tests.builders.emulator import CLUSTER, WS, Answer, Wall, World, world

CPU = f"{WS}/computes/cpu"
ENDPOINT = f"{WS}/batchEndpoints/scoring"


def fault(here: World, **fields: object) -> None:
    assert here.ask("POST", "/mlctl/faults", fields).status == 201


def state(answer: Answer) -> str:
    return str(answer.data["properties"]["provisioningState"])


def test_a_create_is_201_and_an_update_is_200() -> None:
    here = world()
    first = here.made(CPU, CLUSTER)
    second = here.put(CPU, {**CLUSTER, "tags": {"a": "b"}})
    assert (first.status, second.status) == (201, 200)


def test_a_write_that_changes_nothing_is_done_at_once() -> None:
    here = world()
    here.made(CPU, CLUSTER)
    again = here.put(CPU, CLUSTER)
    assert (again.status, state(again), again.header("azure-asyncoperation")) == (
        200,
        "Succeeded",
        None,
    )


def test_async_has_a_status_to_ask_and_a_hint_when() -> None:
    here = world()
    began = here.put(CPU, CLUSTER)
    status = here.get(str(began.header("azure-asyncoperation")))
    assert (state(began), began.header("x-ms-retry-after-ms")) == ("Creating", "20")
    assert (status.status, status.data["status"]) == (200, "Succeeded")
    assert state(here.get(CPU)) == "Succeeded"


def test_no_write_has_a_retry_after_header() -> None:
    assert world().put(CPU, CLUSTER).header("retry-after") is None


@pytest.mark.parametrize(
    ("path", "segment"), [(CPU, "computeOperationsStatus"), (ENDPOINT, "mfeOperationsStatus")]
)
def test_the_url_of_a_status_is_spelt_as_azures(path: str, segment: str) -> None:
    began = world().put(path, CLUSTER if path == CPU else {"properties": {}})
    assert f"/locations/eastus/{segment}/" in str(began.header("azure-asyncoperation"))


def test_location_is_202_until_it_is_done_and_then_the_resource() -> None:
    wall = Wall()
    here = world(style=OperationStyle.LOCATION, pace=1.0, now=wall)
    began = here.put(CPU, CLUSTER)
    assert began.header("azure-asyncoperation") is None
    waiting = here.get(str(began.header("location")))
    wall.time += 61
    done = here.get(str(waiting.header("location")))
    assert (waiting.status, waiting.response.body) == (202, b"")
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
    assert here.ask("DELETE", CPU).status == 204


@pytest.mark.parametrize(
    "style", [OperationStyle.ASYNC, OperationStyle.LOCATION, OperationStyle.STATE]
)
def test_a_delete_is_202_and_then_the_resource_is_gone(style: OperationStyle) -> None:
    here = world()
    here.made(CPU, CLUSTER)
    began = here.ask("DELETE", CPU, headers={"x-mlctl-lro": style.value})
    done = here.get(str(began.header("location")))
    assert (began.status, done.status, here.get(CPU).status) == (202, 204, 404)


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
    assert here.put(CPU, {**CLUSTER, "tags": {"a": "b"}}).status == 200


@pytest.mark.parametrize("token", ["x", "00000000-0000-0000-0000-000000000001"])
def test_an_operation_that_never_was_is_not_found(token: str) -> None:
    place = "/subscriptions/sub/providers/Microsoft.MachineLearningServices/locations/eastus"
    answer = world().get(f"{place}/computeOperationsStatus/{token}")
    assert (answer.status, answer.code) == (404, "OperationNotFound")


def test_deleting_twice_joins_the_running_delete() -> None:
    here = world()
    here.made(CPU, CLUSTER)
    first, second = (here.ask("DELETE", CPU) for _ in range(2))
    assert first.header("azure-asyncoperation") == second.header("azure-asyncoperation")
