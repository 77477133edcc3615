"""Batch Pools of Machine Learning Studio (classic), a retired service: simulated only."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.catalog import limits
from mlctl.kinds.facts import (
    DESCRIPTION,
    TAGS,
    ArmFacts,
    AzFacts,
    Claim,
    Claims,
    Effective,
    QuotaFacts,
    flag,
)
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_VMS = flag("--vm-count", "vm_count")


def _claims(_value: Effective, _region: str) -> Claims:
    return {(limits.EVERYWHERE, limits.BATCH_POOLS_QUOTA): Claim()}


def _inferred(data: Mapping[str, Data]) -> bool:
    return "vm_count" in data and "swagger_url" in data


KIND = Kind(
    name="batch-pool",
    schema_name="batchPool",
    collection="batchPools",
    inferred=_inferred,
    arm=ArmFacts(
        hosted=False,  # the service had no ARM resource
        delay="pool",
    ),
    quota=QuotaFacts(
        claims=_claims,
        capped={limits.VMS_PER_POOL_QUOTA: ("vm_count",)},
    ),
    az=AzFacts(
        present=False,
        columns={
            "Name": ("name",),
            "State": ("provisioning_state",),
            "VMs": ("vm_count",),
            "Provisioned": ("provisioned_vms",),
            "PoolId": ("pool_id",),
            "BillingPlan": ("billing_plan",),
        },
        create_flags=(_VMS, flag("--swagger-url", "swagger_url"), DESCRIPTION, TAGS),
        update_flags=(_VMS, TAGS),
        resize_flag=flag(
            "--vm-count",
            "vm_count",
            text="Virtual machines in the pool; 0 stops the billing and keeps the pool.",
        ),
    ),
)
