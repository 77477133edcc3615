"""Locks and permissions."""

from __future__ import annotations

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane import control, disruptions
from mlctl.simulator.control_plane.locks import LockLevel
from tests.builders.emulator import CLUSTER, GROUP, WS, World, world
from tests.builders.simulated import finish_operations

LOCKS = "/providers/Microsoft.Authorization/locks"


CPU = f"{WS}/computes/cpu"


def locked(scope: str, level: str) -> World:
    here = world()
    here.made(CPU, CLUSTER)
    answer = here.put(f"{scope}{LOCKS}/keep", {"properties": {"level": level, "notes": "n"}})
    assert answer.status == 201
    return here


@pytest.mark.parametrize("scope", ["/subscriptions/sub", GROUP, WS, CPU], ids=len)
def test_a_lock_forbids_deleting_what_is_in_its_scope(scope: str) -> None:
    here = locked(scope.upper().replace("SUBSCRIPTIONS", "subscriptions"), "CanNotDelete")
    answer = here.ask("DELETE", CPU)
    assert (answer.status, answer.code) == (409, "ScopeLocked")
    assert here.put(CPU, {**CLUSTER, "tags": {"a": "b"}}).status == 201


def test_a_read_only_lock_forbids_every_write() -> None:
    here = locked(GROUP, "ReadOnly")
    assert [here.put(CPU, CLUSTER).code, here.ask("DELETE", CPU).code] == ["ScopeLocked"] * 2
    assert here.get(CPU).status == 200


def test_a_lock_elsewhere_forbids_nothing() -> None:
    here = locked(f"{GROUP}2", "ReadOnly")
    assert here.ask("DELETE", CPU).status == 202


def test_a_lock_on_a_group_is_none_on_another_whose_name_begins_so() -> None:
    here = locked(GROUP, "CanNotDelete")
    elsewhere = CPU.replace("/rg/", "/rg2/")
    here.made(elsewhere.replace("cpu", "gpu"), CLUSTER)
    assert here.ask("DELETE", elsewhere.replace("cpu", "gpu")).status == 202


def test_a_lock_that_was_removed_forbids_nothing() -> None:
    here = locked(GROUP, "CanNotDelete")
    assert here.ask("DELETE", f"{GROUP}{LOCKS}/keep").status == 200
    assert here.ask("DELETE", CPU).status == 202


def clusters_of(here: World) -> LocalBackend:
    return LocalBackend(here.store, Scope("sub", "rg", "ws"))


def standing(here: World, path: str = CPU) -> list[Data]:
    """What a cluster says when it should have a node."""
    scale = {"maxNodeCount": 2, "minNodeCount": 1, "nodeIdleTimeBeforeScaleDown": "PT2M"}
    here.made(path, {**CLUSTER, "properties": {**SIZED, "properties": {"scaleSettings": scale}}})
    clusters_of(here).wait(3600)
    inner = here.get(path).data["properties"]["properties"]
    return [inner[name] for name in ("allocationState", "currentNodeCount", "targetNodeCount")]


SIZED = {"computeType": "AmlCompute"}


def test_a_lock_on_a_group_holds_the_nodes_of_its_clusters_until_it_goes() -> None:
    here = locked(GROUP, "CanNotDelete")
    assert standing(here) == ["Resizing", 0, 0]
    here.ask("DELETE", f"{GROUP}{LOCKS}/keep")
    assert standing(here) == ["Steady", 1, 1]


def test_a_cluster_that_is_made_beneath_a_lock_gets_no_nodes() -> None:
    assert standing(locked(GROUP, "CanNotDelete"), f"{WS}/computes/new") == ["Resizing", 0, 0]
    assert standing(locked(f"{GROUP}2", "ReadOnly"), f"{WS}/computes/new") == ["Steady", 1, 1]


