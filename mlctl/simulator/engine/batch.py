"""Batch jobs: mini-batches in a queue, and attempts at them on the slots of nodes.

`cruise` is where a simulation spends its time: it ends mini-batches whose end is known and begins
the next ones that nobody has touched, until something else comes first. `step` does any other.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from heapq import heappush

from mlctl.simulator.engine import nodes, retry, sampling
from mlctl.simulator.engine.jobs import BatchJob, Status
from mlctl.simulator.engine.state import (
    DONE_FIRST,
    TIMEOUT,
    Cluster,
    Kind,
    Node,
    World,
    tell,
)

_TOLD_AT_ONCE = 512  # so that a log of millions is never in memory
Until = tuple[float, int, int]  # the key of the event that comes next elsewhere


def revive(world: World, job: BatchJob) -> None:
    """Put what is under way in order again, after a state was read back."""
    job.flight = deque(sorted(job.work.values()))
    announce(world, job)


def wanted(job: BatchJob) -> int:
    """R2: the nodes that the job seeks, for the mini-batches that are not over."""
    left = job.total - job.done - job.failed
    slots = job.spec.concurrency
    return min(job.spec.instance_count, (left + slots - 1) // slots)


def is_hungry(job: BatchJob) -> bool:
    """The job has mini-batches that wait, and may have a node more for them."""
    if job.running >= job.spec.instance_count:
        return False
    return job.fresh < job.total or bool(job.head or job.tail)


def may_have_more(job: BatchJob) -> bool:
    """The job is still on, and can use more nodes than it has."""
    return job.ended is None and job.members < job.spec.instance_count


def adopt(world: World, job: BatchJob, node: Node) -> None:
    """A node is one of those that the job can use, whether it has work for it or not."""
    node.job = job.name
    job.members += 1
    job.epoch = world.new_epoch()  # whatever R7 was waiting for has come


def join(world: World, job: BatchJob, node: Node) -> None:
    """An idle node begins to work for the job, on all its slots."""
    if node.job != job.name:
        adopt(world, job, node)
    if job.status is Status.QUEUED:
        job.status = Status.RUNNING
        job.started = world.now
        tell(world, "JOB_RUNNING", job=job.name)
    job.running += 1
    sampling.draw(world.seed, job)
    first = node.number * job.spec.concurrency
    for slot in range(first, first + job.spec.concurrency):
        _fill(world, job, slot)
    announce(world, job)


def refill(world: World, job: BatchJob) -> None:
    """Begin mini-batches that have come back on the spare slots of working nodes."""
    sampling.draw(world.seed, job)
    for slot in sorted(job.spare):
        if not (job.head or job.tail):
            break
        del job.spare[slot]
        _fill(world, job, slot)
    announce(world, job)


def _fill(world: World, job: BatchJob, slot: int) -> bool:
    """Begin the mini-batch whose turn it is on a free slot; False where there is none."""
    batch = _take(job)
    if batch is None:
        job.spare[slot] = None
        return False
    _begin(world, job, batch, slot)
    return True


def _take(job: BatchJob) -> int | None:
    """The mini-batch whose turn it is."""
    if job.head:
        return job.head.popleft()
    if job.fresh < job.total:
        job.fresh += 1
        return job.fresh - 1
    return job.tail.popleft() if job.tail else None


def _begin(world: World, job: BatchJob, batch: int, slot: int) -> None:
    world.number += 1
    seconds, most = job.times[batch], job.spec.timeout_s
    attempt = (
        (world.now + seconds, DONE_FIRST, world.number, batch, slot)
        if seconds <= most
        else (world.now + most, TIMEOUT, world.number, batch, slot)
    )
    job.attempts += 1
    job.work[slot] = attempt
    if job.flight and attempt < job.flight[-1]:
        insort(job.flight, attempt)
    else:
        job.flight.append(attempt)
    retry.tell_of(world, "MB_START", job, batch, slot)


def announce(world: World, job: BatchJob) -> None:
    """See to it that the world looks at the job when its next attempt ends."""
    if job.flight and (job.due is None or job.flight[0][:3] < job.due):
        at, priority, number = job.due = job.flight[0][:3]
        heappush(world.queue, (at, priority, number, Kind.WORK, job.name, 0, 0))


def cruise(world: World, job: BatchJob, until: Until) -> None:
    """End attempts that succeed, and begin untouched mini-batches in their place.

    Returns before the first attempt that ends after `until`, fails, or has no successor, and where
    the job may begin to need fewer nodes. Jobs with mini-batches that time out are not for it.
    """
    flight, slots, times, failing = job.flight, job.work, job.times, job.failing
    fresh, last, end = job.fresh, _cruise_end(job), until[0]
    ahead = world.number + 1 - fresh  # of the number of the next event
    detail, stale = world.detail, len(flight) > len(slots)
    if detail:
        last = min(last, fresh + _TOLD_AT_ONCE)
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
            retry.tell_of(world, "MB_DONE", job, batch, slot)
            retry.tell_of(world, "MB_START", job, fresh, slot)
        fresh += 1
    ended = fresh - job.fresh
    job.done += ended
    job.attempts += ended
    job.fresh = fresh
    world.number += ended


def _cruise_end(job: BatchJob) -> int:
    """How far untouched mini-batches may be begun before the job may seek fewer nodes."""
    if job.head or job.late:
        return job.fresh
    enough = (job.spec.instance_count - 1) * job.spec.concurrency  # for one node fewer
    return min(job.total, job.total + len(job.work) + len(job.tail) - enough - 1)


def step(world: World, cluster: Cluster, job: BatchJob, until: Until) -> bool:
    """End one attempt of the job before `until`, whatever it needs; False where there is none."""
    while job.flight and job.flight[0] < until:
        attempt = job.flight.popleft()
        at, late, _, batch, slot = attempt
        if job.work.get(slot) is attempt:
            world.now = at
            del job.work[slot]
            if late:
                retry.fail(world, job, batch, slot, "MB_TIMEOUT")
            elif job.tries.get(batch, 0) < job.failing.get(batch, 0):
                retry.fail(world, job, batch, slot, "MB_FAIL")
            else:
                retry.succeed(world, job, batch, slot)
            if not retry.judge(world, cluster, job):
                _go_on(world, cluster, job, slot)
            return True
    return False


def _go_on(world: World, cluster: Cluster, job: BatchJob, slot: int) -> None:
    """A slot takes the mini-batch that is next; where none is left its node may be idle."""
    if _fill(world, job, slot):
        return
    number = slot // job.spec.concurrency
    slots = range(number * job.spec.concurrency, (number + 1) * job.spec.concurrency)
    if job.work.keys().isdisjoint(slots):
        for each in slots:
            del job.spare[each]
        job.running -= 1
        nodes.rest(world, cluster, cluster.nodes[number])
