"""AmlCompute clusters."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import catalog
from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_SCALING = {"size", "min_instances", "max_instances", "idle_time_before_scale_down"}
# As recorded (compute-get-after-create, compute-patch-scale); no request sends them.
_OWN = ("modifiedOn", "resourceId", "computeLocation", "isAttachedCompute", "provisioningWarnings")
_UNSENT = {"isolatedNetwork": False, "enableBatchPrivateLink": False, "propertyBag": {}}
_OWN_OF_NODES = ("nodeStateCounts", "allocationStateTransitionTime", "errors")


def _claims(value: facts.Effective, region: str) -> facts.Claims:
    """A cluster counts with `max_instances`, and must be able to start `max(min_instances, 1)`.

    Dedicated cores count toward their VM family and the total, as do low-priority ones, whose
    families usually have no limits.
    """
    nodes = _nodes(value)
    cluster: facts.Claims = {(region, limits.COMPUTES_QUOTA): facts.Claim()}
    size = catalog.size_of(nodes.size) if nodes else None
    if size is None or nodes is None:
        return cluster
    cores = facts.Claim(nodes.most * size.vcpus, max(nodes.least, 1) * size.vcpus, size.vcpus)
    if nodes.low_priority:
        family = limits.low_priority_of(size.family)
        return {**cluster, (region, family): cores, (region, limits.LOW_PRIORITY_QUOTA): cores}
    return {**cluster, (region, size.family): cores, (region, limits.DEDICATED_QUOTA): cores}


def _nodes(value: facts.Effective) -> facts.NodeRange | None:
    least, maximum = value("min_instances"), value("max_instances")
    if not isinstance(maximum, int):
        return None
    low_priority = facts.is_low_priority(value("tier"))
    first = least if isinstance(least, int) else 0
    return facts.NodeRange(str(value("size")), low_priority, first, maximum)


def _inferred(data: Mapping[str, Data]) -> bool:
    kind = str(data.get("type", "")).casefold()
    return kind == "amlcompute" or (not kind and len(data.keys() & _SCALING) > 1)


KIND = Kind(
    name="compute",
    schema_name="amlCompute",
    collection="computes",
    inferred=_inferred,
    arm=facts.ArmFacts(
        tracked=True,
        unique_in_region=True,
        shared_with=("compute-instance",),
        live_type=(("properties", "computeType"), "AmlCompute"),
        patchable=(("properties", "properties", "scaleSettings"),),
        service_fields=(
            *(("properties", key) for key in _OWN),
            *(("properties", "properties", key) for key in _OWN_OF_NODES),
        ),
        unsent={("properties", "properties", key): value for key, value in _UNSENT.items()},
        patched=True,  # no GET returns the administrator's password
        delete_query={"underlyingResourceAction": "Delete"},
        delay="compute",
    ),
    quota=facts.QuotaFacts(
        claims=_claims,
        has_nodes=True,
        nodes=_nodes,
        vm_size=("size",),
        scaled_by=("max_instances",),
    ),
    plan=facts.PlanFacts(
        may_be_renamed=True,
        named_in_jobs=("computeId", "default_compute", "azureml.defaultComputeName"),
        ends_jobs=True,
        loss="its nodes are released, and the jobs that run on them are lost",
    ),
)
