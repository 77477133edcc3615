"""What a job that has not begun waits for, as far as its cluster and the quotas tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl import catalog
from mlctl.backends.azure import capacity, errors
from mlctl.backends.azure.arm import ArmClient
from mlctl.backends.azure.reads import resource_path
from mlctl.backends.ports.jobs import Job
from mlctl.catalog import limits
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import is_low_priority
from mlctl.pointer import Data, get
from mlctl.service_errors import ServiceError

_BEFORE = ("NotStarted", "Queued", "Preparing", "Provisioning", "Starting")


def with_reasons(arm: ArmClient, scope: Scope, job: Job) -> Job:
    """The job with what it waits for; as it is where that is unknown."""
    properties = job.body["properties"]
    if job.status not in _BEFORE:
        return job
    try:
        with errors.answers_decoded():
            cluster = _cluster(arm, scope, properties)
            reasons = "; ".join(_reasons(arm, scope, cluster)) if cluster else ""
    except ServiceError:
        return job
    run = {"run": {"waits_for": reasons}} if reasons else {}
    return Job(job.name, {**job.body, "properties": {**properties, **run}})


def _cluster(arm: ArmClient, scope: Scope, job: Mapping[str, Data]) -> Mapping[str, Data] | None:
    """The cluster of a job; a job of an endpoint has that of its deployment (recorded)."""
    compute_id = job.get("computeId")
    if not compute_id and job.get("deploymentName"):
        owner = Address("batch-deployment", str(job["deploymentName"]), str(job["endpointName"]))
        compute_id = get(arm.get(resource_path(owner, scope)), ("properties", "compute"))
    name = str(compute_id or "").rpartition("/")[2]
    return arm.get(resource_path(Address("compute", name), scope)) if name else None


def _reasons(arm: ArmClient, scope: Scope, body: Mapping[str, Data]) -> Iterator[str]:
    inner = get(body, ("properties", "properties")) or {}
    current, sought = (
        int(inner.get(f"{prefix}NodeCount") or 0) for prefix in ("current", "target")
    )
    if current >= sought > 0:
        yield "nodes that other jobs of the cluster have"
        return
    if inner.get("allocationState") == "Resizing" and not sought:
        yield "a resource lock holds the cluster: resizing (0 -> 0)"
    else:
        yield f"nodes: {current} of {sought} allocated"
    for entry in errors.objects(inner.get("errors"), "errors"):
        error = entry.get("error") or entry
        yield errors.redact(f"({error.get('code')}) {error.get('message')}")
    low = is_low_priority(inner.get("vmPriority"))
    counted, noun = (
        (limits.LOW_PRIORITY_QUOTA, "low-priority")
        if low
        else (limits.DEDICATED_QUOTA, "dedicated")
    )
    for quota in capacity.usage(arm, scope, catalog.region(body["location"])):
        if quota.family == counted and quota.limit is not None and quota.used >= quota.limit:
            yield f"quota: {quota.used} of {quota.limit} {noun} cores are used"
