"""Batch jobs: a queue of mini-batches, and attempts at them on the slots of nodes.

A simulation spends its time in `fast_forward`, which completes attempts that succeed and starts new
mini-batches in their place without an event for each. `step` handles any other end of an attempt.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from heapq import heappush
from itertools import repeat
from math import inf, nextafter

from mlctl.simulator.engine import nodes, retry, rules, sampling
from mlctl.simulator.engine.jobs import BatchJob, JobStatus
from mlctl.simulator.engine.state import (
    DONE_FIRST,
    TIMEOUT,
    Cluster,
    EventKind,
    Node,
    World,
    log_event,
    schedule,
)

_QUEUED, _MINI_BATCH_END = JobStatus.QUEUED, EventKind.MINI_BATCH_END
_LEAST_PROGRESS_S = 600.0
_EVER_S = 1e8  # later than any simulated job, so that no event keeps a clock running needlessly
_MANY_ROUNDS = 2  # fewer are quicker attempt by attempt
_LOGGED_AT_ONCE = 512  # mini-batches; limits the log in memory
EventKey = tuple[float, int, int]  # (time, priority, number) of an event


def wanted_nodes(job: BatchJob) -> int:
    """R2: the number of nodes that the remaining mini-batches can use."""
    remaining = job.total - job.done - job.failed
    return rules.useful_nodes(remaining, job.spec.concurrency, job.spec.instance_count)


def can_use_idle_node(job: BatchJob) -> bool:
    """Whether mini-batches wait and the job may run on one more node."""
    if job.running_nodes >= job.spec.instance_count:
        return False
    return job.next_new < job.total or bool(job.head or job.tail)


def can_use_node(job: BatchJob) -> bool:
    """Whether the job has not ended and may have one more node."""
    return job.ended is None and job.usable_nodes < job.spec.instance_count


def add_usable_node(world: World, job: BatchJob, node: Node) -> None:
    """Count a node as usable for the job, whether or not there is a mini-batch for it."""
    node.job = job.name
    job.usable_nodes += 1
    world.epoch = job.epoch = world.epoch + 1  # voids a cancellation that R7 scheduled


def start_on_node(world: World, job: BatchJob, node: Node) -> None:
    """Start mini-batches of the job on all slots of an idle node, once its processes run there."""
    if node.job != job.name:
        add_usable_node(world, job, node)
    if job.status is _QUEUED:
        job.status = JobStatus.RUNNING
        job.started = world.now
        log_event(world, "JOB_RUNNING", job=job.name)
        _schedule_stall(world, job, world.now)
    job.running_nodes += 1
    seconds, is_there = job.spec.workload.per_start_s, node.entered == job.name
    node.entered = job.name
    if is_there or seconds == 0:
        _fill_node(world, job, node)
    else:
        job.starting[node.number] = world.now
        at, name = world.now + seconds, job.spec.cluster
        schedule(world, at, EventKind.NODE_STARTED, name, node.number, node.epoch)


def node_started(world: World, cluster: Cluster, node: Node) -> None:
    """Start mini-batches on a node whose processes are now running; it idles if there are none."""
    job = world.jobs[node.job]
    if isinstance(job, BatchJob):
        del job.starting[node.number]
        nodes.log_node_event(world, "STARTED", cluster, node, job=job.name)
        _fill_node(world, job, node)
        _rest_if_idle(world, cluster, job, node.number)


def _fill_node(world: World, job: BatchJob, node: Node) -> None:
    first = node.number * job.spec.concurrency
    for slot in range(first, first + job.spec.concurrency):
        _fill_slot(world, job, slot)
    schedule_next(world, job)


def fill_idle_slots(world: World, job: BatchJob) -> None:
    """Start mini-batches that returned to the queue on idle slots of running nodes."""
    for slot in sorted(job.idle_slots):
        if not (job.head or job.tail):
            break
        del job.idle_slots[slot]
        _fill_slot(world, job, slot)
    schedule_next(world, job)


def _fill_slot(world: World, job: BatchJob, slot: int) -> bool:
    """Start the next mini-batch on an idle slot; return False if there is none."""
    if job.head:
        batch = job.head.popleft()
    elif job.next_new < job.total:
        batch = job.next_new
        job.next_new += 1
    elif job.tail:
        batch = job.tail.popleft()
    else:
        job.idle_slots[slot] = None
        return False
    if not job.attempts:
        job.last_progress = world.now
    if len(job.times) < job.next_new:
        sampling.sample_job(world.seed, job)
    world.number += 1
    seconds, limit = job.times[batch], job.spec.timeout_s
    late = seconds > limit
    end, priority = world.now + (limit if late else seconds), TIMEOUT if late else DONE_FIRST
    attempt = (end, priority, world.number, batch, slot)
    if not job.attempts_by_end or job.attempts_by_end[-1] < attempt:
        job.attempts_by_end.append(attempt)
    else:
        insort(job.attempts_by_end, attempt)
    job.attempts += 1
    if world.detail:
        retry.log_mini_batch(world, "MB_START", job, batch, slot)
    return True


def schedule_next(world: World, job: BatchJob) -> None:
    """Schedule an event for the job's next end of an attempt, unless one is that early already."""
    if job.attempts_by_end:
        first = job.attempts_by_end[0]
        if job.scheduled is None or first < job.scheduled:
            at, priority, number, _, _ = first
            job.scheduled = (at, priority, number)
            heappush(world.queue, (at, priority, number, _MINI_BATCH_END, job.name, 0, 0))


