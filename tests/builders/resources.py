"""Builders: resources as files declare them; values or YAML in."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import source
from mlctl.diagnostics import Report, SourceText
from mlctl.kinds import KINDS, Kind, kind_of_schema
from mlctl.kinds.resource import Resource, build
from mlctl.pointer import Data

CLUSTER = "$schema: https://x/amlCompute.schema.json\nname: cpu-cluster\ntype: amlcompute\n"
ENDPOINT = "$schema: https://x/batchEndpoint.schema.json\nname: scores\n"


def compute(name: str = "cpu-cluster", **values: Data) -> Resource:
    """A cluster, as a file declares it."""
    return declared("compute", {"type": "amlcompute", "max_instances": 2, **values, "name": name})


def endpoint(name: str = "heart-batch", default: str | None = None, **values: Data) -> Resource:
    """A batch endpoint, as a file declares it."""
    defaults = {"defaults": {"deployment_name": default}} if default else {}
    return declared("batch-endpoint", {**defaults, **values, "name": name})


def deployment(name: str = "blue", on: str = "heart-batch", **values: Data) -> Resource:
    """A deployment of `azureml:heart:1` on `cpu-cluster`, in the flat form."""
    said = {"model": "azureml:heart:1", "compute": "cpu-cluster", **values}
    return declared("batch-deployment", {**said, "name": name, "endpoint_name": on})


def model(name: str = "heart", version: Data = "1", **values: Data) -> Resource:
    """A version of a model; None leaves the version to the workspace."""
    said = {"path": "azureml://jobs/train/outputs/artifacts/paths/model/", **values, "name": name}
    return declared("model", {**said, "version": version} if version is not None else said)


def environment(name: str = "torch", version: Data = "1", **values: Data) -> Resource:
    """A version of an environment."""
    said = {"image": "ubuntu:22.04", **values, "name": name}
    return declared("environment", {**said, "version": version} if version is not None else said)


def pool(name: str = "scoring-pool", vms: int = 2, **values: Data) -> Resource:
    """A Batch Pool, as a file declares it."""
    said = {"vm_count": vms, "swagger_url": "https://host/services/a/swagger.json", **values}
    return declared("batch-pool", {**said, "name": name})


def declared(kind: str, data: Mapping[str, Data], file: str = "main.yml") -> Resource:
    """The resource of a document that is plain data already."""
    document = source.Document(SourceText(file, ""), dict(data))
    found = build(document, KINDS[kind])
    assert found is not None
    return found


def parsed(*texts: str, name: str = "main.yml") -> list[Resource]:
    """The resources of the documents of one file."""
    report, found = Report(), []
    for document in source.load(name, "---\n".join(texts), report):
        kind = kind_of_schema(str(document.data.get("$schema")))
        assert isinstance(kind, Kind)
        found.append(build(document, kind))
    return [one for one in found if one is not None]
