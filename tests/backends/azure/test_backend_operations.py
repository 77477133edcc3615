"""Writes that go on after their answer, in each of the four ways in which ARM says so."""

from __future__ import annotations

import copy
import json
import threading
from typing import Any

import pytest

from mlctl.applying.events import NotEffective, StepEvent, StepState
from mlctl.applying.executor import apply
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Operation
from mlctl.emulator import Response
from mlctl.emulator.http.messages import DROPPED
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address
from mlctl.kinds.values import fingerprint
from mlctl.planning.steps.work import PlanStep, StepRole, Work
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent, Transient
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind, OperationStyle
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.azure import SCOPE, Azure, Between, azure, emulated, no, says
from tests.builders.bodies import BLUE, CPU, ENDPOINT, MODEL, cluster, put, stage

STATUS = "GET */computeOperationsStatus/*"
ONE = "GET */computes/cpu-cluster"
styles = pytest.mark.parametrize("style", OperationStyle, ids=lambda style: style.value)


def behind(*answers: tuple[str, Response], **settings: Any) -> Azure:
    """A client of an emulator that gives some answers not of its own."""
    return azure(Between(emulated(**settings), list(answers)))


def troubled(fault: CallFault, **settings: Any) -> Azure:
    """A client of a cloud that has a fault."""
    store = Store(":memory:")
    control.add_fault(LocalBackend(store, SCOPE).handle, fault)
    return azure(emulated(store, **settings))


def outcome(client: Azure, step: PlanStep, read: dict[Address, str | None]) -> StepEvent:
    """How carrying out one step ended."""
    work = Work("azure", SCOPE, (step,), read)
    *_, last = apply(work, client.backend, parallelism=1, stop=threading.Event())
    return last


def created(client: Azure) -> Operation:
    return client.backend.put(CPU, cluster())


def state(client: Azure) -> Data:
    return client.backend.read([CPU])[CPU].body["properties"]["provisioningState"]


@styles
def test_every_style_ends_when_the_resource_is_there(style: OperationStyle) -> None:
    client = behind(style=style)
    created(client).wait()
    assert state(client) == "Succeeded"


@styles
def test_every_style_of_a_delete_ends_when_the_name_is_free(style: OperationStyle) -> None:
    client = behind(style=style)
    stage(client.backend)
    for address in (ENDPOINT, CPU):
        client.backend.delete(address).wait()
        assert client.transport.seen[-1].method == "GET"  # until it is not found
    assert client.backend.read([ENDPOINT, BLUE, CPU]) == {}


@styles
def test_every_style_of_a_change_ends_when_it_is_made(style: OperationStyle) -> None:
    client = behind(style=style)
    put(client.backend, CPU, cluster())
    put(client.backend, CPU, cluster(tags={"a": "1"}))
    assert client.backend.read([CPU])[CPU].body["tags"] == {"a": "1"}


@styles
def test_an_operation_that_fails_says_why_in_every_style(style: OperationStyle) -> None:
    fault = CallFault(FaultKind.FAIL_OPERATION, "put", code="AllocationFailed", message="no room")
    client = troubled(fault, style=style)
    with pytest.raises(Permanent, match="no room") as caught:
        created(client).wait()
    assert caught.value.code == "AllocationFailed"


def test_a_success_whose_resource_has_failed_is_a_failure() -> None:
    told = [{"error": {"code": "ClusterBroken", "message": "cannot boot"}}]
    failed = {"properties": {"provisioningState": "Failed", "provisioningErrors": told}}
    client = behind((STATUS, says(200, {"status": "Succeeded"})), (ONE, says(200, failed)))
    with pytest.raises(Permanent, match="cannot boot") as caught:
        created(client).wait()
    assert caught.value.code == "ClusterBroken"


def test_a_cancelled_operation_is_a_failure() -> None:
    client = behind((STATUS, says(200, {"status": "Canceled"})))
    with pytest.raises(Permanent, match="Canceled"):
        created(client).wait()


def test_an_ok_that_carries_an_error_is_a_failure() -> None:
    told = {"error": {"code": "Quota", "message": "none left"}}
    client = behind(("PUT *", says(200, told)))
    with pytest.raises(Permanent, match="none left") as caught:
        created(client)
    assert caught.value.status == 200


def test_a_poll_that_is_throttled_is_asked_again_when_it_says() -> None:
    late = no(429, headers={"retry-after": "7"})
    client = behind((STATUS, late))
    created(client).wait()
    assert 7.0 <= client.clock.slept[0] <= 8.4


def test_a_poll_that_is_lost_is_asked_again() -> None:
    client = behind((STATUS, says(200, cut=DROPPED)), (STATUS, says(200, cut=DROPPED)))
    created(client).wait()
    assert state(client) == "Succeeded"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '"x"'])
