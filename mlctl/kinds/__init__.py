"""Kinds of resources: adding one is a schema, a line in KINDS and a sample."""

from __future__ import annotations

from mlctl.kinds.address import Address, Reference, Scope
from mlctl.kinds.internal import INTERNAL
from mlctl.kinds.kind import Kind
from mlctl.kinds.resource import Resource

__all__ = [
    "DOCUMENTS",
    "JOB",
    "KINDS",
    "Address",
    "Kind",
    "Reference",
    "Resource",
    "Scope",
    "kind_of",
    "kind_of_schema",
]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("compute", "amlCompute", ("amlCompute", "compute")),
        Kind("batch-endpoint", "batchEndpoint", ("batchEndpoint",)),
        Kind(
            "batch-deployment",
            "batchDeployment",
            ("batchDeployment", "modelBatchDeployment", "pipelineComponentBatchDeployment"),
        ),
        Kind("model", "model", ("model",)),
        Kind("environment", "environment", ("environment",)),
        Kind("batch-pool", "batchPool", ("batchPool",)),
    )
}
JOB = Kind("job", "commandJob", ("commandJob",))
# What a document can be: a resource of one of the kinds, or a job, which runs once and is none.
DOCUMENTS: dict[str, Kind] = {**KINDS, JOB.name: JOB}


def kind_of(address: Address) -> Kind:
    """The kind of an address, those that no document declares included."""
    return DOCUMENTS.get(address.kind) or INTERNAL[address.kind]


def kind_of_schema(url: str) -> Kind | str | None:
    """The kind of document that a `$schema` names by the file part of its URL, whatever the host.

    The name itself where it is a schema of Azure ML that no kind here covers; None where it names
    no file.
    """
    name = url.strip().rpartition("/")[2].removesuffix(".json").removesuffix(".schema")
    if not name:
        return None
    folded = name.casefold()
    for kind in DOCUMENTS.values():
        if folded in (document.casefold() for document in kind.documents):
            return kind
    return name
