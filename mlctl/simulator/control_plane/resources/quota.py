"""How much of what is allowed, and how much each resource claims.

A cluster claims the most nodes that it may have, whether they run or not ("unprovisioned nodes
contribute to your quota usage", how-to-create-attach-compute-cluster).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from mlctl import catalog
from mlctl.catalog import limits
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import Permanent, ServiceError
from mlctl.simulator.control_plane.resources.vm_sizes import find_size

LOW_PRIORITY, TOTAL, COMPUTES = "low_priority", "total", "computes"
ENDPOINTS, DEPLOYMENTS = "endpoints", "deployments"
BATCH_POOLS, VMS_PER_POOL = "batch_pools", "vms_per_pool"  # of the account, wherever
# The documents give ranges; where in them a subscription stands is an assumption. `limits` has the
# sources; GPU families start at 0.
DEFAULTS = {
    LOW_PRIORITY: limits.LOW_PRIORITY_CORES[0],
    TOTAL: limits.DEDICATED_CORES[1],
    COMPUTES: limits.COMPUTES,
    ENDPOINTS: limits.ENDPOINTS,
    DEPLOYMENTS: limits.DEPLOYMENTS,
    BATCH_POOLS: limits.BATCH_POOLS,
    VMS_PER_POOL: limits.VMS_PER_POOL,
}
FAMILY_DEFAULT, GPU_FAMILY_DEFAULT = 100, 0
EVERYWHERE = limits.EVERYWHERE


def default(pool: str) -> int:
    """The limit of a pool that nobody set."""
    if pool in DEFAULTS:
        return DEFAULTS[pool]
    return GPU_FAMILY_DEFAULT if families().get(pool) else FAMILY_DEFAULT


@cache
def families() -> Mapping[str, bool]:
    """VM family -> whether it has GPUs."""
    return {size.family: size.gpus > 0 for size in catalog.sizes().values()}


def claims(address: Address, body: Mapping[str, Data]) -> dict[tuple[str, str], int]:
    """(region, pool) -> what a resource takes of it."""
    match address.kind:
        case "batch-endpoint":
            return {(body["location"], ENDPOINTS): 1}
        case "batch-deployment":
            return {(EVERYWHERE, DEPLOYMENTS): 1}
        case "batch-pool":
            return {(EVERYWHERE, BATCH_POOLS): 1}
        case "compute":
            return _cores(body)
        case _:
            return {}


def _cores(body: Mapping[str, Data]) -> dict[tuple[str, str], int]:
    region, inner = body["location"], body["properties"]["properties"]
    size = find_size(inner["vmSize"])
    cores = inner["scaleSettings"]["maxNodeCount"] * (size.vcpus if size else 0)
    if inner["vmPriority"] == "LowPriority":
        return {(region, COMPUTES): 1, (region, LOW_PRIORITY): cores}
    family = size.family if size else "unknown"
    return {(region, COMPUTES): 1, (region, family): cores, (region, TOTAL): cores}


@dataclass(frozen=True, slots=True)
class Excess:
    """A claim of `asked` on a pool, of whose `limit` others have `taken` too much."""

    pool: str
    region: str
    limit: int
    taken: int
    asked: int

    def error(self, body: Mapping[str, Data]) -> ServiceError:
        """What the service says to the resource that asks."""
        if self.pool == BATCH_POOLS:
            text = f"The Batch Pool account has reached its limit of pools ({self.limit})."
            return Permanent("PoolQuotaExceeded", text)
        if self.pool in (COMPUTES, ENDPOINTS, DEPLOYMENTS):
            where = f" in region {self.region}" if self.region else ""
            text = f"The subscription has reached its limit of {self.limit} {self.pool}{where}."
            return Permanent("QuotaExceeded", text)
        scale = body["properties"]["properties"]["scaleSettings"]
        most, least = scale["maxNodeCount"], scale["minNodeCount"]
        each, left = self.asked // most, max(self.limit - self.taken, 0)
        name = {LOW_PRIORITY: "low-priority", TOTAL: "total regional"}.get(self.pool, self.pool)
        quota = f"The specified subscription has a {name} vCPU quota of {self.limit}"
        if least * each > left:
            text = (
                f"{quota} and cannot accommodate for at least {least} requested managed compute"
                f" nodes which maps to {least * each} vCPUs."
            )
            return Permanent("ClusterMinNodesExceedCoreQuota", text)
        text = (
            f"{quota} in region {self.region}, of which clusters claim {self.taken}:"
            f" {most} nodes of {each} vCPUs need {self.asked}, {left} are left."
        )
        return Permanent("ClusterCoreQuotaReached", text)
