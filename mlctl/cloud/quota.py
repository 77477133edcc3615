"""How much of what is allowed, and how much each resource claims.

Quota counts the most nodes that every existing cluster may have, whether they run or not
("unprovisioned nodes contribute to your quota usage", how-to-create-attach-compute-cluster).
"""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.cloud.ask import Catalog
from mlctl.cloud.compute import size_of
from mlctl.cloud.refusal import Refusal
from mlctl.kinds.address import Address
from mlctl.pointer import Data

LOW_PRIORITY, TOTAL, COMPUTES = "low_priority", "total", "computes"
ENDPOINTS, DEPLOYMENTS = "endpoints", "deployments"
# how-to-manage-quotas: dedicated cores per region 24-300 by offer, per family and in total; low-priority
# 100-3,000, one number over all families; GPU families start at 0. Which of the range: an assumption.
DEFAULTS = {LOW_PRIORITY: 100, TOTAL: 300, COMPUTES: 500, ENDPOINTS: 100, DEPLOYMENTS: 500}
FAMILY_DEFAULT, GPU_FAMILY_DEFAULT = 100, 0
PER_ENDPOINT = 20
EVERYWHERE = ""  # the region of what is counted over all regions


def default(pool: str, catalog: Catalog) -> int:
    """The limit of a pool that nobody set."""
    if pool in DEFAULTS:
        return DEFAULTS[pool]
    return GPU_FAMILY_DEFAULT if catalog.families().get(pool) else FAMILY_DEFAULT


def claims(address: Address, body: Mapping[str, Data], catalog: Catalog) -> dict[tuple[str, str], int]:
    """(region, pool) -> what the resource takes of it."""
    match address.kind:
        case "batch-endpoint":
            return {(body["location"], ENDPOINTS): 1}
        case "batch-deployment":
            return {(EVERYWHERE, DEPLOYMENTS): 1}
        case "compute":
            return _cores(body, catalog)
        case _:
            return {}


def _cores(body: Mapping[str, Data], catalog: Catalog) -> dict[tuple[str, str], int]:
    region, inner = body["location"], body["properties"]["properties"]
    size = size_of(catalog, inner["vmSize"])
    cores = inner["scaleSettings"]["maxNodeCount"] * (size.vcpus if size else 0)
    if inner["vmPriority"] == "LowPriority":
        return {(region, COMPUTES): 1, (region, LOW_PRIORITY): cores}
    family = size.family if size else "unknown"
    return {(region, COMPUTES): 1, (region, family): cores, (region, TOTAL): cores}


def exceeded(pool: str, region: str, limit: int, others: int, asked: int,
             body: Mapping[str, Data]) -> Refusal:
    """The refusal of a claim of `asked` where `others` of `limit` are taken already."""
    left = max(limit - others, 0)
    if pool in (COMPUTES, ENDPOINTS, DEPLOYMENTS):
        where = f" in region {region}" if region else ""
        return Refusal("QuotaExceeded", f"The subscription has reached its limit of {limit} {pool}{where}.")
    name = {LOW_PRIORITY: "low-priority", TOTAL: "total regional"}.get(pool, pool)
    scale = body["properties"]["properties"]["scaleSettings"]
    most, least = scale["maxNodeCount"], scale["minNodeCount"]
    each = asked // most if most else 0
    if least * each > left:
        return Refusal("ClusterMinNodesExceedCoreQuota", (
            f"The specified subscription has a {name} vCPU quota of {limit} and cannot accommodate for at "
            f"least {least} requested managed compute nodes which maps to {least * each} vCPUs "
            f"({others} are claimed by other clusters in {region})."))
    return Refusal("ClusterCoreQuotaReached", (
        f"The specified subscription has a {name} vCPU quota of {limit} in {region}, of which {others} are "
        f"claimed by other clusters: the cluster's {most} nodes of {each} vCPUs need {asked}, "
        f"{left} are left."))
