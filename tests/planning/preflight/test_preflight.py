"""What the backend would reject is said before anything is written, and nothing else is."""

from __future__ import annotations

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.config import graph
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import QuotaRefusal
from mlctl.kinds.resource import Resource
from mlctl.planning.live_state import users_of
from mlctl.planning.preflight import checks, quota
from mlctl.planning.refresh import find_children, refresh
from mlctl.planning.removal import removal
from tests.builders.plans import applied, carried_out, codes, planned
from tests.builders.resources import compute, declared, deployment, endpoint, environment, model
from tests.builders.workspace import SCOPE, cloud

HEART = (compute(), model(), endpoint(), deployment())


def spot(name: str, nodes: int, **values: object) -> Resource:
    """A low-priority cluster of DS3_v2 nodes, 4 cores each."""
    said = {"size": "Standard_DS3_v2", "tier": "low_priority", **values}
    return compute(name, max_instances=nodes, **said)


def with_quota(
    low_priority: int | None = None, dedicated: int | None = None, computes: int | None = None
) -> LocalBackend:
    """A workspace whose quotas count `max_instances` against what is left."""
    backend = cloud(refuses=QuotaRefusal.MAX)
    backend.set_quota(low_priority=low_priority, dedicated=dedicated, computes=computes)
    return backend


def messages(backend: LocalBackend, *resources: Resource) -> list[str]:
    return [found.message for found in planned(backend, *resources).plan.rejections]


@pytest.mark.parametrize(
    ("left_out", "named"),
    [(0, "compute `cpu-cluster`"), (1, "model `heart:1`"), (2, "batch endpoint `heart-batch`")],
)
def test_what_a_deployment_names_and_nobody_has_is_missing(left_out: int, named: str) -> None:
    said = [*HEART[:left_out], *HEART[left_out + 1 :]]
    (message,) = messages(cloud(), *said)
    assert message.startswith(f"there is no {named} ")


@pytest.mark.parametrize("reference", ["azureml:torch:1", "azureml:torch@latest", "azureml:torch"])
def test_a_missing_environment_is_missing_in_every_spelling(reference: str) -> None:
    (message,) = messages(cloud(), *HEART[:3], deployment(environment=reference))
    assert message.startswith("there is no environment `torch")


def test_a_missing_reference_is_told_with_a_command_that_there_is() -> None:
    code = {"code": "azureml:c0de:1", "scoring_script": "score.py"}
    (missing,) = planned(cloud(), *HEART[:3], deployment(code_configuration=code)).plan.rejections
    assert (missing.rule.code, "create -f" in str(missing.hint)) == ("MLC402", False)
    (cluster,) = planned(cloud(), *HEART[1:]).plan.rejections
    assert "mlctl compute create -f FILE" in str(cluster.hint)


def test_what_lives_in_the_workspace_is_not_missing() -> None:
    backend = cloud()
    applied(backend, *HEART[:3], environment())
    assert messages(backend, deployment(environment="azureml:torch@latest")) == []


def test_what_is_being_deleted_is_missing() -> None:
    backend = cloud()
    applied(backend, *HEART[:3])
    backend.delete(compute().address)
    assert len(messages(backend, HEART[3])) == 1


def test_the_cluster_of_a_pipeline_is_missing_like_any_other() -> None:
    component = "azureml://registries/azureml/components/words/versions/1"
    data = {"name": "words", "endpoint_name": "heart-batch", "type": "pipeline"}
    settings = {"default_compute": "azureml:nowhere"}
    pipeline = declared("batch-deployment", {**data, "component": component, "settings": settings})
    (message,) = messages(cloud(), endpoint(), pipeline)
    assert "`nowhere`" in message


def test_a_registry_or_another_workspace_is_taken_at_its_word() -> None:
    other = Scope(SCOPE.subscription, SCOPE.resource_group, "other")
    elsewhere = f"azureml:{other.id}/models/heart/versions/1"
    for named in ("azureml://registries/azureml/models/heart/versions/1", elsewhere):
        assert messages(cloud(), compute(), endpoint(), deployment(model=named)) == []


