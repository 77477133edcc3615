"""The local backend in trouble: faults that people order, and what is left after them."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address
from mlctl.service_errors import Permanent, Transient
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from tests.builders.bodies import BLUE, CPU, ENDPOINT, MODEL, cluster, endpoint, stage
from tests.builders.simulated import live, refused, state


def test_the_nth_call_fails_and_nothing_is_done(local: LocalBackend) -> None:
    control.add_fault(
        local.handle, CallFault(FaultKind.FAIL, "put", "compute", nth=2, status=400, code="Boom")
    )
    local.put(Address("compute", "first"), cluster()).wait()
    error = refused(local.put, CPU, cluster())
    assert (error.code, error.status, type(error)) == ("Boom", 400, Permanent)
    assert local.read([CPU]) == {}
    local.put(CPU, cluster()).wait()


def test_a_throttled_call_says_when_to_come_back(local: LocalBackend) -> None:
    control.add_fault(local.handle, CallFault(FaultKind.THROTTLE, "get", "*", times=2, seconds=7))
    errors = [refused(local.read, [CPU]) for _ in range(2)]
    assert [(type(one), getattr(one, "retry_after", 0)) for one in errors] == [(Transient, 7)] * 2
    assert local.read([CPU]) == {}


def test_a_dropped_answer_leaves_the_work_done(local: LocalBackend) -> None:
    control.add_fault(local.handle, CallFault(FaultKind.DROP, "put", "compute/cpu-*"))
    error = refused(local.put, CPU, cluster())
    assert isinstance(error, Transient)
    assert error.ambiguous
    assert state(local, CPU) == "Creating"


def test_every_third_call_meets_its_fault(local: LocalBackend) -> None:
    control.add_fault(
        local.handle, CallFault(FaultKind.FAIL, "list", nth=3, every=True, times=None)
    )
    outcomes = []
    for _ in range(9):
        try:
            outcomes.append(local.list("compute") == [])
        except Transient:
            outcomes.append(False)
    assert outcomes == [True, True, False] * 3


def test_a_delay_makes_an_operation_longer_and_a_read_take_time(local: LocalBackend) -> None:
    control.add_fault(local.handle, CallFault(FaultKind.DELAY, times=2, seconds=100))
    local.put(CPU, cluster()).wait()
    assert control.status(local.handle).now == 160
    local.read([CPU])
    assert control.status(local.handle).now == 260


def test_a_failing_operation_is_accepted_and_then_fails(local: LocalBackend) -> None:
    control.add_fault(
        local.handle,
        CallFault(FaultKind.FAIL_OPERATION, "put", code="AllocationFailed", message="No."),
    )
    operation = local.put(CPU, cluster())
    error = refused(operation.wait)
    assert (error.code, state(local, CPU)) == ("AllocationFailed", "Failed")
    said = live(local, CPU).body["properties"]["provisioningErrors"]
    assert said == [{"error": {"code": "AllocationFailed", "message": "No."}}]


def test_a_failed_update_leaves_the_values_as_they_were(local: LocalBackend) -> None:
    local.put(CPU, cluster(2)).wait()
    control.add_fault(local.handle, CallFault(FaultKind.FAIL_OPERATION, "put"))
    refused(local.put(CPU, cluster(3)).wait)
    inner = live(local, CPU).body["properties"]["properties"]
    assert inner["scaleSettings"]["maxNodeCount"] == 2
    assert {pool.name: pool.used for pool in control.quotas(local.handle, local.location)}[
        "total"
    ] == 8


def test_a_failed_resource_can_be_put_again_and_deleted(local: LocalBackend) -> None:
    control.add_fault(local.handle, CallFault(FaultKind.FAIL_OPERATION, "put", times=2))
    refused(local.put(ENDPOINT, endpoint()).wait)
    refused(local.put(ENDPOINT, endpoint()).wait)
    local.put(ENDPOINT, endpoint()).wait()
    assert state(local, ENDPOINT) == "Succeeded"
    local.delete(ENDPOINT).wait()


def test_a_failed_delete_leaves_the_resource(local: LocalBackend) -> None:
    stage(local)
    control.add_fault(local.handle, CallFault(FaultKind.FAIL_OPERATION, "delete"))
    refused(local.delete(ENDPOINT).wait)
    assert set(local.read([ENDPOINT, BLUE])) == {ENDPOINT, BLUE}
    local.delete(ENDPOINT).wait()


def test_a_fault_can_have_immutables_ignored(local: LocalBackend) -> None:
    local.put(CPU, cluster()).wait()
    control.add_fault(local.handle, CallFault(FaultKind.IGNORE, "put", "compute/cpu-cluster"))
    local.put(CPU, cluster(2, "LowPriority")).wait()
    inner = live(local, CPU).body["properties"]["properties"]
    assert inner["vmPriority"] == "Dedicated"
    assert refused(local.put, CPU, cluster(2, "LowPriority")).status == 400


def test_faults_count_their_calls_and_can_be_cleared(local: LocalBackend) -> None:
    number = control.add_fault(local.handle, CallFault(FaultKind.FAIL, "get", "model/heart", nth=9))
    for address in (MODEL, CPU, MODEL):
        local.read([address])
    assert [(one.number, one.seen) for one in control.status(local.handle).faults] == [(number, 2)]
    assert (control.clear_faults(local.handle), control.status(local.handle).faults) == (1, ())


@pytest.mark.parametrize(
    "wrong", [{"nth": 0}, {"times": 0}, {"verb": "patch"}, {"seconds": -1.0}], ids=str
)
def test_a_fault_that_cannot_strike_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        CallFault(FaultKind.FAIL, **wrong)


def test_every_second_call_meets_its_fault_as_often_as_asked(local: LocalBackend) -> None:
    control.add_fault(local.handle, CallFault(FaultKind.FAIL, "get", nth=2, every=True, times=2))
    outcomes = []
    for _ in range(8):
        try:
            outcomes.append(local.read([CPU]) == {})
        except Transient:
            outcomes.append(False)
    assert outcomes == [True, False, True, False, True, True, True, True]


def test_a_failing_operation_is_one_though_nothing_was_changed(local: LocalBackend) -> None:
    local.put(CPU, cluster()).wait()
    control.add_fault(local.handle, CallFault(FaultKind.FAIL_OPERATION))
    assert refused(local.put(CPU, cluster()).wait).code == "OperationFailed"
