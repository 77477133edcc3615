"""Batch jobs: mini-batches in a queue, and attempts at them on the slots of nodes.

`cruise` is where a simulation spends its time: it ends mini-batches whose end is known and begins
the next ones that nobody has touched, until something else comes first. `step` does any other.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from heapq import heappush

from mlctl.simulator.engine import nodes, retry, sampling
from mlctl.simulator.engine.jobs import BatchJob, JobStatus
from mlctl.simulator.engine.state import (
    DONE_FIRST,
    TIMEOUT,
    Cluster,
    EventKind,
    Node,
    World,
    log_event,
)

_LOGGED_AT_ONCE = 512  # so that a log of millions is never in memory
EventKey = tuple[float, int, int]  # the key of the event that comes next elsewhere


def restore(world: World, job: BatchJob) -> None:
    """Put what is under way in order again, after a state was read back."""
    job.attempts_by_end = deque(sorted(job.attempts_by_slot.values()))
    schedule_next(world, job)


def wanted_nodes(job: BatchJob) -> int:
    """R2: the nodes that the job seeks, for the mini-batches that are not over."""
    left = job.total - job.done - job.failed
    slots = job.spec.concurrency
    return min(job.spec.instance_count, (left + slots - 1) // slots)


def can_use_idle_node(job: BatchJob) -> bool:
    """The job has mini-batches that wait, and may have a node more for them."""
    if job.running_nodes >= job.spec.instance_count:
        return False
    return job.next_new < job.total or bool(job.head or job.tail)


def can_use_node(job: BatchJob) -> bool:
    """The job is still on, and can use more nodes than it has."""
    return job.ended is None and job.usable_nodes < job.spec.instance_count


def add_usable_node(world: World, job: BatchJob, node: Node) -> None:
    """A node is one of those that the job can use, whether it has work for it or not."""
    node.job = job.name
    job.usable_nodes += 1
    job.epoch = world.new_epoch()  # whatever R7 was waiting for has come


def start_on_node(world: World, job: BatchJob, node: Node) -> None:
    """An idle node begins to work for the job, on all its slots."""
    if node.job != job.name:
        add_usable_node(world, job, node)
    if job.status is JobStatus.QUEUED:
        job.status = JobStatus.RUNNING
        job.started = world.now
        log_event(world, "JOB_RUNNING", job=job.name)
    job.running_nodes += 1
    sampling.sample_job(world.seed, job)
    first = node.number * job.spec.concurrency
    for slot in range(first, first + job.spec.concurrency):
        _fill_slot(world, job, slot)
    schedule_next(world, job)


def fill_idle_slots(world: World, job: BatchJob) -> None:
    """Begin mini-batches that have come back on the spare slots of working nodes."""
    sampling.sample_job(world.seed, job)
    for slot in sorted(job.idle_slots):
        if not (job.head or job.tail):
            break
        del job.idle_slots[slot]
        _fill_slot(world, job, slot)
    schedule_next(world, job)


def _fill_slot(world: World, job: BatchJob, slot: int) -> bool:
    """Begin the mini-batch whose turn it is on a free slot; False where there is none."""
    batch = _next_mini_batch(job)
    if batch is None:
        job.idle_slots[slot] = None
        return False
    _start_attempt(world, job, batch, slot)
    return True


def _next_mini_batch(job: BatchJob) -> int | None:
    """The mini-batch whose turn it is."""
    if job.head:
        return job.head.popleft()
    if job.next_new < job.total:
        job.next_new += 1
        return job.next_new - 1
    return job.tail.popleft() if job.tail else None


def _start_attempt(world: World, job: BatchJob, batch: int, slot: int) -> None:
    world.number += 1
    seconds, most = job.times[batch], job.spec.timeout_s
    attempt = (
        (world.now + seconds, DONE_FIRST, world.number, batch, slot)
        if seconds <= most
        else (world.now + most, TIMEOUT, world.number, batch, slot)
    )
    job.attempts += 1
    job.attempts_by_slot[slot] = attempt
    if job.attempts_by_end and attempt < job.attempts_by_end[-1]:
        insort(job.attempts_by_end, attempt)
    else:
        job.attempts_by_end.append(attempt)
    retry.log_mini_batch(world, "MB_START", job, batch, slot)


def schedule_next(world: World, job: BatchJob) -> None:
    """See to it that the world looks at the job when its next attempt ends."""
    if job.attempts_by_end and (
        job.scheduled is None or job.attempts_by_end[0][:3] < job.scheduled
    ):
        at, priority, number = job.scheduled = job.attempts_by_end[0][:3]
        heappush(world.queue, (at, priority, number, EventKind.MINI_BATCH_END, job.name, 0, 0))


def fast_forward(world: World, job: BatchJob, until: EventKey) -> None:
    """End attempts that succeed, and begin untouched mini-batches in their place.

    Returns before the first attempt that ends after `until`, fails, or has no successor, and where
    the job may begin to need fewer nodes. Jobs with mini-batches that time out are not for it.
    """
    flight, slots, times, failing = (
        job.attempts_by_end,
        job.attempts_by_slot,
        job.times,
        job.attempts_to_fail,
    )
    fresh, last, end = job.next_new, _fast_forward_end(job), until[0]
    ahead = world.number + 1 - fresh  # of the number of the next event
    detail, stale = world.detail, len(flight) > len(slots)
    if detail:
        last = min(last, fresh + _LOGGED_AT_ONCE)
    latest = flight[-1][0] if flight else 0.0
    while fresh < last and flight:
        attempt = flight.popleft()
        at, _, _, batch, slot = attempt
        if stale and slots.get(slot) is not attempt:
            continue  # it died with its node
        if batch in failing or (at >= end and attempt >= until):
            flight.appendleft(attempt)
            break
        ends = at + times[fresh]
        slots[slot] = begun = (ends, DONE_FIRST, ahead + fresh, fresh, slot)
        if ends >= latest:
            flight.append(begun)
            latest = ends
        else:
            insort(flight, begun)
        if detail:
            world.now = at
            retry.log_mini_batch(world, "MB_DONE", job, batch, slot)
            retry.log_mini_batch(world, "MB_START", job, fresh, slot)
        fresh += 1
    ended = fresh - job.next_new
    job.done += ended
    job.attempts += ended
    job.next_new = fresh
    world.number += ended


def _fast_forward_end(job: BatchJob) -> int:
    """How far untouched mini-batches may be begun before the job may seek fewer nodes."""
    if job.head or job.has_timeouts:
        return job.next_new
    enough = (job.spec.instance_count - 1) * job.spec.concurrency  # for one node fewer
    return min(job.total, job.total + len(job.attempts_by_slot) + len(job.tail) - enough - 1)


def step(world: World, cluster: Cluster, job: BatchJob, until: EventKey) -> bool:
    """End one attempt of the job before `until`, whatever it needs; False where there is none."""
    while job.attempts_by_end and job.attempts_by_end[0] < until:
        attempt = job.attempts_by_end.popleft()
        at, late, _, batch, slot = attempt
        if job.attempts_by_slot.get(slot) is attempt:
            world.now = at
            del job.attempts_by_slot[slot]
            if late:
                retry.fail(world, job, batch, slot, "MB_TIMEOUT")
            elif job.failed_attempts.get(batch, 0) < job.attempts_to_fail.get(batch, 0):
                retry.fail(world, job, batch, slot, "MB_FAIL")
            else:
                retry.succeed(world, job, batch, slot)
            if not retry.end_if_over(world, cluster, job):
                _refill_slot(world, cluster, job, slot)
            return True
    return False


def _refill_slot(world: World, cluster: Cluster, job: BatchJob, slot: int) -> None:
    """A slot takes the mini-batch that is next; where none is left its node may be idle."""
    if _fill_slot(world, job, slot):
        return
    number = slot // job.spec.concurrency
    slots = range(number * job.spec.concurrency, (number + 1) * job.spec.concurrency)
    if job.attempts_by_slot.keys().isdisjoint(slots):
        for each in slots:
            del job.idle_slots[each]
        job.running_nodes -= 1
        nodes.become_idle(world, cluster, cluster.nodes[number])
