"""The kinds by name, and the names of documents: what is known before a record is imported."""

from __future__ import annotations

from collections.abc import Mapping

# In the order of lists and help: what `$schema` may name a document of the kind; nothing where no
# document declares one.
DOCUMENT_NAMES: Mapping[str, tuple[str, ...]] = {
    "compute": ("amlCompute", "compute"),
    "batch-endpoint": ("batchEndpoint",),
    "batch-deployment": (
        "batchDeployment",
        "modelBatchDeployment",
        "pipelineComponentBatchDeployment",
    ),
    "online-endpoint": ("managedOnlineEndpoint", "onlineEndpoint"),
    "online-deployment": ("managedOnlineDeployment", "onlineDeployment"),
    "model": ("model",),
    "environment": ("environment",),
    "data": ("data",),
    "component": (
        "component",
        "commandComponent",
        "pipelineComponent",
        "parallelComponent",
        "sparkComponent",
    ),
    "code": (),
    "batch-pool": ("batchPool",),
    "job": ("commandJob", "pipelineJob", "sweepJob", "sparkJob", "autoMLJob"),
    "compute-instance": (),
    "schedule": (),
}
# What runs once, and is no resource.
RUNS = ("job",)
