"""Batch Pools of Machine Learning Studio (classic), a retired service: simulated only."""

from __future__ import annotations

from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind

_VMS = facts.flag("--vm-count", "vm_count")


KIND = Kind(
    name="batch-pool",
    schema_name="batchPool",
    collection="batchPools",
    inferred=lambda data: "vm_count" in data and "swagger_url" in data,
    arm=facts.ArmFacts(hosted=False, delay="pool"),  # the service had no ARM resource
    quota=facts.QuotaFacts(
        claims=lambda *_: {(limits.EVERYWHERE, limits.BATCH_POOLS_QUOTA): facts.Claim()},
        capped={limits.VMS_PER_POOL_QUOTA: ("vm_count",)},
    ),
    az=facts.AzFacts(
        present=False,
        table=(
            "Name State=provisioning_state VMs=vm_count Provisioned=provisioned_vms "
            "PoolId=pool_id BillingPlan=billing_plan"
        ),
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
