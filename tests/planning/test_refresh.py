"""What is read of the world before a plan is made, and what is not."""

from __future__ import annotations

from collections.abc import Collection

from mlctl.backends.ports.backend import Live
from mlctl.config import graph
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning.live_state import LiveState, names_in, region, users_of
from mlctl.planning.ownership.owner import Ownership
from mlctl.planning.refresh import find_children, refresh
from tests.builders.plans import applied
from tests.builders.resources import (
    compute,
    declared,
    deployment,
    endpoint,
    environment,
    model,
)
from tests.builders.workspace import SCOPE, Watched, cloud

HEART = (compute(), model(), endpoint(), deployment())


class Asked(Watched):
    """A backend that tells of every read."""

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        self.told.append("read " + " ".join(sorted(map(str, addresses))))
        return super().read(addresses)

    def list(self, kind: str, parent: str | None = None) -> list[Live]:
        self.told.append(f"list {kind}")
        return super().list(kind, parent)


def refreshed(backend: Watched, *resources: Resource, destroying: bool = False) -> LiveState:
    return refresh(graph.build(resources, SCOPE), backend, destroying=destroying)


def test_everything_declared_and_named_is_read_at_once() -> None:
    backend = Asked(cloud())
    refreshed(backend, endpoint(default="green"), deployment(environment="azureml:torch@latest"))
    assert backend.told == [
        "read batch-deployment/heart-batch/blue batch-deployment/heart-batch/green"
        " batch-endpoint/heart-batch compute/cpu-cluster environment/torch model/heart:1"
    ]


def test_who_uses_what_is_asked_only_where_something_may_be_deleted() -> None:
    inner = cloud()
    applied(inner, *HEART)
    backend = Asked(inner)
    refreshed(backend, compute(max_instances=3))
    assert not [told for told in backend.told if told.startswith("list")]
    found = refreshed(backend, endpoint(location="westus2"))
    assert found.used_by[compute().address] == [HEART[3].address]
    assert refreshed(backend, compute(), destroying=True).used_by.keys() >= {compute().address}


def test_what_is_listed_for_a_project_is_not_read_again() -> None:
    inner = cloud()
    applied(inner, *HEART, ownership=Ownership("ours"))
    backend = Asked(inner)
    found = refresh(graph.build([*HEART, environment()], SCOPE), backend, of="ours")
    lists = [told for told in backend.told if told.startswith("list")]
    assert (len(lists), sorted(set(lists))) == (len(KINDS), sorted(f"list {one}" for one in KINDS))
    assert [told for told in backend.told if told.startswith("read")] == [
        "read environment/torch:1"
    ]
    assert found.live.keys() == {one.address for one in found.owned}
    assert found.used_by == {}  # nothing of the project would go
    fewer = refresh(graph.build(HEART[:3], SCOPE), backend, of="ours")
    assert HEART[3].address in fewer.used_by[compute().address]


def test_what_is_being_deleted_is_leaving_and_uses_nothing_any_more() -> None:
    inner = cloud()
    applied(inner, *HEART)
    inner.delete(HEART[3].address)
    found = refreshed(Watched(inner), *HEART)
    assert list(found.deleting) == [HEART[3].address]
    assert HEART[3].address not in found.live
    assert find_children(inner) == {}


def test_a_deployment_names_its_cluster_its_model_and_its_environment() -> None:
    backend = cloud()
    applied(backend, *HEART[:3], environment(), deployment(environment="azureml:torch"))
    live = backend.read([HEART[3].address])[HEART[3].address]
    named = {"compute/cpu-cluster", "model/heart:1", "environment/torch:1"}
    assert {str(one) for one in names_in(live, SCOPE)} == named


def test_an_endpoint_is_used_by_what_lies_beneath_it() -> None:
    backend = cloud()
    applied(backend, *HEART)
    users = users_of(find_children(backend).values(), SCOPE)
    assert users[endpoint().address] == [HEART[3].address]


def test_a_region_is_as_written_else_as_it_is_else_the_workspaces() -> None:
    backend = cloud()
    applied(backend, compute(location="westus2"))
    live = backend.read([compute().address])[compute().address]
    assert region(compute(location="West Europe"), live, "eastus") == "westeurope"
    assert region(compute(), live, "eastus") == "westus2"
    assert region(compute(), None, "eastus") == "eastus"


def test_quotas_are_read_of_the_regions_that_clusters_are_in_or_go_to() -> None:
    backend = cloud()
    applied(backend, compute("a-cluster", location="westus2"))
    b_cluster = compute("b-cluster", location="West Europe")
    built = graph.build([compute("a-cluster", max_instances=9), b_cluster], SCOPE)
    assert set(refresh(built, backend).usage) == {"westus2", "westeurope"}
    same = graph.build([compute("a-cluster"), b_cluster], SCOPE)
    assert set(refresh(same, backend).usage) == {"westeurope"}  # a-cluster asks for nothing more
    assert refresh(built, backend, destroying=True).usage == {}


def test_the_default_cluster_of_a_pipeline_is_used_by_it() -> None:
    inner = cloud()
    component = "azureml://registries/azureml/components/c/versions/1"
    settings = {"default_compute": "azureml:cpu-cluster"}
    pipeline = {"type": "pipeline", "component": component, "settings": settings}
    said = {"name": "blue", "endpoint_name": "heart-batch", **pipeline}
    applied(inner, compute(), endpoint(), declared("batch-deployment", said))
    found = refreshed(Watched(inner), compute(), destroying=True)
    assert [str(one) for one in found.used_by[compute().address]] == [
        "batch-deployment/heart-batch/blue"
    ]