def test_a_default_deployment_that_nobody_has_is_missing() -> None:
    (message,) = messages(cloud(), endpoint(default="green"))
    assert message.startswith("there is no batch deployment `heart-batch/green`")


def test_a_default_deployment_that_is_declared_or_live_is_not_missing() -> None:
    backend = cloud()
    assert messages(backend, *HEART[:2], endpoint(default="blue"), HEART[3]) == []
    applied(backend, *HEART)
    assert messages(backend, endpoint(default="blue")) == []


def dedicated(cores: int, **families: int) -> LocalBackend:
    """A workspace whose quotas must fit the first nodes, as in Azure."""
    backend = cloud()
    backend.set_quota(dedicated=cores, low_priority=cores, families=families)
    return backend


TIERS = pytest.mark.parametrize("tier", ["dedicated", "low_priority"])


@TIERS
def test_clusters_that_only_grow_too_large_are_taken_and_get_fewer_nodes(tier: str) -> None:
    backend = dedicated(20)
    applied(backend, compute("full", tier=tier, max_instances=5))
    more = compute("more", tier=tier, max_instances=8)
    made = planned(backend, compute("full", tier=tier, max_instances=5), more).plan
    assert made.rejections == ()
    (found,) = made.warnings
    what = "low-priority" if tier == "low_priority" else tier
    assert found.message == f"eastus allows 20 {what} cores: jobs get at most 5 nodes, not 8"
    assert (found.rule.code, found.address) == ("MLC405", "compute/more")
    assert (found.hint or "").startswith("write `max_instances: 5`")
    carried = carried_out(planned(backend, more).work, backend)
    assert [str(one.error) for one in carried if one.error] == []


@TIERS
@pytest.mark.parametrize(
    ("size", "limit", "least", "need"),
    [
        ("Standard_D8s_v3", 6, 0, "1 node of Standard_D8s_v3 needs 8"),
        ("Standard_DS3_v2", 20, 6, "6 nodes of Standard_DS3_v2 need 24"),
    ],
)
def test_nodes_that_could_not_start_are_refused_by_the_service_and_so_by_the_plan(
    tier: str, size: str, limit: int, least: int, need: str
) -> None:
    backend = dedicated(limit)
    one = compute(size=size, tier=tier, min_instances=least, max_instances=max(least, 2))
    (found,) = planned(backend, one).plan.rejections
    assert found.message.endswith(f"and {need}: ClusterMinNodesExceedCoreQuota")
    events = carried_out(planned(backend, one).work, backend)
    (error,) = {event.error for event in events if event.error}
    assert error.code == "ClusterMinNodesExceedCoreQuota"


def test_what_is_in_use_does_not_matter_to_the_first_nodes() -> None:
    backend = dedicated(20)
    applied(backend, compute("full", min_instances=5, max_instances=5))
    assert messages(backend, compute("more", min_instances=5, max_instances=5)) == []


def test_the_quota_of_a_family_refuses_as_the_total_does() -> None:
    backend = dedicated(100, standardDSv2Family=8)
    (found,) = planned(backend, compute(min_instances=3)).plan.rejections
    assert found.message.startswith("eastus allows 8 standardDSv2Family cores, and 3 nodes")
    (found,) = planned(backend, compute(min_instances=2, max_instances=40)).plan.warnings
    assert "standardDSv2Family cores: jobs get at most 2 nodes, not 40" in found.message


def test_what_fits_is_not_warned_of_and_what_is_refused_is_not_warned_of_too() -> None:
    backend = dedicated(20, standardDSv2Family=20)
    assert planned(backend, compute(max_instances=5)).plan.warnings == ()
    backend.set_quota(families={"standardDSv2Family": 3})
    made = planned(backend, compute(max_instances=6)).plan
    assert (codes(made), made.warnings) == (["MLC405"], ())


def test_a_cluster_that_stays_as_large_as_it_is_is_left_alone() -> None:
    backend = dedicated(20)
    applied(backend, compute(min_instances=5, max_instances=5))
    backend.set_quota(dedicated=8)
    tagged = planned(backend, compute(min_instances=5, max_instances=5, tags={"a": "b"})).plan
    assert (tagged.rejections, tagged.warnings) == ((), ())
    applied(backend, compute(min_instances=4, max_instances=4))
    assert codes(planned(backend, compute(min_instances=5, max_instances=5)).plan) == ["MLC405"]


