"""Default limits of quotas, and the errors of exceeding them; kinds define what they claim."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from mlctl import catalog
from mlctl.catalog import limits
from mlctl.dataclasses import dataclass
from mlctl.kinds.facts import Claim
from mlctl.service_errors import Permanent, ServiceError
from mlctl.simulator.control_plane.state.settings import CloudSettings

LOW_PRIORITY, TOTAL = limits.LOW_PRIORITY_QUOTA, limits.DEDICATED_QUOTA
COMPUTES = limits.COMPUTES_QUOTA
ENDPOINTS, DEPLOYMENTS = limits.ENDPOINTS_QUOTA, limits.DEPLOYMENTS_QUOTA
BATCH_POOLS, VMS_PER_POOL = limits.BATCH_POOLS_QUOTA, limits.VMS_PER_POOL_QUOTA
# Azure documents ranges; the values within them are assumptions. `limits` has the
# sources; GPU families are a setting of the cloud.
DEFAULTS = {
    LOW_PRIORITY: limits.LOW_PRIORITY_CORES[0],
    TOTAL: limits.DEDICATED_CORES[1],
    COMPUTES: limits.COMPUTES,
    ENDPOINTS: limits.ENDPOINTS,
    DEPLOYMENTS: limits.DEPLOYMENTS,
    BATCH_POOLS: limits.BATCH_POOLS,
    VMS_PER_POOL: limits.VMS_PER_POOL,
}
FAMILY_DEFAULT = 100
MOST = 10**12  # what a limit may be set to
EVERYWHERE = limits.EVERYWHERE


def default(quota: str, settings: CloudSettings) -> int | None:
    """Return the default limit of a quota; None for low-priority families, which have none."""
    if quota in DEFAULTS:
        return DEFAULTS[quota]
    if limits.is_low_priority_of_family(quota):
        return None
    return settings.gpu_family_cores if families().get(quota) else FAMILY_DEFAULT


def engine_name(subscription: str, region: str, quota: str) -> str:
    """Return the event engine's name of a quota."""
    return f"{subscription.casefold()}/{region}/{quota}"


def is_family(quota: str) -> bool:
    """Whether a quota is one of the dedicated cores of a VM family."""
    return quota not in DEFAULTS and not limits.is_low_priority_of_family(quota)


def is_of_cores(quota: str) -> bool:
    """Whether a quota limits the cores of nodes, not the number of resources."""
    return quota in (LOW_PRIORITY, TOTAL) or quota not in DEFAULTS


@cache
def families() -> Mapping[str, bool]:
    """Return VM family -> whether it has GPUs."""
    return {size.family: size.gpus > 0 for size in catalog.sizes().values()}


@dataclass(frozen=True, slots=True)
class Excess:
    """A claim on a quota that exceeds its `limit`, as others use `taken` of it."""

    quota: str
    region: str
    limit: int
    taken: int
    claim: Claim

    def error(self) -> ServiceError:
        """Return the service's error."""
        if self.quota == BATCH_POOLS:
            text = f"The Batch Pool account has reached its limit of pools ({self.limit})."
            return Permanent("PoolQuotaExceeded", text)
        if self.claim.least is None:
            place = f" in region {self.region}" if self.region else ""
            text = f"The subscription has reached its limit of {self.limit} {self.quota}{place}."
            return Permanent("QuotaExceeded", text)
        return self._too_many_cores(self.claim.least)

    def _too_many_cores(self, least: int) -> ServiceError:
        cores, free = self.claim.node, max(self.limit - self.taken, 0)
        name = {LOW_PRIORITY: "low-priority", TOTAL: "total regional"}.get(self.quota, self.quota)
        quota = f"The specified subscription has a {name} vCPU quota of {self.limit}"
        if least > free:
            text = (
                f"{quota} and cannot accommodate for at least {least // cores} requested managed"
                f" compute nodes which maps to {least} vCPUs."
            )
            return Permanent(limits.MIN_NODES_EXCEED, text)
        greatest = self.claim.most
        text = (
            f"{quota} in region {self.region}, of which clusters claim {self.taken}:"
            f" {greatest // cores} nodes of {cores} vCPUs need {greatest}, {free} are left."
        )
        return Permanent("ClusterCoreQuotaReached", text)
