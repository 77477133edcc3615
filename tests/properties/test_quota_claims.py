"""What a plan expects a resource to take of the quotas is what the simulated cloud books for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import catalog
from mlctl.backends.local.backend import LocalBackend
from mlctl.diagnostics import Severity
from mlctl.kinds.facts import Claims, Quota, QuotaRefusal
from mlctl.planning.preflight.quota import claims_of
from mlctl.planning.refresh import refresh
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state import rows
from tests.builders.plans import carried_out, planned
from tests.builders.resources import compute, pool
from tests.builders.workspace import SCOPE, cloud

LISTED = sorted(
    size.name for size in catalog.sizes().values() if catalog.retirement(size.name) is None
)
NEWER = ["Standard_D96ads_v7", "standard_d4ads_v7", "Standard_E32-8ads_v6", "Standard_NC16as_T4_v4"]
CLUSTERS = st.fixed_dictionaries(
    {},
    optional={
        "size": st.sampled_from([*LISTED, *NEWER]),
        "tier": st.sampled_from(["dedicated", "low_priority", "Low_Priority", "DEDICATED"]),
        "max_instances": st.integers(1, 60),
        "location": st.sampled_from(["eastus", "West US 2", "westeurope"]),
    },
)


def booked(backend: LocalBackend) -> dict[Quota, int]:
    """What the workspace's subscription holds of every quota."""
    with backend.handle.store.read() as db:
        regions = ("", "eastus", "westus2", "westeurope")
        return {
            (region, name): amount
            for region in regions
            for name, amount in rows.quotas_used(db, SCOPE.subscription, region).items()
            if amount
        }


def counted(wanted: Claims) -> dict[Quota, int]:
    """What claims count as in use."""
    return {quota: claim.most for quota, claim in wanted.items()}


def plentiful() -> LocalBackend:
    """An empty workspace in which no size is short."""
    backend = cloud()
    families = {found.family: 10**6 for name in NEWER if (found := catalog.size_of(name))}
    for region in ("eastus", "westus2", "westeurope"):
        backend.set_quota(region, families=families)
    return backend


@given(CLUSTERS, CLUSTERS)
def test_a_plan_expects_what_the_cloud_books(
    first: dict[str, Data], second: dict[str, Data]
) -> None:
    backend = plentiful()
    for values in (first, second):
        made = planned(backend, compute(**values))
        (change,) = made.plan.changes
        _, wanted = claims_of(change, refresh(made.graph, backend))
        events = carried_out(made.work, backend)
        assert [str(one.error) for one in events if one.error] == []
        assert counted(wanted) == booked(backend)


def test_the_pools_of_an_account_are_counted_alike() -> None:
    backend = cloud()
    made = planned(backend, pool())
    (change,) = made.plan.changes
    _, wanted = claims_of(change, refresh(made.graph, backend))
    carried_out(made.work, backend)
    assert counted(wanted) == booked(backend)


@pytest.mark.parametrize("tier", ["dedicated", "low_priority"])
@pytest.mark.parametrize(
    ("refuses", "size", "nodes", "verdict"),
    [
        (QuotaRefusal.MAX, "Standard_D96ads_v7", 10, "refused"),
        (QuotaRefusal.MIN, "Standard_D96ads_v7", 10, "fewer"),
        (QuotaRefusal.MIN, "Standard_D96ads_v7", 1, "taken"),
        (QuotaRefusal.MAX, "Standard_D4ads_v7", 4, "taken"),
    ],
)
def test_a_size_that_no_catalogue_lists_is_decided_alike_by_plan_and_cloud(
    tier: str, refuses: QuotaRefusal, size: str, nodes: int, verdict: str
) -> None:
    backend = cloud(limited=True, refuses=refuses)
    made = planned(backend, compute(size=size, tier=tier, max_instances=nodes))
    refused = any(one.error for one in carried_out(made.work, backend))
    assert bool(made.plan.rejections) is refused is (verdict == "refused")
    severities = {finding.rule.severity for finding in made.plan.warnings} - {Severity.INFO}
    assert bool(severities) is (verdict == "fewer")