def fast_forward(world: World, job: BatchJob, horizon: EventKey) -> None:
    """Complete attempts that succeed, and start queued mini-batches in their place.

    Returns before the first attempt that ends after `horizon`, fails, or has no successor, and
    before the job may need fewer nodes, or begins what times out.
    """
    spec, work, head, total = job.spec, job.spec.workload, job.head, job.total
    needed = (spec.instance_count - 1) * spec.concurrency + 1  # mini-batches, for all nodes
    most = min(total - job.done - job.failed - needed, len(head) + total - job.next_new)
    while most > 0 and job.attempts_by_end:
        if job.next_new == len(job.times) and not head:
            sampling.sample_more(job)
        varies = bool(job.attempts_to_fail or job.has_timeouts or work.cv or work.trace)
        if head or varies or world.detail or job.next_new == total - 1:
            queued = [*head] or range(job.next_new, len(job.times))
            begun = _advance_one_by_one(world, job, queued[:most], horizon)
        else:
            queued = range(job.next_new, total - 1)  # all but the last, which may be shorter
            begun = _advance_by_rounds(world, job, queued[:most], horizon)
        job.done += begun
        job.attempts += begun
        world.number += begun
        most -= begun
        if head:
            for _ in range(begun):
                head.popleft()
        else:
            job.next_new += begun
        if begun < len(queued) or world.detail:
            break


def _advance_one_by_one(
    world: World, job: BatchJob, queued: Sequence[int], horizon: EventKey
) -> int:
    """`fast_forward` of any mini-batches; return how many have begun."""
    attempts, times, end, detail = job.attempts_by_end, job.times, horizon[0], world.detail
    failing, limit = job.attempts_to_fail, job.spec.timeout_s
    is_smooth = not (failing or job.has_timeouts)
    latest = attempts[-1][0]  # what ends then or later comes last, unless a timeout is there
    if attempts[-1][1] != DONE_FIRST:
        latest = nextafter(latest, inf)
    for number, fresh in enumerate(queued, world.number + 1):
        attempt = attempts[0]
        at, late, _, batch, slot = attempt
        if at >= end and attempt >= horizon:
            return number - world.number - 1
        seconds = times[fresh]
        if not is_smooth and (late or batch in failing or seconds > limit):
            return number - world.number - 1
        del attempts[0]
        ends = at + seconds
        begun = (ends, DONE_FIRST, number, fresh, slot)
        if ends >= latest:
            attempts.append(begun)
            latest = ends
        else:
            insort(attempts, begun)
        if detail:
            world.now = at
            retry.log_mini_batch(world, "MB_DONE", job, batch, slot)
            retry.log_mini_batch(world, "MB_START", job, fresh, slot)
    return len(queued)


