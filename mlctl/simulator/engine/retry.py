"""Retries of mini-batches whose attempt failed or was cut off, and how batch jobs end."""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter

from mlctl.simulator.engine import nodes, rules, sampling
from mlctl.simulator.engine.jobs import AnyJob, BatchJob, JobStatus
from mlctl.simulator.engine.model import PreemptedJob, QueueEnd, SingleNode
from mlctl.simulator.engine.state import (
    Cluster,
    EventKind,
    Node,
    NodeState,
    World,
    log_event,
    log_job_ended,
    schedule,
)

_JOB, _TAIL = SingleNode.JOB, QueueEnd.TAIL
PREEMPTION_ERROR = "PreemptionError: Nodes of this job got pre-empted"


def succeed(world: World, job: BatchJob, batch: int, slot: int) -> None:
    """Complete a mini-batch."""
    job.done += 1
    _drop_counters(job, batch)
    if world.detail:
        log_mini_batch(world, "MB_DONE", job, batch, slot)


def fail(world: World, job: BatchJob, batch: int, slot: int, event: str) -> None:
    """R9, R10: retry a mini-batch whose attempt failed, or fail it. `event` is logged."""
    log_mini_batch(world, event, job, batch, slot)
    job.failed_attempts[batch] = job.failed_attempts.get(batch, 0) + 1
    _requeue(world, job, [batch], world.settings.failed_goes_to)


def _requeue(world: World, job: BatchJob, batches: list[int], to: QueueEnd) -> None:
    """Queue mini-batches that may be retried; the others have failed."""
    if not batches:
        return
    settings, spec = world.settings, job.spec
    tries = max(spec.max_retries, 1) if settings.retries_are_tries else spec.max_retries + 1
    again = []
    for batch in batches:
        used = job.failed_attempts.get(batch, 0)
        if settings.preemption_counts_as_try:
            used += job.lost_attempts.get(batch, 0)
        if used < tries:
            again.append(batch)
        else:
            job.failed += 1
            job.failed_files += spec.files_in(batch)
            _drop_counters(job, batch)
    if to is _TAIL:
        job.tail.extend(again)
    else:
        job.head.extendleft(reversed(again))


def _drop_counters(job: BatchJob, batch: int) -> None:
    """Drop the counters of a mini-batch that is over."""
    if job.failed_attempts:
        job.failed_attempts.pop(batch, None)
    if job.lost_attempts:
        job.lost_attempts.pop(batch, None)


def end_if_over(world: World, cluster: Cluster, job: BatchJob) -> bool:
    """R11, R12: end the job if it is over; return whether it has ended."""
    threshold = job.spec.error_threshold
    if 0 <= threshold < job.failed_files:
        reason = f"{job.failed_files} files failed, more than the error threshold of {threshold}"
        end(world, cluster, job, JobStatus.FAILED, reason)
    elif job.done + job.failed == job.total:
        end(world, cluster, job, JobStatus.COMPLETED)
    return job.ended is not None


def node_lost(world: World, cluster: Cluster, job: BatchJob, node: Node) -> None:
    """R5, R6: requeue the mini-batches that ran on a lost node; completed ones stay completed."""
    sampling.sample_job(world.seed, job)
    slots = job.spec.concurrency
    started = job.starting.pop(node.number, None)
    if started is not None:
        job.lost_node_s += world.now - started
    first, stop = node.number * slots, (node.number + 1) * slots
    for slot in range(first, stop):
        job.idle_slots.pop(slot, None)
    lost = [attempt for attempt in job.attempts_by_end if first <= attempt[4] < stop]
    lost.sort(key=itemgetter(4))
    batches, starts = [], []
    for attempt in lost:
        del job.attempts_by_end[bisect_left(job.attempts_by_end, attempt)]
        at, _, _, batch, slot = attempt
        starts.append(at - min(job.times[batch], job.spec.timeout_s))
        job.lost_attempts[batch] = job.lost_attempts.get(batch, 0) + 1
        batches.append(batch)
        log_mini_batch(world, "MB_LOST", job, batch, slot)
    job.last_progress = max(job.last_progress, *starts, 0.0)
    job.lost_node_s += rules.lost_node_s(world.now, starts, slots)
    job.running_nodes -= bool(batches) or started is not None
    job.usable_nodes -= 1
    _requeue(world, job, batches, world.settings.preempted_goes_to)
    end_if_over(world, cluster, job)


