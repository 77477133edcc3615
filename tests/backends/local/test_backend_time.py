"""The local backend and its clock: operations, workspaces, one history from one seed."""

from __future__ import annotations

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Live
from mlctl.kinds.address import Address, Scope
from mlctl.service_errors import Transient
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.control_plane.state.settings import CloudSettings, Delays, InUsePolicy
from tests.builders.bodies import BLUE, CPU, ENDPOINT, cluster, endpoint, stage
from tests.builders.simulated import finish_operations, live, refused, state
from tests.builders.workspace import SCOPE


def test_a_write_takes_its_time_and_reading_does_not_make_it_pass(local: LocalBackend) -> None:
    operation = local.put(CPU, cluster())
    assert [state(local, CPU) for _ in range(3)] == ["Creating"] * 3
    operation.wait()
    assert (state(local, CPU), control.status(local.handle).now) == ("Succeeded", 60.0)


def test_waits_at_once_share_the_time_that_passes(local: LocalBackend) -> None:
    operations = [local.put(Address("compute", f"cpu-{n}x"), cluster(0)) for n in range(10)]
    for operation in operations:
        operation.wait()
    assert control.status(local.handle).now == 60.0


def test_letting_time_pass_ends_what_is_due_and_nothing_else(local: LocalBackend) -> None:
    local.put(CPU, cluster())
    local.put(ENDPOINT, endpoint())
    local.wait(30)
    assert (state(local, CPU), state(local, ENDPOINT)) == ("Creating", "Succeeded")


def test_settling_lets_everything_end(local: LocalBackend) -> None:
    local.put(CPU, cluster())
    assert (finish_operations(local), finish_operations(local)) == (
        60.0,
        60.0,
    )
    assert control.status(local.handle).pending == ()


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e12])
def test_time_neither_goes_back_nor_on_for_ever(local: LocalBackend, seconds: float) -> None:
    with pytest.raises(ValueError, match=r"time does not go back|the clock ends"):
        control.advance(local.handle, seconds)
    assert control.status(local.handle).now == 0


def test_how_long_things_take_can_be_set(local: LocalBackend) -> None:
    control.configure(local.handle, CloudSettings(delays=Delays(compute_create=5)))
    local.put(CPU, cluster()).wait()
    assert control.status(local.handle).now == 5


def test_an_update_shows_as_updating(local: LocalBackend) -> None:
    local.put(CPU, cluster(2)).wait()
    local.put(CPU, cluster(3))
    assert state(local, CPU) == "Updating"


def test_a_resource_in_motion_asks_for_patience(local: LocalBackend) -> None:
    local.put(CPU, cluster())
    local.wait(20)
    error = refused(local.put, CPU, cluster(3))
    assert isinstance(error, Transient)
    assert (error.status, error.retry_after) == (409, 40)
    local.wait(error.retry_after or 0)
    local.put(CPU, cluster(3)).wait()


def test_what_is_being_deleted_cannot_be_put_until_it_is_gone(local: LocalBackend) -> None:
    local.put(CPU, cluster()).wait()
    deleting = local.delete(CPU)
    assert state(local, CPU) == "Deleting"
    assert isinstance(refused(local.put, CPU, cluster()), Transient)
    deleting.wait()
    local.put(CPU, cluster()).wait()


def test_deleting_twice_is_one_operation(local: LocalBackend) -> None:
    local.put(CPU, cluster()).wait()
    assert local.delete(CPU).number == local.delete(CPU).number


def test_a_deployment_waits_for_its_endpoint(local: LocalBackend) -> None:
    stage(local)
    local.delete(BLUE).wait()
    local.delete(ENDPOINT).wait()
    local.put(ENDPOINT, endpoint())
    error = refused(local.put, BLUE, {"properties": {"compute": CPU.id(SCOPE)}})
    assert isinstance(error, Transient)


def test_putting_the_same_endpoint_again_is_done_at_once(local: LocalBackend) -> None:
    local.put(ENDPOINT, endpoint()).wait()
    before = live(local, ENDPOINT)
    assert local.put(ENDPOINT, endpoint()).number is None
    assert live(local, ENDPOINT) == before


def test_putting_the_same_cluster_again_is_an_operation(local: LocalBackend) -> None:
    local.put(CPU, cluster()).wait()
    before = live(local, CPU)
    local.put(CPU, cluster()).wait()
    properties = live(local, CPU).body["properties"]
    assert properties["properties"] == before.body["properties"]["properties"]
    assert properties["modifiedOn"] > properties["createdOn"]


def test_a_change_shows_when_it_was_made(local: LocalBackend) -> None:
    local.put(CPU, cluster(2)).wait()
    local.put(CPU, cluster(3)).wait()
    body = live(local, CPU).body
    times = (body["systemData"]["createdAt"], body["properties"]["modifiedOn"])
    assert times == ("2026-01-01T00:00:00.000Z", "2026-01-01T00:01:00.000Z")


def test_a_workspace_is_made_by_its_first_write_and_keeps_its_spelling(
    local: LocalBackend,
) -> None:
    scope = Scope("sub", "rg", "ws")
    local.list("compute")
    assert control.status(local.handle).workspaces == ()
    local.within(scope).put(CPU, cluster()).wait()
    shouted = local.within(Scope("SUB", "RG", "WS"), "westus")
    assert (live(shouted, CPU).body["id"], shouted.location) == (CPU.id(scope), "eastus")


def test_a_scope_that_no_id_can_hold_is_refused(local: LocalBackend) -> None:
    assert refused(local.within(Scope("a/b", "rg", "ws")).put, CPU, cluster()).status == 400
    assert local.within(Scope("\udcff", "rg", "ws")).read([CPU]) == {}
    assert local.read([Address("compute", "\udcff")]) == {}


def test_a_reset_makes_everything_new(local: LocalBackend) -> None:
    stage(local)
    local.set_quota(dedicated=0)
    control.add_fault(local.handle, CallFault(FaultKind.FAIL))
    control.configure(local.handle, CloudSettings(in_use=InUsePolicy.REFUSE))
    control.reset(local.handle, "7")
    status = control.status(local.handle)
    assert (status.now, status.seed, status.settings) == (0, "7", CloudSettings())
    assert (status.workspaces, status.pending, status.faults) == ((), (), ())
    local.put(CPU, cluster()).wait()


def test_one_seed_gives_one_history(local: LocalBackend) -> None:
    def history(seed: int) -> list[Live]:
        control.reset(local.handle, str(seed))
        stage(local)
        return [*local.list("compute"), *local.list("batch-deployment", "heart-batch")]

    first = history(1)
    assert history(1) == first
    assert history(2) != first


def test_an_operation_that_ended_long_ago_moves_no_clock(local: LocalBackend) -> None:
    first = local.put(CPU, cluster())
    local.wait(500)
    first.wait()
    assert control.status(local.handle).now == 500