def test_nobody_waits_for_cores_that_are_not_counted() -> None:
    backend = dedicated(20)
    applied(backend, compute("a-cluster", max_instances=5))
    swapped = compute("a-cluster", max_instances=1), compute("b-cluster", max_instances=5)
    assert planned(backend, *swapped).plan.waits == {}


# Oracle O17: DS3_v2 has 4 cores, so a low-priority quota of 100 is 25 nodes over all clusters,
# whether they run or not.
def test_twenty_five_nodes_fit_a_quota_of_a_hundred_cores() -> None:
    backend = with_quota(low_priority=100)
    assert codes(planned(backend, spot("a-cluster", 25)).plan) == []
    assert codes(planned(backend, spot("a-cluster", 26)).plan) == ["MLC405"]


def test_clusters_count_together_although_none_of_their_nodes_runs() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 10))
    (message,) = messages(backend, spot("b-cluster", 16))
    assert message == (
        "eastus allows 100 low-priority cores; 40 are in use, and this plan needs 64 more"
    )


def test_a_deleted_cluster_gives_its_cores_back() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 10))
    carried_out(planned(backend, spot("a-cluster", 10), destroying=True).work, backend)
    applied(backend, spot("b-cluster", 16))


def test_a_cluster_that_is_made_anew_counts_once() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 20))
    applied(backend, spot("a-cluster", 25, size="Standard_D4s_v3"))


def test_a_cluster_that_is_being_deleted_counts_as_room_for_its_successor() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 20))
    backend.delete(spot("a-cluster", 20).address)
    applied(backend, spot("a-cluster", 25))


def test_only_growth_counts_and_shrinking_always_fits() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 25))
    backend.set_quota(low_priority=40)
    assert codes(planned(backend, spot("a-cluster", 20)).plan) == []
    assert codes(planned(backend, spot("a-cluster", 26)).plan) == ["MLC405"]


def test_a_cluster_that_is_made_anew_asks_for_all_that_it_gives_back() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 20))
    backend.set_quota(low_priority=40)
    larger = spot("a-cluster", 10, size="Standard_D8s_v3")
    (message,) = messages(backend, larger)
    assert message == "eastus allows 40 low-priority cores; 80 would then be in use"
    assert messages(backend, spot("a-cluster", 5, size="Standard_D8s_v3")) == []


def test_a_cluster_that_is_made_anew_waits_for_the_room_that_others_give_up() -> None:
    backend = with_quota(dedicated=100)
    applied(backend, *(compute(name, max_instances=10) for name in ("a-cluster", "b-cluster")))
    backend.set_quota(dedicated=40)
    anew = compute("a-cluster", max_instances=10, ssh_public_access_enabled=True)
    applied(backend, anew, compute("b-cluster", max_instances=0))


def test_what_one_cluster_gives_up_another_may_take() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 20), spot("b-cluster", 5))
    applied(backend, spot("a-cluster", 5), spot("b-cluster", 20))


def test_what_fits_beside_what_is_there_waits_for_nobody() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 15))
    made = planned(backend, spot("a-cluster", 10), spot("b-cluster", 10)).plan
    assert made.waits == {}
    assert planned(backend, spot("a-cluster", 10), spot("b-cluster", 11)).plan.waits == {
        Address("compute", "b-cluster"): (Address("compute", "a-cluster"),)
    }


def test_nobody_waits_for_a_cluster_that_is_made_anew_at_its_size() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 10), spot("c-cluster", 15))
    anew = spot("a-cluster", 10, size="Standard_D4s_v3")
    made = planned(backend, anew, spot("b-cluster", 10), spot("c-cluster", 5)).plan
    freed = (Address("compute", "c-cluster"),)
    assert made.waits == {
        Address("compute", "a-cluster"): freed,
        Address("compute", "b-cluster"): freed,
    }


def test_only_those_that_ask_for_more_are_told_that_it_is_too_much() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 20), spot("b-cluster", 5))
    made = planned(backend, spot("a-cluster", 30), spot("b-cluster", 4)).plan
    assert [found.address for found in made.rejections] == ["compute/a-cluster"]


