"""Batch Pools of Machine Learning Studio (classic), a retired service: simulated only."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_VMS = facts.flag("--vm-count", "vm_count")


def _claims(_value: facts.Effective, _region: str) -> facts.Claims:
    return {(limits.EVERYWHERE, limits.BATCH_POOLS_QUOTA): facts.Claim()}


def _inferred(data: Mapping[str, Data]) -> bool:
    return "vm_count" in data and "swagger_url" in data


KIND = Kind(
    name="batch-pool",
    schema_name="batchPool",
    collection="batchPools",
    inferred=_inferred,
    arm=facts.ArmFacts(
        hosted=False,  # the service had no ARM resource
        delay="pool",
    ),
    quota=facts.QuotaFacts(
        claims=_claims,
        capped={limits.VMS_PER_POOL_QUOTA: ("vm_count",)},
    ),
    az=facts.AzFacts(
        present=False,
        columns={
            "Name": ("name",),
            "State": ("provisioning_state",),
            "VMs": ("vm_count",),
            "Provisioned": ("provisioned_vms",),
            "PoolId": ("pool_id",),
            "BillingPlan": ("billing_plan",),
        },
        create_flags=(
            _VMS,
            facts.flag("--swagger-url", "swagger_url"),
            facts.DESCRIPTION,
            facts.TAGS,
        ),
        update_flags=(_VMS, facts.TAGS),
        resize_flag=facts.flag(
            "--vm-count",
            "vm_count",
            text="Virtual machines in the pool; 0 stops the billing and keeps the pool.",
        ),
    ),
)
