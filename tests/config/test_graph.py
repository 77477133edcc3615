"""Who needs whom, and what asked for it."""

from __future__ import annotations

import pytest

from mlctl.config import graph
from mlctl.kinds.address import Scope
from mlctl.kinds.resource import Resource
from tests.builders.resources import compute, declared, deployment, endpoint, model
from tests.builders.workspace import SCOPE


def needs(*resources: Resource, scope: Scope | None = SCOPE) -> dict[str, str]:
    """What is needed, by the field that asked for it."""
    built = graph.build(resources, scope)
    return {".".join(map(str, edge.at)): str(edge.target) for edge in built.edges}


def test_a_deployment_needs_its_endpoint_and_all_that_it_names() -> None:
    assert needs(deployment(environment="azureml:torch@latest")) == {
        "endpoint_name": "batch-endpoint/heart-batch",
        "model": "model/heart:1",
        "environment": "environment/torch",
        "compute": "compute/cpu-cluster",
    }


def test_a_pipeline_needs_its_component_and_its_default_cluster() -> None:
    data = {"name": "words", "endpoint_name": "texts", "type": "pipeline"}
    settings = {"default_compute": "cpu-cluster"}
    said = {**data, "component": "azureml:words:1", "settings": settings}
    assert needs(declared("batch-deployment", said)) == {
        "endpoint_name": "batch-endpoint/texts",
        "component": "component/words:1",
        "settings.default_compute": "compute/cpu-cluster",
    }


@pytest.mark.parametrize("spelt", ["serverless", "azureml:serverless", "azureml:Serverless"])
def test_serverless_and_local_are_no_clusters(spelt: str) -> None:
    assert "compute" not in needs(deployment(compute="local"))
    data = {"name": "words", "endpoint_name": "texts", "type": "pipeline"}
    said = {**data, "settings": {"default_compute": spelt}}
    assert list(needs(declared("batch-deployment", said))) == ["endpoint_name"]


def test_an_endpoint_needs_its_default_deployment_later() -> None:
    (edge,) = graph.build([endpoint(default="blue")], SCOPE).edges
    assert (str(edge.target), edge.deferred) == ("batch-deployment/heart-batch/blue", True)


def test_an_arm_id_of_this_workspace_is_the_same_as_its_short_name() -> None:
    shouted = f"azureml:{SCOPE.id.replace('/rg/', '/RG/')}/models/heart/versions/1"
    assert needs(deployment(model=shouted))["model"] == "model/heart:1"


def test_what_lies_in_another_workspace_or_a_registry_is_not_needed() -> None:
    other = Scope(SCOPE.subscription, "rg", "other")
    assert "model" not in needs(deployment(model=f"azureml:{other.id}/models/heart/versions/1"))
    assert "model" not in needs(deployment(model="azureml://registries/r/models/m/versions/1"))


def test_names_are_found_without_case() -> None:
    built = graph.build([compute("CPU-Cluster"), deployment()], SCOPE)
    assert [str(one) for one in built.declared(compute().address)] == ["compute/cpu-cluster"]
    assert "compute/CPU-Cluster" in map(str, built.resources)


def test_an_open_reference_is_met_by_every_declared_version() -> None:
    built = graph.build([model(), model(version="2"), deployment(model="azureml:heart")], SCOPE)
    found = built.declared(model().address.at(None))
    assert sorted(map(str, found)) == ["model/heart:1", "model/heart:2"]


def test_a_version_may_be_met_by_the_declaration_that_leaves_it_open() -> None:
    built = graph.build([model(version=None), deployment()], SCOPE)
    assert [str(one) for one in built.declared(model().address)] == ["model/heart"]


def test_an_address_declared_twice_keeps_the_first_and_tells_of_both() -> None:
    first, second = compute(max_instances=1), compute("CPU-cluster", max_instances=2)
    built = graph.build([first, second], SCOPE)
    assert list(built.resources.values()) == [first]
    assert built.repeated == ((first, second),)
