"""Quotas: exactly the limit is allowed, one more is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.catalog import limits
from mlctl.kinds.address import Address, Scope
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.bodies import CPU, ENDPOINT, cluster, deployment, endpoint, stage
from tests.builders.simulated import refused
from tests.builders.workspace import strict


def put(backend: LocalBackend, kind: str, name: str, body: Mapping[str, Any]) -> None:
    above = ENDPOINT.name if kind == "batch-deployment" else None
    backend.put(Address(kind, name, above), body).wait()


def used(backend: LocalBackend, name: str, location: str = "eastus") -> int:
    """How much of a quota is taken."""
    return next(one.used for one in control.quotas(backend.handle, location) if one.name == name)


def test_cores_up_to_the_limit_are_allowed_and_one_node_more_is_not(local: LocalBackend) -> None:
    strict(local)
    local.set_quota(low_priority=100)
    error = refused(local.put, CPU, cluster(26, "LowPriority"))
    assert error.code == "ClusterCoreQuotaReached"
    local.put(CPU, cluster(25, "LowPriority")).wait()
    assert used(local, "low_priority") == 100


@pytest.mark.parametrize(
    ("least", "code"), [(5, "ClusterCoreQuotaReached"), (6, "ClusterMinNodesExceedCoreQuota")]
)
def test_a_cluster_whose_least_nodes_would_fit_is_told_so(
    local: LocalBackend, least: int, code: str
) -> None:
    strict(local)
    local.set_quota(low_priority=20)
    assert refused(local.put, CPU, cluster(6, "LowPriority", least=least)).code == code


def test_nothing_is_left_of_a_quota_that_was_lowered_below_what_is_taken(
    local: LocalBackend,
) -> None:
    strict(local)
    local.put(CPU, cluster(5, "LowPriority")).wait()
    local.set_quota(low_priority=10)
    error = refused(local.put, Address("compute", "other"), cluster(1, "LowPriority"))
    assert error.code == "ClusterMinNodesExceedCoreQuota"


def test_a_refused_cluster_is_left_behind_and_takes_nothing(local: LocalBackend) -> None:
    strict(local)
    local.set_quota(low_priority=20)
    assert refused(local.put, CPU, cluster(6, "LowPriority")).code == "ClusterCoreQuotaReached"
    (left,) = local.read([CPU]).values()
    assert left.body["properties"]["provisioningState"] == "Failed"
    (error,) = left.body["properties"]["provisioningErrors"]
    assert error["error"]["code"] == "ClusterCoreQuotaReached"
    assert used(local, "low_priority") == 0
    local.put(Address("compute", "other"), cluster(5, "LowPriority")).wait()
    assert refused(local.put, CPU, cluster(1, "LowPriority")) is not None


def test_a_cluster_that_may_not_grow_stays_as_it_was_and_fails(local: LocalBackend) -> None:
    strict(local)
    local.set_quota(low_priority=20)
    local.put(CPU, cluster(5, "LowPriority")).wait()
    assert refused(local.put, CPU, cluster(6, "LowPriority")).code == "ClusterCoreQuotaReached"
    (live,) = local.read([CPU]).values()
    properties = live.body["properties"]
    scale = properties["properties"]["scaleSettings"]
    assert (properties["provisioningState"], scale["maxNodeCount"]) == ("Failed", 5)
    assert used(local, "low_priority") == 20


def test_what_asks_for_less_than_it_has_is_allowed_beyond_the_limit(local: LocalBackend) -> None:
    strict(local)
    local.put(CPU, cluster(5, "LowPriority")).wait()
    local.set_quota(low_priority=10)
    local.put(CPU, cluster(4, "LowPriority")).wait()
    assert used(local, "low_priority") == 16


@pytest.mark.parametrize("tier", ["LowPriority", "Dedicated"])
def test_only_the_first_nodes_must_fit_the_limit(local: LocalBackend, tier: str) -> None:
    local.set_quota(low_priority=20, dedicated=20)
    local.put(CPU, cluster(5, tier)).wait()
    local.put(Address("compute", "beyond"), cluster(100, tier, least=5)).wait()
    name = "low_priority" if tier == "LowPriority" else "total"
    assert used(local, name) == 420  # unprovisioned nodes count, too
    error = refused(local.put, Address("compute", "other"), cluster(6, tier, least=6))
    assert (error.code, "at least 6 requested" in error.message) == (
        "ClusterMinNodesExceedCoreQuota",
        True,
    )


@pytest.mark.parametrize("tier", ["LowPriority", "Dedicated"])
def test_one_node_must_fit_where_none_is_kept(local: LocalBackend, tier: str) -> None:
    local.set_quota(low_priority=3, dedicated=3)
    error = refused(local.put, CPU, cluster(1, tier))
    assert "at least 1 requested managed compute nodes which maps to 4 vCPUs" in error.message
    local.set_quota(low_priority=4, dedicated=4)
    local.put(CPU, cluster(1, tier)).wait()


def test_endpoints_are_counted_in_their_region_and_limited_there(local: LocalBackend) -> None:
    for number in range(limits.ENDPOINTS):
        put(local, "batch-endpoint", f"endpoint-{number}", endpoint())
    assert used(local, "endpoints") == limits.ENDPOINTS
    error = refused(put, local, "batch-endpoint", "another", endpoint())
    assert (error.code, "limit of 100 endpoints in region eastus" in error.message) == (
        "QuotaExceeded",
        True,
    )
    put(local, "batch-endpoint", "another", {**endpoint(), "location": "westus2"})
    assert used(local, "endpoints", "westus2") == 1


def test_an_endpoint_has_as_many_deployments_as_the_limit_says(local: LocalBackend) -> None:
    stage(local)
    for number in range(1, limits.DEPLOYMENTS_PER_ENDPOINT):
        put(local, "batch-deployment", f"deployment-{number}", deployment())
    error = refused(put, local, "batch-deployment", "another", deployment())
    assert "has reached its limit of 20 deployments" in error.message


def test_deployments_are_counted_over_all_endpoints(local: LocalBackend) -> None:
    control.set_quotas(local.handle, limits.EVERYWHERE, {"deployments": 1})
    stage(local)
    error = refused(put, local, "batch-deployment", "green", deployment())
    assert error.message == "The subscription has reached its limit of 1 deployments."


def test_quotas_are_of_a_subscription_however_it_is_spelt() -> None:
    store = Store(":memory:")
    one, other = (LocalBackend(store, Scope(name, "rg", name)) for name in ("sub", "SUB"))
    strict(one)
    one.set_quota(low_priority=20)
    other.put(CPU, cluster(5, "LowPriority")).wait()
    assert used(one, "low_priority") == 20
    with pytest.raises(Permanent, match="20"):
        one.put(Address("compute", "other"), cluster(1, "LowPriority")).wait()
    store.close()
