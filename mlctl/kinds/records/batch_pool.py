"""Batch Pools of Machine Learning Studio (classic), a retired service: simulated only."""

from __future__ import annotations

from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind

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
)
