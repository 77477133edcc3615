"""Compute instances: virtual machines for development, in the same collection as clusters."""

from __future__ import annotations

from mlctl import catalog
from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind


def _claims(value: facts.Effective, region: str) -> facts.Claims:
    """An instance counts as one dedicated node, stopped or not."""
    claims: facts.Claims = {(region, limits.COMPUTES_QUOTA): facts.Claim()}
    size = catalog.size_of(str(value("size")))
    if size is None:
        return claims
    cores = facts.Claim(size.vcpus, size.vcpus, size.vcpus)
    return {**claims, (region, size.family): cores, (region, limits.DEDICATED_QUOTA): cores}


KIND = Kind(
    name="compute-instance",
    schema_name="computeInstance",
    collection="computes",
    inferred=lambda data: str(data.get("type", "")).casefold() == "computeinstance",
    arm=facts.ArmFacts(
        within="compute",
        tracked=True,
        unique_in_region=True,
        live_type=(("properties", "computeType"), "ComputeInstance"),
        # how-to-create-compute-instance, "Configure idle shutdown"
        posted=(
            (("properties", "properties", "idleTimeBeforeShutdown"), "updateIdleShutdownSetting"),
        ),
        delete_query={"underlyingResourceAction": "Delete"},
        delay="compute",
    ),
    quota=facts.QuotaFacts(
        claims=_claims,
        nodes=lambda value: facts.NodeRange(str(value("size")), False, 1, 1),  # noqa: FBT003
        vm_size=("size",),
    ),
    plan=facts.PlanFacts(
        named_in_jobs=("computeId",),
        ends_jobs=True,
        loss="its disk is deleted with it, including users' files",
    ),
)