def test_what_is_deleted_makes_room_for_what_waits_for_it() -> None:
    backend = with_quota(low_priority=100)
    applied(backend, spot("a-cluster", 20))
    built = graph.build([spot("a-cluster", 20), spot("b-cluster", 20)], SCOPE)
    world = refresh(built, backend)
    (old,) = planned(backend, spot("a-cluster", 20), destroying=True).plan.changes
    (new,) = planned(backend, spot("b-cluster", 20)).plan.changes
    assert [*checks.findings([old, new], world)] == []
    assert quota.waits([old, new], world) == {new.address: (old.address,)}


def test_low_priority_and_dedicated_cores_are_counted_apart() -> None:
    backend = with_quota(low_priority=0, dedicated=40)
    assert codes(planned(backend, compute(max_instances=10)).plan) == []
    assert codes(planned(backend, spot("a-cluster", 1)).plan) == ["MLC405"]


def test_a_family_and_the_total_are_both_limits() -> None:
    backend = with_quota(dedicated=40)
    backend.set_quota(families={"standardDSv2Family": 8})
    said = messages(backend, compute(max_instances=11))
    assert [message.split(";")[0] for message in said] == [
        "eastus allows 8 standardDSv2Family cores",
        "eastus allows 40 dedicated cores",
    ]


def test_the_count_of_clusters_is_a_limit() -> None:
    backend = with_quota(computes=1)
    both = compute("a-cluster", max_instances=1), compute("b-cluster", max_instances=1)
    (first,) = planned(backend, *both).plan.rejections
    assert (first.hint or "").startswith("delete unused clusters")
    assert first.message == "eastus allows 1 computes; 0 are in use, and this plan needs 2 more"


def test_a_cluster_is_counted_in_the_region_that_it_is_in() -> None:
    backend = with_quota(low_priority=0)
    assert messages(backend, spot("a-cluster", 5, location="West US 2")) == []


def test_a_cluster_that_moves_needs_all_its_cores_where_it_goes() -> None:
    backend = with_quota()
    backend.set_quota("westus2", low_priority=4)
    applied(backend, spot("a-cluster", 5))
    (message,) = messages(backend, spot("a-cluster", 5, location="westus2"))
    assert message.startswith("westus2 allows 4 low-priority cores; 0 are in use")


def test_a_cluster_stays_where_it_is_when_the_file_names_no_region() -> None:
    backend = with_quota()
    backend.set_quota("westus2", low_priority=20)
    applied(backend, spot("a-cluster", 5, location="westus2"))
    (message,) = messages(backend, spot("a-cluster", 6))
    assert message.startswith("westus2 allows 20 low-priority cores; 20 are in use")


def test_a_name_that_another_workspace_of_the_region_has_is_taken() -> None:
    backend = cloud()
    other = backend.within(Scope(SCOPE.subscription, SCOPE.resource_group, "other"))
    other.put(compute().address, {"properties": {"computeType": "AmlCompute"}}).wait()
    assert codes(planned(backend, compute()).plan) == ["MLC406"]
    assert codes(planned(backend, compute(location="westus2")).plan) == []


def test_a_name_is_taken_too_where_a_cluster_would_move_to() -> None:
    backend = cloud()
    other = backend.within(Scope(SCOPE.subscription, SCOPE.resource_group, "other"), "westus2")
    other.put(compute().address, {"properties": {"computeType": "AmlCompute"}}).wait()
    applied(backend, compute())
    assert codes(planned(backend, compute(location="westus2")).plan) == ["MLC406"]


def test_what_a_deployment_still_uses_is_not_deleted() -> None:
    backend = cloud()
    applied(backend, *HEART)
    made = planned(backend, compute(), model(), destroying=True).plan
    assert codes(made) == ["MLC407", "MLC407"]
    assert "batch-deployment/heart-batch/blue" in made.rejections[0].message


def test_what_is_deleted_with_all_its_users_is_deleted() -> None:
    backend = cloud()
    applied(backend, *HEART)
    assert codes(planned(backend, *HEART, destroying=True).plan) == []
    assert codes(planned(backend, compute(), endpoint(), destroying=True).plan) == []