def node_preempted(world: World, cluster: Cluster, job: BatchJob | None) -> None:
    """R7: cancel the jobs that have lost their last usable node, after the grace period.

    `job` ran on the node that was lost. With `single_node=cluster` a job loses its last node when
    no node of the cluster is usable any more, whatever job that one ran.
    """
    cancels = world.settings.cancel_when_preempted
    if not cancels:
        return
    candidates: list[AnyJob] = []
    if world.settings.single_node is _JOB:
        candidates = [job] if job is not None else []
    elif not nodes.any_usable(cluster):
        candidates = [world.jobs[name] for name in cluster.jobs]
    for candidate in candidates:
        if isinstance(candidate, BatchJob) and candidate.ended is None:
            had_nodes = candidate is job or candidate.started is not None  # R7b
            if rules.lost_last_node(candidate.usable_nodes, cancels=cancels, was_usable=had_nodes):
                _cancel_after_grace(world, cluster, candidate)


def _cancel_after_grace(world: World, cluster: Cluster, job: BatchJob) -> None:
    if world.settings.cancel_grace_s > 0:
        at = world.now + world.settings.cancel_grace_s
        schedule(world, at, EventKind.CANCEL_DUE, job.name, epoch=job.epoch)
    else:
        cancel_without_nodes(world, cluster, job)


def cancel_without_nodes(world: World, cluster: Cluster, job: BatchJob) -> None:
    """End a job without usable nodes, as in R7."""
    reason = _why_without_nodes(cluster)
    if world.settings.preempted_job_ends is PreemptedJob.FAILED:
        end(world, cluster, job, JobStatus.FAILED, f"{PREEMPTION_ERROR} ({reason})")
    else:
        end(world, cluster, job, JobStatus.CANCELED, reason)


def _why_without_nodes(cluster: Cluster) -> str:
    if nodes.any_usable(cluster):
        return "all nodes of the job were preempted, if not of its cluster: submit it again"
    last = "the only node" if cluster.spec.max_instances == 1 else "the last usable node"
    return f"{last} of the cluster was preempted, so there is no capacity to run: submit it again"


def end(world: World, cluster: Cluster, job: BatchJob, status: JobStatus, reason: str = "") -> None:
    """Set the job's final status; its nodes become idle."""
    job.status, job.reason, job.ended = status, reason, world.now
    cluster.jobs.remove(job.name)
    for collection in (
        job.head,
        job.tail,
        job.attempts_by_end,
        job.starting,
        job.idle_slots,
        job.failed_attempts,
        job.lost_attempts,
    ):
        collection.clear()
    for derived in (job.times, job.attempts_to_fail):
        derived.clear()
    job.running_nodes = job.usable_nodes = 0
    job.scheduled = job.samples = None
    for state in (NodeState.IDLE, NodeState.RUNNING):
        for node in list(cluster.nodes_by_state[state].values()):
            if node.job == job.name:
                node.job = node.entered = ""
                if state is NodeState.RUNNING:
                    nodes.become_idle(world, cluster, node)
                elif not world.settings.release_idle_nodes:
                    nodes.set_state(world, cluster, node, state)  # idle from now on
    log_job_ended(world, job)


def log_mini_batch(world: World, event: str, job: BatchJob, batch: int, slot: int) -> None:
    """Log an event of a mini-batch, if those are logged."""
    if world.detail:
        node = slot // job.spec.concurrency
        log_event(world, event, job=job.name, mini_batch=batch, node=node)