def _advance_by_rounds(world: World, job: BatchJob, queued: range, horizon: EventKey) -> int:
    """`fast_forward` of mini-batches that take equally long; return how many have begun.

    Attempts end in the order in which they began, so slots take turns. Of whole rounds only the
    times are computed, added up one by one, as the clock does.
    """
    attempts, seconds, whole = job.attempts_by_end, job.times[0], 0
    end = horizon[0] if horizon[1] == DONE_FIRST else nextafter(horizon[0], inf)
    size, number = len(attempts), world.number + 1
    if attempts[-1][0] + _MANY_ROUNDS * seconds < end and size <= len(queued):
        ends = [attempt[0] for attempt in attempts]
        while ends[-1] < end and whole + size <= len(queued):
            ends = [at + seconds for at in ends]
            whole += size
        numbers, batches = range(number + whole - size, number + whole), queued[whole - size :]
        slots = [attempt[4] for attempt in attempts]
        attempts[:] = zip(ends, repeat(DONE_FIRST), numbers, batches, slots, strict=False)
    begun = whole
    for (at, _, _, _, slot), fresh in zip(attempts, queued[whole:], strict=False):
        if at >= end:
            break
        attempts.append((at + seconds, DONE_FIRST, number + begun, fresh, slot))
        begun += 1
    del attempts[: begun - whole]
    return begun


def step(world: World, cluster: Cluster, job: BatchJob, horizon: EventKey) -> bool:
    """End the job's next attempt, if it ends before `horizon`; return whether there was one."""
    if not job.attempts_by_end or job.attempts_by_end[0] >= horizon:
        return False
    at, late, _, batch, slot = job.attempts_by_end.pop(0)
    world.now = job.last_progress = at
    failures = job.attempts_to_fail
    if late:
        retry.fail(world, job, batch, slot, "MB_TIMEOUT")
    elif failures and job.failed_attempts.get(batch, 0) < failures.get(batch, 0):
        retry.fail(world, job, batch, slot, "MB_FAIL")
    else:
        retry.succeed(world, job, batch, slot)
    if not (retry.end_if_over(world, cluster, job) or _fill_slot(world, job, slot)):
        _rest_if_idle(world, cluster, job, slot // job.spec.concurrency)
    return True


def _rest_if_idle(world: World, cluster: Cluster, job: BatchJob, number: int) -> None:
    """Make the node of this number idle if nothing runs there."""
    slots = range(number * job.spec.concurrency, (number + 1) * job.spec.concurrency)
    if job.idle_slots.keys() >= {*slots}:
        for idle_slot in slots:
            del job.idle_slots[idle_slot]
        job.running_nodes -= 1
        nodes.become_idle(world, cluster, cluster.nodes[number])


def stall_due(world: World, cluster: Cluster, job: BatchJob) -> None:
    """Fail a job that has made no progress for too long; otherwise check again later.

    `first_task_creation_timeout` is "the time between the job start to the run of first
    mini-batch", `progress_update_timeout` "for monitoring the progress of mini-batch execution"
    (parallel jobs, Microsoft Learn).
    """
    first, limit = world.settings.first_task_creation_timeout_s or inf, _progress_limit(world, job)
    if job.attempts:
        sampling.sample_job(world.seed, job)
        times, longest = job.times, job.spec.timeout_s
        began = [at - min(times[batch], longest) for at, _, _, batch, _ in job.attempts_by_end]
        last = max(job.last_progress, *began, 0.0)
        reason = f"no mini-batch began or ended for {limit:g} s (progress_update_timeout)"
    else:
        last, limit = job.started or 0.0, first
        reason = f"no mini-batch began within {limit:g} s of the start"
        reason += " (first_task_creation_timeout)"
    if last + limit <= world.now:
        retry.end(world, cluster, job, JobStatus.FAILED, reason)
    else:
        _schedule_stall(world, job, last)


def _schedule_stall(world: World, job: BatchJob, last: float) -> None:
    """Schedule the next progress check of a job; it is later than now."""
    limit = _progress_limit(world, job)
    if job.attempts:
        at = last + limit
    else:  # a mini-batch that begins now has the full second limit
        first = world.settings.first_task_creation_timeout_s or inf
        at = min(last + first, world.now + limit)
    if at < _EVER_S:
        schedule(world, at, EventKind.STALL_DUE, job.name)


def _progress_limit(world: World, job: BatchJob) -> float:
    """`progress_update_timeout`; derived, the longest that a mini-batch can take (A)."""
    limit = world.settings.progress_update_timeout_s
    if limit is not None:
        return limit or inf
    return max(_LEAST_PROGRESS_S, job.spec.max_retries * job.spec.timeout_s)