def test_a_default_deployment_is_not_deleted_while_its_endpoint_stays() -> None:
    backend = cloud()
    applied(backend, *HEART[:2], endpoint(default="blue"), HEART[3])
    assert codes(planned(backend, HEART[3], destroying=True).plan) == ["MLC408"]
    assert codes(planned(backend, endpoint(), HEART[3], destroying=True).plan) == []


def test_deleting_one_live_resource_asks_the_same_questions() -> None:
    backend = cloud()
    applied(backend, *HEART[:2], endpoint(default="blue"), HEART[3])
    known = backend.read([one.address for one in HEART])
    users = users_of(find_children(backend).values(), SCOPE)
    gone = [
        removal(known[one.address], known, "local", SCOPE, users)
        for one in (HEART[0], HEART[3], HEART[2])
    ]
    assert [codes(made) for made in gone] == [["MLC407"], ["MLC408"], []]
    assert [len(made.changes) for made in gone] == [1, 1, 2]


def test_properties_of_an_endpoint_can_be_added_and_not_altered() -> None:
    backend = cloud()
    applied(backend, endpoint(properties={"a": "1"}))
    assert codes(planned(backend, endpoint(properties={"b": "2"})).plan) == []
    (message,) = messages(backend, endpoint(properties={"a": "2"}))
    assert message == "`properties.a` is '1' and cannot change"


def test_a_cluster_is_made_anew_beneath_the_deployments_of_others() -> None:
    backend = cloud()
    applied(backend, *HEART, endpoint("other"), deployment("green", on="other"))
    moved = endpoint(location="westus2")
    assert codes(planned(backend, spot("cpu-cluster", 2), model(), moved, HEART[3]).plan) == []


def test_an_endpoint_with_deployments_of_others_cannot_be_made_anew() -> None:
    backend = cloud()
    applied(backend, *HEART)
    assert codes(planned(backend, *HEART[:2], endpoint(location="westus2")).plan) == ["MLC407"]


def test_a_new_cluster_in_another_region_is_told_what_that_costs() -> None:
    far = compute("far", location="West Europe")
    backend = cloud()
    warned = planned(backend, far, compute("near", location="East US"), compute()).plan
    assert warned.rejections == ()
    [found] = warned.warnings
    assert found.rule.code == "MLC414"
    assert (found.address, "in westeurope, but its workspace in eastus" in found.message) == (
        "compute/far",
        True,
    )
    applied(backend, far)
    assert planned(backend, far).plan.warnings == ()  # it is there


def test_low_priority_that_costs_as_much_as_dedicated_is_warned_about() -> None:
    size = {"size": "Standard_ND96isr_H100_v5", "tier": "low_priority", "max_instances": 2}
    found = [
        one
        for one in planned(cloud(), compute("h100", **size)).plan.warnings
        if one.rule.code == "MLC419"
    ]
    assert [one.message for one in found] == [
        "low priority saves 0.00 USD an hour on 2 nodes of `Standard_ND96isr_H100_v5` in eastus:"
        " 98.32 USD a node as Spot, 98.32 dedicated"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"size": "Standard_DS3_v2", "tier": "low_priority"},  # Spot costs a ninth there
        {"size": "Standard_ND96isr_H100_v5"},  # dedicated already
        {"size": "Standard_B2s", "tier": "low_priority"},  # no price of Spot is known
        {"size": "Standard_ND96isr_H100_v5", "tier": "low_priority", "location": "westeurope"},
    ],
)
def test_nothing_is_said_where_spot_saves_or_nobody_knows(fields: dict[str, str]) -> None:
    warnings = planned(cloud(), compute("one", **fields)).plan.warnings
    assert "MLC419" not in [one.rule.code for one in warnings]


def test_a_quota_that_twenty_clusters_exceed_is_one_finding() -> None:
    backend = with_quota(computes=1)
    many = [compute(f"cluster-{number}", max_instances=1) for number in range(20)]
    (finding,) = planned(backend, *many).plan.rejections
    assert [label.text for label in finding.related] == ["this asks for more, too"] * 3
    assert "(and 16 more resources)" in finding.message
