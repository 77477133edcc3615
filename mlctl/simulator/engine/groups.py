"""Jobs that consist of others: the steps of a pipeline, the trials of a sweep.

A member begins when all that it needs have completed. `settle` starts it at the end of each event
in which members have ended, so that no event changes clusters other than its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.dataclasses import replace
from mlctl.simulator.engine import autoscaling, batch_pool, capacity, retry, training
from mlctl.simulator.engine.jobs import (
    AnyJob,
    BatchJob,
    ClusterJob,
    GroupJob,
    JobStatus,
    PoolJob,
    TrainingJob,
)
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, GroupSpec, MemberSpec, TrainingSpec
from mlctl.simulator.engine.state import (
    Cluster,
    CoreQuota,
    EventKind,
    World,
    add_job,
    log_event,
    log_job_ended,
    schedule,
)

_OVER = "the maximum run time is over"


def submit(world: World, spec: GroupSpec) -> None:
    """Add a group with all its members, and begin those that need nothing."""
    _begin_group(world, _add_group(world, spec))


def members(world: World, group: GroupJob) -> Iterator[AnyJob]:
    """Yield the members of a group that has not ended, in the order of declaration."""
    return (world.jobs[member.spec.name] for member in group.spec.members)


def settle(world: World) -> None:
    """Continue the groups whose members have ended in this event."""
    while world.ended_members:
        group = world.jobs[world.jobs[world.ended_members.popleft()].group]
        if isinstance(group, GroupJob) and group.ended is None:
            _go_on(world, group)


def end_job(world: World, job: AnyJob, status: JobStatus, reason: str) -> None:
    """Set the final status of a job that has not ended, and of its members with it."""
    if job.ended is not None:
        return
    match job:
        case GroupJob():
            _set_ended(world, job, status, reason)  # first, so that the group does not go on
            for member in list(members(world, job)):
                _stop(world, member, reason)
        case PoolJob():
            batch_pool.end(world, job, status, reason)
        case _ if job.status is JobStatus.NOT_STARTED:
            _set_ended(world, job, status, reason)
        case BatchJob():
            retry.end(world, world.clusters[job.cluster_name], job, status, reason)
        case TrainingJob():
            training.end(world, world.clusters[job.cluster_name], job, status, reason)


def time_out(world: World, group: GroupJob) -> None:
    """Cancel a group whose time is over."""
    end_job(world, group, JobStatus.CANCELED, _OVER)


def _add_group(world: World, spec: GroupSpec) -> GroupJob:
    group = GroupJob(spec.name, world.now, spec=spec, status=JobStatus.NOT_STARTED)
    add_job(world, group)
    for member in spec.members:
        job = _add_member(world, member)
        job.group, job.after, job.reused = spec.name, member.after, member.reused
    return group


def _add_member(world: World, member: MemberSpec) -> AnyJob:
    if isinstance(member.spec, GroupSpec):
        return _add_group(world, member.spec)
    job = add(world, member.spec)
    job.own = member.own or job.own
    return job


def _begin_group(world: World, group: GroupJob) -> None:
    group.status, group.submitted, group.started = JobStatus.RUNNING, world.now, world.now
    log_event(world, "GROUP", job=group.name, members=len(group.spec.members))
    if group.spec.max_runtime_s is not None:
        schedule(world, world.now + group.spec.max_runtime_s, EventKind.DEADLINE, group.name)
    _go_on(world, group)


def _go_on(world: World, group: GroupJob) -> None:
    """Begin members whose turn has come, cancel those that cannot begin, end a finished group."""
    lost = [member.name for member in members(world, group) if _is_lost(member)]
    if lost and not group.spec.goes_on:
        for running in list(members(world, group)):
            _stop(world, running, f"`{lost[0]}` did not complete")
    while _begin_ready(world, group):
        pass  # a member that ends immediately makes room for others
    if all(job.ended is not None for job in members(world, group)):
        _set_ended(world, group, *_outcome(world, group))


def _begin_ready(world: World, group: GroupJob) -> bool:
    """Begin or cancel the members that can be; return whether one has ended immediately."""
    has_ended = False
    for candidate in members(world, group):
        if candidate.status is not JobStatus.NOT_STARTED or _is_full(world, group):
            continue
        needed = [world.jobs[name] for name in candidate.after]
        lost = [job.name for job in needed if _is_lost(job)]
        if lost:
            _stop(world, candidate, f"`{lost[0]}` did not complete")
        elif all(needed_job.status is JobStatus.COMPLETED for needed_job in needed):
            match candidate:
                case _ if candidate.reused:
                    candidate.submitted = candidate.started = world.now
                    _set_ended(world, candidate, JobStatus.COMPLETED, "")
                case GroupJob():
                    _begin_group(world, candidate)
                case BatchJob() | TrainingJob() if (
                    candidate.own or candidate.cluster_name in world.clusters
                ):
                    begin(world, candidate)
                case BatchJob() | TrainingJob():
                    text = f"the cluster `{candidate.cluster_name}` no longer exists"
                    _set_ended(world, candidate, JobStatus.FAILED, text)
                case PoolJob():
                    raise AssertionError(candidate)
        has_ended = has_ended or candidate.ended is not None
    return has_ended


def _is_full(world: World, group: GroupJob) -> bool:
    limit = group.spec.at_once
    if limit is None:
        return False
    begun = (JobStatus.QUEUED, JobStatus.RUNNING)
    return sum(job.status in begun for job in members(world, group)) >= limit


def _stop(world: World, job: AnyJob, reason: str) -> None:
    """Cancel a job; other jobs get its nodes."""
    end_job(world, job, JobStatus.CANCELED, reason)
    if isinstance(job, BatchJob | TrainingJob) and job.cluster_name in world.clusters:
        autoscaling.reconcile(world, world.clusters[job.cluster_name])


def _set_ended(world: World, job: AnyJob, status: JobStatus, reason: str) -> None:
    """End a job that is on no cluster."""
    job.status, job.ended, job.reason = status, world.now, reason
    log_job_ended(world, job)


def _is_lost(job: AnyJob) -> bool:
    return job.status in (JobStatus.FAILED, JobStatus.CANCELED)


def _outcome(world: World, group: GroupJob) -> tuple[JobStatus, str]:
    """Return a group's final status: its members' worst, or their best if any will do."""
    statuses = [job.status for job in members(world, group)]
    order = [JobStatus.FAILED, JobStatus.CANCELED, JobStatus.COMPLETED]
    status = min(statuses, key=order.index)
    if group.spec.any_will_do and JobStatus.COMPLETED in statuses:
        status = JobStatus.COMPLETED
    if status is JobStatus.COMPLETED:
        return status, ""
    first = next(member for member in members(world, group) if member.status is status)
    return status, f"`{first.name}`: {first.reason}"


def create_cluster(world: World, spec: ClusterSpec) -> Cluster:
    """Create a cluster without nodes."""
    time = world.name_uses[spec.name] = world.name_uses.get(spec.name, 0) + 1
    tag = spec.name if time == 1 else f"{spec.name}#{time}"
    capacity.region_capacity(world, spec.region, spec.tier)
    for quota, limit in spec.quotas:
        world.quotas.setdefault(quota, CoreQuota(limit))
    regional = capacity.key_of(spec.region, spec.tier)
    cluster = world.clusters[spec.name] = Cluster(spec, tag, regional, world.now)
    log_event(world, "CLUSTER", cluster=spec.name, min=spec.min_instances, max=spec.max_instances)
    return cluster


def add(world: World, spec: BatchSpec | TrainingSpec) -> ClusterJob:
    """Create a job that has not begun."""
    job: ClusterJob
    if isinstance(spec, BatchSpec):
        job = BatchJob(spec.name, world.now, spec=spec, total=spec.mini_batches)
    else:
        own_cluster = spec.serverless
        job = TrainingJob(spec.name, world.now, own=own_cluster, spec=spec)
        job.step = job.saved = spec.first
    job.status = JobStatus.NOT_STARTED
    add_job(world, job)
    return job


def begin(world: World, job: ClusterJob) -> None:
    """Queue a job on its cluster, which exists; its own cluster is created."""
    cluster = world.clusters[job.cluster_name] if job.own is None else _own(world, job, job.own)
    job.tier, job.cores, job.price = cluster.spec.tier, cluster.spec.cores, cluster.spec.price
    job.status, job.submitted = JobStatus.QUEUED, world.now
    cluster.jobs.append(job.name)
    of = {"mini_batches": job.total} if isinstance(job, BatchJob) else {"steps": job.spec.steps}
    log_event(world, "SUBMIT", job=job.name, cluster=cluster.spec.name, **of)
    instances, limit = job.spec.instance_count, cluster.spec.max_instances
    if isinstance(job, BatchJob) and instances > limit:
        log_event(world, "WARNING", job=job.name, instances=instances, runs_with=limit)
    autoscaling.reconcile(world, cluster)


def _own(world: World, job: ClusterJob, spec: ClusterSpec) -> Cluster:
    instances = job.spec.instance_count
    bounds = replace(spec, min_instances=0, max_instances=instances, ephemeral=True)
    return create_cluster(world, bounds)
