"""Documented quotas and limits of a subscription.

Source: MicrosoftDocs/azure-ai-docs articles/machine-learning/how-to-manage-quotas.md (2026-01-27)
and how-to-use-low-priority-batch.md (2024-08-15).
"""

from __future__ import annotations

# Cores in a region. The documentation gives ranges, by offer; GPU families start at 0.
LOW_PRIORITY_CORES = (100, 3_000)  # one number for all VM families
DEDICATED_CORES = (24, 300)  # per VM family, and for all families together

COMPUTES = 500  # per region, up to 2,500; clusters, instances and online deployments together
ENDPOINTS = 100  # per subscription and region, of all types
DEPLOYMENTS = 500  # per subscription
DEPLOYMENTS_PER_ENDPOINT = 20

JOB_DAYS = 21
LOW_PRIORITY_JOB_DAYS = 7

# Names of quotas, as backends report Azure's usages; a VM family's dedicated cores go by its name,
# low-priority ones by `low_priority_of`.
LOW_PRIORITY_QUOTA, DEDICATED_QUOTA, COMPUTES_QUOTA = "low_priority", "total", "computes"
ENDPOINTS_QUOTA, DEPLOYMENTS_QUOTA = "endpoints", "deployments"
BATCH_POOLS_QUOTA, VMS_PER_POOL_QUOTA = "batch_pools", "vms_per_pool"  # of the account
UNPUBLISHED = frozenset({ENDPOINTS_QUOTA, DEPLOYMENTS_QUOTA})  # Azure does not report their usage

MIN_NODES_EXCEED = "ClusterMinNodesExceedCoreQuota"  # the service's code: too few cores to start

# Percent of the cores of a managed online deployment that must be free: "20% extra for performing
# upgrades". The families that need no more: reference-managed-online-endpoints-vm-sku-list
# (2023-10-18), column "Skip 20% Reservation".
WITH_UPGRADES, WITHOUT_UPGRADES = 120, 100
_NOT_UPGRADED = frozenset(
    {
        "standardncadsa100v4family",
        "standardncadsh100v5family",
        "standardndamsv4_a100family",
        "standardndasv4_a100family",
        "standardndsv2family",
        "standardndv5h100family",
        "standardndsh100v5family",  # as in the catalog of sizes
    }
)

EVERYWHERE = ""  # the region of a limit that applies across regions

# Of a Batch Pool account, everywhere. Customer support set both for each account ("the maximum
# number of pools you can create and the maximum number of virtual machines (VMs) that you can place
# in each pool": Azure Batch service for Machine Learning jobs). No figure was published: these are
# assumptions.
BATCH_POOLS = 10
VMS_PER_POOL = 100


def low_priority_of(family: str) -> str:
    """Return the quota of a VM family's low-priority cores; most have no limit of their own."""
    return f"{LOW_PRIORITY_QUOTA}/{family}"


def is_low_priority_of_family(quota: str) -> bool:
    """Whether a quota is for a family's low-priority cores."""
    return quota.startswith(f"{LOW_PRIORITY_QUOTA}/")


def quota_key(quota: str) -> str:
    """Normalize a quota's name: families are spelt in any case, and with blanks."""
    return quota.replace(" ", "").casefold()


def upgrade_share(family: str) -> int:
    """Return the percentage of an online deployment's cores that must be free, by VM family."""
    return WITHOUT_UPGRADES if quota_key(family) in _NOT_UPGRADED else WITH_UPGRADES
