"""The local backend: what is its own beside the contract of every backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.backends.base import BackendError, Live, NotFound, Permanent, Transient
from mlctl.backends.local import LocalBackend, LocalOperation
from mlctl.cloud.faults import Fault, Trouble
from mlctl.cloud.settings import Delays, Immutable, InUse, Settings
from mlctl.kinds.address import Address, Scope

SCOPE = Scope("sub", "rg", "ws")
CPU = Address("compute", "cpu-cluster")
ENDPOINT = Address("batch-endpoint", "heart-batch")
BLUE = Address("batch-deployment", "blue", "heart-batch")
MODEL = Address("model", "heart", None, "1")


@pytest.fixture
def local() -> Iterator[LocalBackend]:
    backend = LocalBackend(":memory:", SCOPE)
    yield backend
    backend.close()


def cluster(nodes: int = 2, tier: str = "Dedicated", least: int = 0, **more: Any) -> dict[str, Any]:
    scale = {"maxNodeCount": nodes, "minNodeCount": least}
    inner = {"vmPriority": tier, "scaleSettings": scale, "vmSize": "Standard_DS3_v2", **more}
    return {"properties": {"computeType": "AmlCompute", "properties": inner}}


def done(operation: LocalOperation) -> None:
    operation.wait()


def stage(local: LocalBackend) -> None:
    """A cluster, a model, an endpoint and its deployment."""
    done(local.put(CPU, cluster()))
    done(local.put(MODEL, {"properties": {"modelUri": "azureml://m"}}))
    done(local.put(ENDPOINT, {"properties": {}}))
    named = {"compute": CPU.id(SCOPE), "model": {"assetId": MODEL.id(SCOPE)}}
    done(local.put(BLUE, {"properties": named}))


def live(local: LocalBackend, address: Address) -> Live:
    return local.read([address])[address]


def state(local: LocalBackend, address: Address) -> str:
    return str(live(local, address).body["properties"]["provisioningState"])


def refused(call: Any, *arguments: Any) -> BackendError:
    with pytest.raises(BackendError) as caught:
        call(*arguments)
    return caught.value


def test_a_write_takes_its_time_and_reading_does_not_make_it_pass(local: LocalBackend) -> None:
    operation = local.put(CPU, cluster())
    assert [state(local, CPU) for _ in range(3)] == ["Creating"] * 3
    done(operation)
    assert (state(local, CPU), local.status().now) == ("Succeeded", 60.0)


def test_waits_at_once_share_the_time_that_passes(local: LocalBackend) -> None:
    operations = [local.put(Address("compute", f"cpu-{n}x"), cluster(0)) for n in range(10)]
    for operation in operations:
        done(operation)
    assert local.status().now == 60.0


def test_letting_time_pass_ends_what_is_due_and_nothing_else(local: LocalBackend) -> None:
    local.put(CPU, cluster())
    local.put(ENDPOINT, {"properties": {}})
    local.advance(30)
    assert (state(local, CPU), state(local, ENDPOINT)) == ("Creating", "Succeeded")


def test_settling_lets_everything_end(local: LocalBackend) -> None:
    local.put(CPU, cluster())
    assert local.settle() == 60.0
    assert local.status().pending == ()


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e12])
def test_time_neither_goes_back_nor_on_for_ever(local: LocalBackend, seconds: float) -> None:
    with pytest.raises(ValueError, match=r"time does not go back|the clock ends"):
        local.advance(seconds)
    assert local.status().now == 0


def test_how_long_things_take_can_be_set(local: LocalBackend) -> None:
    local.configure(Settings(delays=Delays(compute_create=5)))
    done(local.put(CPU, cluster()))
    assert local.status().now == 5


def test_an_update_shows_as_updating(local: LocalBackend) -> None:
    done(local.put(CPU, cluster(2)))
    local.put(CPU, cluster(3))
    assert state(local, CPU) == "Updating"


def test_a_resource_in_motion_asks_for_patience(local: LocalBackend) -> None:
    local.put(CPU, cluster())
    local.advance(20)
    error = refused(local.put, CPU, cluster(3))
    assert isinstance(error, Transient)
    assert (error.status, error.retry_after) == (409, 40)
    local.wait(error.retry_after or 0)
    done(local.put(CPU, cluster(3)))


def test_what_is_being_deleted_cannot_be_put_until_it_is_gone(local: LocalBackend) -> None:
    done(local.put(CPU, cluster()))
    deleting = local.delete(CPU)
    assert state(local, CPU) == "Deleting"
    assert isinstance(refused(local.put, CPU, cluster()), Transient)
    done(deleting)
    done(local.put(CPU, cluster()))


def test_deleting_twice_is_one_operation(local: LocalBackend) -> None:
    done(local.put(CPU, cluster()))
    assert local.delete(CPU).number == local.delete(CPU).number


def test_a_deployment_waits_for_its_endpoint(local: LocalBackend) -> None:
    stage(local)
    local.delete(BLUE).wait()
    done(local.delete(ENDPOINT))
    local.put(ENDPOINT, {"properties": {}})
    error = refused(local.put, BLUE, {"properties": {"compute": CPU.id(SCOPE)}})
    assert isinstance(error, Transient)


def test_an_operation_is_found_by_its_id_and_by_no_other(local: LocalBackend) -> None:
    operation = local.put(CPU, cluster())
    running = local.operation(operation.id or "")
    assert running is not None
    assert (running.status, running.address, running.due) == ("InProgress", CPU, 60)
    assert local.operation("00000000-0000-0000-0000-000000000001") is None
    assert local.operation("nonsense") is None


def test_putting_the_same_again_is_done_at_once(local: LocalBackend) -> None:
    done(local.put(CPU, cluster()))
    before = live(local, CPU)
    assert local.put(CPU, cluster()).number is None
    assert live(local, CPU) == before


def test_a_change_shows_when_it_was_made(local: LocalBackend) -> None:
    done(local.put(CPU, cluster(2)))
    done(local.put(CPU, cluster(3)))
    body = live(local, CPU).body
    times = (body["systemData"]["createdAt"], body["properties"]["modifiedOn"])
    assert times == ("2026-01-01T00:00:00.000Z", "2026-01-01T00:01:00.000Z")


def test_an_unspecified_port_is_settled_by_the_subnet(local: LocalBackend) -> None:
    subnet = {"id": "/subscriptions/s/resourcegroups/r/virtualNetworks/v/subnets/d"}
    done(local.put(CPU, cluster(remoteLoginPortPublicAccess="NotSpecified", subnet=subnet)))
    inner = live(local, CPU).body["properties"]["properties"]
    assert inner["remoteLoginPortPublicAccess"] == "Disabled"
    assert local.put(CPU, cluster(remoteLoginPortPublicAccess="NotSpecified")).number is None


def test_a_lost_subnet_is_no_change(local: LocalBackend) -> None:
    subnet = {"id": "/subscriptions/s/resourcegroups/r/virtualNetworks/v/subnets/d"}
    done(local.put(CPU, cluster(subnet=subnet)))
    done(local.put(CPU, cluster(subnet={})))
    assert "resourceGroups" in live(local, CPU).body["properties"]["properties"]["subnet"]["id"]


def test_a_new_cluster_with_a_user_needs_a_password_or_a_key(local: LocalBackend) -> None:
    account = {"adminUserName": "azureuser"}
    assert "adminUserPassword" in str(
        refused(local.put, CPU, cluster(userAccountCredentials=account))
    )


def test_changed_immutables_can_be_set_to_be_ignored(local: LocalBackend) -> None:
    done(local.put(CPU, cluster()))
    local.configure(Settings(immutable=Immutable.IGNORE))
    done(local.put(CPU, cluster(3, "LowPriority")))
    inner = live(local, CPU).body["properties"]["properties"]
    assert (inner["vmPriority"], inner["scaleSettings"]["maxNodeCount"]) == ("Dedicated", 3)


def test_what_a_deployment_names_can_be_set_to_stay(local: LocalBackend) -> None:
    stage(local)
    local.configure(Settings(in_use=InUse.REFUSE))
    error = refused(local.delete, CPU)
    assert (error.code, "blue" in error.message) == ("ComputeInUse", True)
    assert refused(local.delete, MODEL).code == "ModelInUse"
    local.configure(Settings(in_use=InUse.ALLOW))
    done(local.delete(CPU))


def test_a_dependant_that_is_being_deleted_does_not_hold_anything(local: LocalBackend) -> None:
    stage(local)
    local.configure(Settings(in_use=InUse.REFUSE))
    local.delete(BLUE)
    local.delete(CPU)
    local.settle()
    assert local.read([CPU, BLUE]) == {}


def test_a_retired_size_is_refused_with_its_date(local: LocalBackend) -> None:
    error = refused(local.put, CPU, cluster(vmSize="Standard_NC6"))
    assert "2023-08-31" in error.message


def test_a_size_younger_than_the_catalog_is_known_by_its_name(local: LocalBackend) -> None:
    done(local.put(CPU, cluster(2, vmSize="Standard_E16-4ads_v7")))
    used = {pool.name: pool.used for pool in local.pools()}
    assert (used["standardEADSv7Family"], used["total"]) == (32, 32)


@pytest.mark.parametrize("name", ["1st", "a", "a_b", "x" * 33, "ends-", "ümlaut"])
def test_bad_names_are_refused(local: LocalBackend, name: str) -> None:
    assert refused(local.put, Address("compute", name), cluster()).status == 400
    assert refused(local.put, Address("batch-endpoint", name), {}).status == 400


def test_low_priority_is_one_number_for_all_families(local: LocalBackend) -> None:
    local.set_quota(low_priority=24)
    done(local.put(CPU, cluster(4, "LowPriority")))
    other = Address("compute", "another")
    small = cluster(2, "LowPriority", vmSize="Standard_F8s_v2")
    error = refused(local.put, other, small)
    assert (error.code, "16" in error.message) == ("ClusterCoreQuotaReached", True)
    done(local.put(other, cluster(1, "LowPriority", vmSize="Standard_F8s_v2")))


def test_dedicated_cores_are_limited_by_family_and_in_total(local: LocalBackend) -> None:
    local.set_quota(dedicated=40, families={"STANDARDdsv2family": 16})
    assert "standardDSv2Family" in str(refused(local.put, CPU, cluster(5)))
    done(local.put(CPU, cluster(4)))
    other = Address("compute", "another")
    error = refused(local.put, other, cluster(4, vmSize="Standard_F8s_v2"))
    assert "total regional" in error.message


def test_nodes_that_must_run_are_refused_by_their_own_code(local: LocalBackend) -> None:
    local.set_quota(families={"standardDSv2Family": 6})
    error = refused(local.put, CPU, cluster(2, least=2))
    assert (error.code, "8 vCPUs" in error.message) == ("ClusterMinNodesExceedCoreQuota", True)


def test_gpu_families_start_at_nothing(local: LocalBackend) -> None:
    gpu = "Standard_NC4as_T4_v3"
    assert "quota of 0" in str(refused(local.put, CPU, cluster(1, vmSize=gpu)))
    done(local.put(CPU, cluster(1, "LowPriority", vmSize=gpu)))


def test_a_cluster_may_shrink_though_the_quota_was_cut(local: LocalBackend) -> None:
    done(local.put(CPU, cluster(8)))
    local.set_quota(families={"standardDSv2Family": 8})
    assert "quota of 8" in str(refused(local.put, CPU, cluster(9)))
    done(local.put(CPU, cluster(4)))


def test_a_deleted_cluster_gives_its_cores_back_when_it_is_gone(local: LocalBackend) -> None:
    done(local.put(CPU, cluster(2)))
    deleting = local.delete(CPU)
    assert {pool.name: pool.used for pool in local.pools()}["total"] == 8
    done(deleting)
    assert {pool.used for pool in local.pools()} == {0}


def test_quotas_are_of_a_region(local: LocalBackend) -> None:
    local.set_quota("westus", dedicated=0)
    done(local.put(CPU, cluster()))
    west = cluster() | {"location": "West US"}
    assert refused(local.put, Address("compute", "west"), west).code == "ClusterCoreQuotaReached"


def test_the_number_of_computes_is_limited(local: LocalBackend) -> None:
    local.set_quota(computes=1)
    done(local.put(CPU, cluster(0)))
    assert refused(local.put, Address("compute", "another"), cluster(0)).code == "QuotaExceeded"


def test_an_endpoint_has_twenty_deployments_at_most(local: LocalBackend) -> None:
    stage(local)
    body = {"properties": {"compute": CPU.id(SCOPE)}}
    for n in range(19):
        done(local.put(Address("batch-deployment", f"green-{n}", "heart-batch"), body))
    last = Address("batch-deployment", "one-more", "heart-batch")
    assert refused(local.put, last, body).code == "QuotaExceeded"


def test_a_negative_quota_is_an_error(local: LocalBackend) -> None:
    with pytest.raises(ValueError, match="between 0"):
        local.set_quota(low_priority=-1)


def test_names_are_unique_in_a_region_of_a_subscription(local: LocalBackend) -> None:
    done(local.put(CPU, cluster()))
    beside = local.within(Scope("SUB", "rg", "other"))
    assert beside.taken(CPU, "eastus") == "workspace `rg/ws` has it"
    error = refused(beside.put, CPU, cluster())
    assert (error.code, error.status) == ("NameAlreadyTaken", 409)
    assert beside.taken(CPU, "westus") is None
    done(beside.put(CPU, cluster() | {"location": "westus"}))


def test_subscriptions_share_nothing(local: LocalBackend) -> None:
    local.set_quota(dedicated=8)
    done(local.put(CPU, cluster(2)))
    elsewhere = local.within(Scope("sub2", "rg", "ws"))
    done(elsewhere.put(CPU, cluster(4)))
    assert elsewhere.taken(CPU, "eastus") is None


def test_workspaces_of_one_subscription_share_its_quota(local: LocalBackend) -> None:
    local.set_quota(dedicated=12)
    done(local.put(CPU, cluster(2)))
    beside = local.within(Scope("sub", "rg", "other"))
    error = refused(beside.put, Address("compute", "another"), cluster(2))
    assert error.code == "ClusterCoreQuotaReached"


def test_a_workspace_is_made_by_its_first_write_and_keeps_its_spelling(
    local: LocalBackend,
) -> None:
    local.list("compute")
    assert local.status().workspaces == ()
    done(local.put(CPU, cluster()))
    shouted = local.within(Scope("SUB", "RG", "WS"), "westus")
    assert (live(shouted, CPU).body["id"], shouted.location) == (CPU.id(SCOPE), "eastus")


def test_a_scope_that_no_id_can_hold_is_refused(local: LocalBackend) -> None:
    assert refused(local.within(Scope("a/b", "rg", "ws")).put, CPU, cluster()).status == 400
    assert local.within(Scope("\udcff", "rg", "ws")).read([CPU]) == {}
    assert local.read([Address("compute", "\udcff")]) == {}


def test_a_reset_makes_everything_new(local: LocalBackend) -> None:
    stage(local)
    local.set_quota(dedicated=0)
    local.add_fault(Fault(Trouble.FAIL))
    local.configure(Settings(in_use=InUse.REFUSE))
    local.reset(7)
    status = local.status()
    assert (status.now, status.seed, status.settings) == (0, "7", Settings())
    assert (status.workspaces, status.pending, status.faults) == ((), (), ())
    done(local.put(CPU, cluster()))


def test_one_seed_gives_one_history(local: LocalBackend) -> None:
    def history(seed: int) -> list[Live]:
        local.reset(seed)
        stage(local)
        return [*local.list("compute"), *local.list("batch-deployment", "heart-batch")]

    first = history(1)
    assert history(1) == first
    assert history(2) != first


def test_the_nth_call_fails_and_nothing_is_done(local: LocalBackend) -> None:
    local.add_fault(Fault(Trouble.FAIL, "put", "compute", nth=2, status=400, code="Boom"))
    done(local.put(Address("compute", "first"), cluster()))
    error = refused(local.put, CPU, cluster())
    assert (error.code, error.status, type(error)) == ("Boom", 400, Permanent)
    assert local.read([CPU]) == {}
    done(local.put(CPU, cluster()))


def test_a_throttled_call_says_when_to_come_back(local: LocalBackend) -> None:
    local.add_fault(Fault(Trouble.THROTTLE, "get", "*", times=2, seconds=7))
    errors = [refused(local.read, [CPU]) for _ in range(2)]
    assert [(type(one), getattr(one, "retry_after", 0)) for one in errors] == [(Transient, 7)] * 2
    assert local.read([CPU]) == {}


def test_a_dropped_answer_leaves_the_work_done(local: LocalBackend) -> None:
    local.add_fault(Fault(Trouble.DROP, "put", "compute/cpu-*"))
    error = refused(local.put, CPU, cluster())
    assert isinstance(error, Transient)
    assert error.ambiguous
    assert state(local, CPU) == "Creating"


def test_every_third_call_meets_its_fault(local: LocalBackend) -> None:
    local.add_fault(Fault(Trouble.FAIL, "list", nth=3, every=True, times=None))
    outcomes = []
    for _ in range(9):
        try:
            outcomes.append(local.list("compute") == [])
        except Transient:
            outcomes.append(False)
    assert outcomes == [True, True, False] * 3


def test_a_delay_makes_an_operation_longer_and_a_read_take_time(local: LocalBackend) -> None:
    local.add_fault(Fault(Trouble.DELAY, times=2, seconds=100))
    done(local.put(CPU, cluster()))
    assert local.status().now == 160
    local.read([CPU])
    assert local.status().now == 260


def test_a_failing_operation_is_accepted_and_then_fails(local: LocalBackend) -> None:
    local.add_fault(Fault(Trouble.FAIL_OPERATION, "put", code="AllocationFailed", message="No."))
    operation = local.put(CPU, cluster())
    error = refused(operation.wait)
    assert (error.code, state(local, CPU)) == ("AllocationFailed", "Failed")
    said = live(local, CPU).body["properties"]["provisioningErrors"]
    assert said == [{"error": {"code": "AllocationFailed", "message": "No."}}]


def test_a_failed_update_leaves_the_values_as_they_were(local: LocalBackend) -> None:
    done(local.put(CPU, cluster(2)))
    local.add_fault(Fault(Trouble.FAIL_OPERATION, "put"))
    refused(local.put(CPU, cluster(3)).wait)
    inner = live(local, CPU).body["properties"]["properties"]
    assert inner["scaleSettings"]["maxNodeCount"] == 2
    assert {pool.name: pool.used for pool in local.pools()}["total"] == 8


def test_a_failed_resource_can_be_put_again_and_deleted(local: LocalBackend) -> None:
    local.add_fault(Fault(Trouble.FAIL_OPERATION, "put", times=2))
    refused(local.put(ENDPOINT, {"properties": {}}).wait)
    refused(local.put(ENDPOINT, {"properties": {}}).wait)
    done(local.put(ENDPOINT, {"properties": {}}))
    assert state(local, ENDPOINT) == "Succeeded"
    done(local.delete(ENDPOINT))


def test_a_failed_delete_leaves_the_resource(local: LocalBackend) -> None:
    stage(local)
    local.add_fault(Fault(Trouble.FAIL_OPERATION, "delete"))
    refused(local.delete(ENDPOINT).wait)
    assert set(local.read([ENDPOINT, BLUE])) == {ENDPOINT, BLUE}
    done(local.delete(ENDPOINT))


def test_a_fault_can_have_immutables_ignored(local: LocalBackend) -> None:
    done(local.put(CPU, cluster()))
    local.add_fault(Fault(Trouble.IGNORE, "put", "compute/cpu-cluster"))
    done(local.put(CPU, cluster(2, "LowPriority")))
    inner = live(local, CPU).body["properties"]["properties"]
    assert inner["vmPriority"] == "Dedicated"
    assert refused(local.put, CPU, cluster(2, "LowPriority")).status == 400


def test_faults_count_their_calls_and_can_be_cleared(local: LocalBackend) -> None:
    number = local.add_fault(Fault(Trouble.FAIL, "get", "model/heart", nth=9))
    for address in (MODEL, CPU, MODEL):
        local.read([address])
    assert [(one.number, one.seen) for one in local.faults()] == [(number, 2)]
    assert (local.clear_faults(), local.faults()) == (1, ())


@pytest.mark.parametrize(
    "wrong", [{"nth": 0}, {"times": 0}, {"verb": "patch"}, {"seconds": -1.0}], ids=str
)
def test_a_fault_that_cannot_strike_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Fault(Trouble.FAIL, **wrong)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
KEYS = [
    "location",
    "tags",
    "identity",
    "type",
    "userAssignedIdentities",
    "properties",
    "computeType",
    "vmSize",
    "vmPriority",
    "scaleSettings",
    "maxNodeCount",
    "minNodeCount",
    "nodeIdleTimeBeforeScaleDown",
    "subnet",
    "id",
    "osType",
    "userAccountCredentials",
    "adminUserName",
    "authMode",
    "defaults",
    "deploymentName",
    "model",
    "assetId",
    "referenceType",
    "compute",
    "environmentId",
    "codeConfiguration",
    "codeId",
    "retrySettings",
    "timeout",
    "resources",
    "instanceCount",
    "errorThreshold",
    "outputAction",
    "loggingLevel",
    "environmentVariables",
    "deploymentConfiguration",
    "componentId",
    "modelUri",
    "image",
    "componentSpec",
    "codeUri",
    "isArchived",
]
junk = st.recursive(
    json_values | st.sampled_from(["AmlCompute", "Standard_DS3_v2", "UserAssigned", "azureml:m:1"]),
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(KEYS), junk, max_size=5), st.integers(0, 6))
def test_any_body_is_taken_or_refused_and_never_a_crash(body: dict[str, Any], which: int) -> None:
    local = LocalBackend(":memory:", SCOPE)
    stage(local)
    versioned = [Address(kind, "x", None, "1") for kind in ("code", "component", "environment")]
    address = [CPU, ENDPOINT, BLUE, MODEL, *versioned][which]
    if which == 0:
        body = {**body, "properties": {"computeType": "amlcompute", "properties": body}}
    try:
        local.put(address, body).wait()
    except BackendError:
        assert not isinstance(refused(local.put, address, body), NotFound) or which == 2
    local.close()
