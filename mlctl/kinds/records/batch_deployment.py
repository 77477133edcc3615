"""Batch deployments: what a batch endpoint runs."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

# As recorded until 2023 (batch-deployment-put-defaults); newer recordings have none.
_OWN_PROPERTIES = ("AzureAsyncOperationUri", "azureml.onlineendpointid")


def _inferred(data: Mapping[str, Data]) -> bool:
    pipeline = str(data.get("type", "")).casefold() == "pipeline" and "component" in data
    return "endpoint_name" in data or pipeline


KIND = Kind(
    name="batch-deployment",
    schema_name="batchDeployment",
    collection="deployments",
    parent="batch-endpoint",
    inferred=_inferred,
    arm=facts.ArmFacts(
        tracked=True,
        patchable=(("tags",), ("properties", "description")),
        service_fields=tuple(("properties", "properties", key) for key in _OWN_PROPERTIES),
        delay="deployment",
    ),
    quota=facts.QuotaFacts(
        limit_per_parent=limits.DEPLOYMENTS_PER_ENDPOINT,
        claims=lambda *_: {(limits.EVERYWHERE, limits.DEPLOYMENTS_QUOTA): facts.Claim()},
    ),
    plan=facts.PlanFacts(may_be_renamed=True, named_in_jobs=("deploymentName",)),
    computed={
        "Type": lambda row: row.get("type", "model"),  # az prints none of the usual ones
        "MiniBatch": lambda row: row.get("settings", row).get("mini_batch_size"),
    },
)