def test_two_locks_hold_until_both_have_gone() -> None:
    here = locked(GROUP, "CanNotDelete")
    disruptions.lock(clusters_of(here).handle, [Address("compute", "cpu")], locked=True)
    here.ask("DELETE", f"{GROUP}{LOCKS}/keep")
    assert standing(here) == ["Resizing", 0, 0]
    disruptions.lock(clusters_of(here).handle, [Address("compute", "cpu")], locked=False)
    assert standing(here) == ["Steady", 1, 1]


def test_a_lock_that_comes_while_a_cluster_is_made_holds_it() -> None:
    here = world()
    here.put(f"{WS}/computes/cpu", CLUSTER)
    here.put(f"{GROUP}{LOCKS}/keep", {"properties": {"level": "CanNotDelete"}})
    finish_operations(clusters_of(here))
    assert standing(here) == ["Resizing", 0, 0]


def test_a_lock_that_was_set_beside_the_emulator_is_seen_by_its_callers() -> None:
    here = world()
    here.made(CPU, CLUSTER)
    disruptions.lock(clusters_of(here).handle, [], locked=True)
    assert here.get(f"{GROUP}{LOCKS}").names == ["local"]
    assert here.ask("DELETE", CPU).code == "ScopeLocked"
    assert here.ask("DELETE", f"{CPU}{LOCKS}/local").status == 200
    assert here.ask("DELETE", CPU).status == 202


def test_a_lock_that_a_caller_set_holds_who_works_beside_the_emulator() -> None:
    here = locked(GROUP, "ReadOnly")
    (lock,) = control.status(clusters_of(here).handle).locks
    assert (lock.scope, lock.level) == (GROUP, LockLevel.READ_ONLY)
    with pytest.raises(ServiceError, match="cannot perform write"):
        clusters_of(here).put(Address("compute", "new"), CLUSTER)
    assert disruptions.lock(clusters_of(here).handle, [], locked=False) == [
        Address("compute", "cpu")
    ]
    assert here.put(CPU, CLUSTER).status == 201


@pytest.mark.parametrize("path", [CPU.replace("/sub/", "//sub/"), CPU.replace("/rg/", "/%72g/")])
def test_another_spelling_of_a_path_is_no_way_around_a_lock(path: str) -> None:
    assert locked(GROUP, "ReadOnly").ask("DELETE", path).code == "ScopeLocked"


def test_the_locks_of_a_scope_are_those_above_and_beneath_it() -> None:
    here = locked(GROUP, "CanNotDelete")
    here.put(f"{CPU}{LOCKS}/inner", {"properties": {"level": "readonly"}})
    here.put(f"{GROUP}2{LOCKS}/other", {"properties": {"level": "readonly"}})
    assert here.get(f"{WS}{LOCKS}").names == ["keep", "inner"]
    assert here.get(f"{GROUP}{LOCKS}/keep").data["properties"]["notes"] == "n"


@pytest.mark.parametrize("level", ["Sometimes", None, 5])
def test_a_lock_of_no_level_is_refused(level: Data) -> None:
    answer = world().put(f"{GROUP}{LOCKS}/keep", {"properties": {"level": level}})
    assert (answer.status, answer.code) == (400, "InvalidLockLevel")


def test_the_caller_may_do_everything() -> None:
    answer = world().get(f"{GROUP}/providers/Microsoft.Authorization/permissions")
    assert answer.data["value"][0]["actions"] == ["*"]


def test_providers_and_tenants_are_there_for_who_looks_them_up() -> None:
    here = world()
    provider = here.get("/subscriptions/sub/providers/microsoft.machinelearningservices").data
    assert provider["registrationState"] == "Registered"
    assert here.get("/subscriptions/sub/providers/Contoso.Toasters").status == 404
    assert len(here.get("/tenants").data["value"]) == 1
    assert len(here.get("/subscriptions/sub/providers").data["value"]) == 3


def test_a_cloud_made_new_has_no_lock_left() -> None:
    here = locked(GROUP, "CanNotDelete")
    control.reset(LocalBackend(here.store, Scope("sub", "rg", "ws")).handle, "0")
    assert here.get(f"{GROUP}{LOCKS}").data == {"value": []}