def test_a_poll_that_makes_no_sense_leaves_the_outcome_open(text: str) -> None:
    client = behind((STATUS, says(200, text)))
    with pytest.raises(Transient) as caught:
        created(client).wait()
    assert caught.value.ambiguous


def test_a_write_whose_answer_is_lost_is_not_sent_twice() -> None:
    client = behind(("PUT *", says(200, cut=DROPPED)))
    with pytest.raises(Transient) as caught:
        created(client)
    assert caught.value.ambiguous
    assert [one.method for one in client.transport.seen].count("PUT") == 1


@pytest.mark.parametrize(("status", "open_"), [(429, False), (500, True), (502, True), (504, True)])
def test_a_refused_write_is_left_to_the_caller(status: int, open_: bool) -> None:
    client = behind(("PUT *", no(status, headers={"x-ms-retry-after-ms": "250"})))
    with pytest.raises(Transient) as caught:
        created(client)
    error = caught.value
    assert (error.status, error.retry_after, error.ambiguous) == (status, 0.25, open_)
    assert client.clock.slept == []


@pytest.mark.parametrize(
    ("code", "headers", "passes"),
    [
        ("Conflict", {}, False),
        ("ScopeLocked", {}, False),
        ("Conflict", {"retry-after": "3"}, True),
        ("AnotherOperationInProgress", {}, True),
    ],
)
def test_a_conflict_passes_where_it_says_so(code: str, headers: Any, passes: bool) -> None:
    client = behind(("PUT *", no(409, code, headers)))
    with pytest.raises(Transient if passes else Permanent, match=code):
        created(client)


def test_an_operation_has_a_limit_of_time() -> None:
    running = [(STATUS, says(200, {"status": "InProgress"}, {"retry-after": "60"}))] * 100
    client = behind(*running)
    with pytest.raises(Permanent, match="--timeout") as caught:
        created(client).wait()
    assert caught.value.code == "TimedOut"
    assert 600 <= sum(client.clock.slept) <= 720


def test_a_name_that_does_not_get_free_has_one_too() -> None:
    there = {"id": CPU.id(SCOPE), "properties": {"computeType": "AmlCompute"}}
    client = behind()
    created(client).wait()
    client.transport.emulator.answers += [(ONE, says(200, there))] * 1000
    with pytest.raises(Permanent, match="TimedOut"):
        client.backend.delete(CPU).wait()


def test_a_cluster_is_deleted_with_its_nodes() -> None:
    client = behind()
    created(client).wait()
    client.backend.delete(CPU).wait()
    deleted = next(one for one in client.transport.seen if one.method == "DELETE")
    assert deleted.query["underlyingResourceAction"] == "Delete"


def test_what_is_gone_meanwhile_is_not_found() -> None:
    client = behind((ONE, no(404)), (ONE, no(404)))
    with pytest.raises(NotFound):
        created(client).wait()


def sent(client: Azure) -> Any:
    """The last write: its method, and what it set."""
    last = [one for one in client.transport.seen if one.method in ("PUT", "PATCH")][-1]
    return last.method, json.loads(last.body)


def account(**inner: Any) -> dict[str, Any]:
    known = {"adminUserName": "kim", "adminUserPassword": "Correct-Horse-1"}
    return cluster(userAccountCredentials=known, **inner)


SCALE = {"minNodeCount": 0, "maxNodeCount": 9, "nodeIdleTimeBeforeScaleDown": "PT2M"}


def test_a_cluster_that_only_scales_is_patched_and_keeps_its_password() -> None:
    client = behind()
    before = copy.deepcopy(put(client.backend, CPU, account()))
    before["properties"]["properties"]["scaleSettings"] = SCALE
    client.backend.put(CPU, before).wait()
    only = {"properties": {"properties": {"scaleSettings": SCALE}}}
    assert sent(client) == ("PATCH", only)


@pytest.mark.parametrize(("more", "puts"), [({}, 1), ({"tags": {"a": "1"}}, 2)])
def test_the_idle_time_of_an_instance_is_posted_on_its_own(more: dict[str, Any], puts: int) -> None:
    client, mine = behind(), Address("compute-instance", "mine")
    instance = {"computeType": "ComputeInstance", "properties": {"idleTimeBeforeShutdown": "PT30M"}}
    before = copy.deepcopy(put(client.backend, mine, {"properties": instance}))
    before["properties"]["properties"]["idleTimeBeforeShutdown"] = "PT60M"
    client.backend.put(mine, {**before, **more}).wait()
    [post] = [one for one in client.transport.seen if one.method == "POST"]
    assert post.path.endswith("/computes/mine/updateIdleShutdownSetting")
    assert json.loads(post.body) == {"idleTimeBeforeShutdown": "PT60M"}
    assert sum(one.method == "PUT" for one in client.transport.seen) == puts
    live = client.backend.read([mine])[mine].body
    assert live["properties"]["properties"]["idleTimeBeforeShutdown"] == "PT60M"
    assert live["tags"] == more.get("tags", {})


