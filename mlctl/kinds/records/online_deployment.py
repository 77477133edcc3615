"""Managed online deployments, which run behind an online endpoint on permanent machines."""

from __future__ import annotations

import math
from collections.abc import Mapping

from mlctl import catalog
from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

# What the service adds (recorded: online-deployment-get): variables only if there is a script.
OWN_VARIABLES = ("AZUREML_MODEL_DIR", "AZUREML_ENTRY_SCRIPT", "AML_APP_ROOT")
_OWN = {
    "properties": ("AzureAsyncOperationUri", "azureml.onlineendpointid"),
    "environmentVariables": OWN_VARIABLES,
}


def _claims(value: facts.Effective, region: str) -> facts.Claims:
    """A deployment counts with its cores; some sizes need more for upgrades.

    Source: how-to-manage-quotas, "Virtual machine quota allocation for deployment".
    """
    claims: dict[tuple[str, str], facts.Claim] = {
        (limits.EVERYWHERE, limits.DEPLOYMENTS_QUOTA): facts.Claim(),
        (region, limits.COMPUTES_QUOTA): facts.Claim(),
    }
    nodes = _nodes(value)
    size = catalog.size_of(nodes.size) if nodes else None
    if size is None or nodes is None:
        return claims
    count = math.ceil(nodes.most * limits.upgrade_share(size.family) / 100)
    cores = facts.Claim(count * size.vcpus, node=size.vcpus)
    return {**claims, (region, size.family): cores, (region, limits.DEDICATED_QUOTA): cores}


def _nodes(value: facts.Effective) -> facts.NodeRange | None:
    declared = value("instance_count")
    count = 1 if declared is None else declared
    if not isinstance(count, int):
        return None
    return facts.NodeRange(str(value("instance_type")), low_priority=False, least=count, most=count)


def _inferred(data: Mapping[str, Data]) -> bool:
    kind = str(data.get("type", "managed")).casefold()
    return kind == "managed" and "endpoint_name" in data and "instance_type" in data


KIND = Kind(
    name="online-deployment",
    schema_name="managedOnlineDeployment",
    collection="deployments",
    parent="online-endpoint",
    inferred=_inferred,
    arm=facts.ArmFacts(
        tracked=True,
        patchable=(("tags",), ("sku",)),
        service_fields=tuple(("properties", at, key) for at, keys in _OWN.items() for key in keys),
        api_version="2024-10-01",  # a PUT without startupProbe would remove it
        delay="deployment",
    ),
    quota=facts.QuotaFacts(
        limit_per_parent=limits.DEPLOYMENTS_PER_ENDPOINT,
        claims=_claims,
        nodes=_nodes,
        vm_size=("instance_type",),
        scaled_by=("instance_count",),
    ),
    plan=facts.PlanFacts(loss="its machines are released, and it stops answering requests"),
)