@pytest.mark.parametrize("change", [{"tags": {"a": "1"}}, {}], ids=["more changes", "none does"])
def test_any_other_change_of_a_cluster_is_put(change: dict[str, Any]) -> None:
    client = behind()
    before = copy.deepcopy(put(client.backend, CPU, account()))
    if change:
        before["properties"]["properties"]["scaleSettings"] = SCALE
    client.backend.put(CPU, {**before, **change}).wait()
    assert sent(client)[0] == "PUT"


def test_a_cluster_that_was_never_read_is_put() -> None:
    client = behind()
    client.backend.put(CPU, cluster()).wait()
    client.backend.put(CPU, cluster(scaleSettings=SCALE)).wait()
    assert sent(client)[0] == "PUT"


def test_what_has_a_region_gets_the_workspaces_own() -> None:
    client = behind()
    client.backend.put(ENDPOINT, {"properties": {}}).wait()
    assert sent(client)[1]["location"] == "eastus"
    client.backend.put(MODEL, {"properties": {"modelUri": "azureml://m"}}).wait()
    assert "location" not in sent(client)[1]


def test_the_nodes_of_a_cluster_are_those_that_the_service_knows() -> None:
    one = {"nodeId": "n1", "nodeState": "running", "port": 50000, "privateIpAddress": "10.0.0.4"}
    client = behind(("POST *", says(200, {"nodes": [one]})))
    (node,) = client.backend.nodes(CPU)
    assert (node.id, node.state, node.port, node.public_ip) == ("n1", "running", 50000, None)
    with pytest.raises(NotFound):
        client.backend.nodes(Address("compute", "nobody"))


def test_a_change_that_the_service_takes_and_ignores_is_found_out() -> None:
    client = troubled(CallFault(FaultKind.IGNORE, "put", nth=2))
    before = put(client.backend, CPU, cluster())
    larger = PlanStep(0, CPU, StepRole.UPDATE, CPU, cluster(vmSize="Standard_DS4_v2"))
    known = fingerprint(before, KINDS["compute"], SCOPE)
    last = outcome(client, larger, {CPU: known})
    assert isinstance(last.error, NotEffective)
    assert [one.at for one in last.error.mismatches] == [("size",)]


def test_a_write_whose_answer_is_lost_is_read_back_before_it_is_called_a_failure() -> None:
    client = troubled(CallFault(FaultKind.DROP, "put"))
    made = PlanStep(0, CPU, StepRole.CREATE, CPU, cluster())
    assert outcome(client, made, {CPU: None}).state is StepState.DONE
    assert [one.method for one in client.transport.seen].count("PUT") == 1


def test_a_write_that_was_lost_on_its_way_is_sent_again() -> None:
    client = behind(("PUT *", says(200, cut=DROPPED)))
    made = PlanStep(0, CPU, StepRole.CREATE, CPU, cluster())
    assert outcome(client, made, {CPU: None}).state is StepState.DONE
    assert [one.method for one in client.transport.seen].count("PUT") == 2


def test_a_write_that_is_throttled_is_sent_again_when_the_service_says() -> None:
    client = behind(("PUT *", no(429, headers={"retry-after": "20"})))
    made = PlanStep(0, CPU, StepRole.CREATE, CPU, cluster())
    assert outcome(client, made, {CPU: None}).state is StepState.DONE
    assert 20 <= client.clock.slept[0] <= 24


LEAVING = {
    "code": "NotFound",
    "message": "The specified resource was not found.",
    "details": [{"code": "InferencingClientCallFailed", "message": '{"title":"Not Found"}'}],
}


def test_a_name_that_a_deleted_endpoint_still_has_is_asked_for_again() -> None:
    client = behind(*[("PUT *", says(404, {"error": LEAVING}))] * 2)
    made = PlanStep(
        0, ENDPOINT, StepRole.CREATE, ENDPOINT, {"properties": {"authMode": "AADToken"}}
    )
    assert outcome(client, made, {ENDPOINT: None}).state is StepState.DONE
    assert [round(one) // 30 for one in client.clock.slept[:2]] == [1, 1]


def test_a_write_below_what_is_not_there_is_not_asked_again() -> None:
    client = behind(("PUT *", no(404)))
    with pytest.raises(NotFound):
        client.backend.put(ENDPOINT, {"properties": {}})
