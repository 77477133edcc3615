"""Batch jobs: mini-batches in a queue, and attempts at them on the slots of nodes.

`cruise` is where a simulation spends its time: it ends mini-batches whose end is known and begins
the next ones that nobody has touched, until something else comes first. `step` does any other.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace

from mlctl.cloud.sim import nodes, retry, work
from mlctl.cloud.sim.jobs import BatchJob, Status
from mlctl.cloud.sim.state import DONE_FIRST, TIMEOUT, Cluster, Kind, Node, World, tell

Until = tuple[float, int, int]  # the key of the event that comes next elsewhere


def revive(world: World, job: BatchJob) -> None:
    """Put what is under way in order again, after a state was read back."""
    job.flight = list(job.work.values())
    heapify(job.flight)
    announce(world, job)


def wanted(job: BatchJob, most: int) -> int:
    """R2: the nodes that the job seeks, for the mini-batches that are not over."""
    left = job.total - job.done - job.failed
    slots = job.spec.concurrency
    return min(job.spec.instance_count, most, (left + slots - 1) // slots)


def is_hungry(job: BatchJob) -> bool:
    """The job has mini-batches that wait, and may have a node more for them."""
    waiting = job.fresh < job.total or job.head or job.tail
    return bool(waiting) and job.running < job.spec.instance_count


def join(world: World, job: BatchJob, node: Node) -> None:
    """An idle node begins to work for the job, on all its slots."""
    if node.job != job.name:
        node.job = job.name
        job.members += 1
        job.epoch = world.new_epoch()  # whatever R7 was waiting for has come
    if job.status is Status.QUEUED:
        job.status = Status.RUNNING
        job.started = world.now
        tell(world, "JOB_RUNNING", job=job.name)
    job.running += 1
    first = node.number * job.spec.concurrency
    for slot in range(first, first + job.spec.concurrency):
        job.spare[slot] = None
    refill(world, job)


def refill(world: World, job: BatchJob) -> None:
    """Begin mini-batches on the spare slots of working nodes, as long as there are any."""
    work.draw(world.seed, job)
    while job.spare:
        batch = _take(job)
        if batch is None:
            break
        slot = next(iter(job.spare))
        del job.spare[slot]
        _begin(world, job, batch, slot)
    announce(world, job)


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
    heappush(job.flight, attempt)
    retry.tell_of(world, "MB_START", job, batch, slot)


def announce(world: World, job: BatchJob) -> None:
    """See to it that the world looks at the job when its next attempt ends."""
    if job.flight and (job.due is None or job.flight[0][:3] < job.due):
        at, priority, number = job.due = job.flight[0][:3]
        heappush(world.queue, (at, priority, number, Kind.WORK, job.name, 0, 0))


def cruise(world: World, cluster: Cluster, job: BatchJob, until: Until) -> None:
    """End attempts that succeed, and begin untouched mini-batches in their place.

    Returns before the first attempt that ends after `until`, failed, or without a successor, and
    where the job begins to need fewer nodes.
    """
    work.draw(world.seed, job)
    flight, slots, times, failing = job.flight, job.work, job.times, job.failing
    number, fresh, most = world.number, job.fresh, job.spec.timeout_s
    last = _cruise_end(job, cluster.spec.max_instances)
    while flight and fresh < last and (attempt := flight[0]) < until:
        at, late, _, batch, slot = attempt
        if slots.get(slot) is not attempt:
            heappop(flight)  # it died with its node
            continue
        if late or batch in failing:
            break
        number += 1
        seconds = times[fresh]
        begun = (
            (at + seconds, DONE_FIRST, number, fresh, slot)
            if seconds <= most
            else (at + most, TIMEOUT, number, fresh, slot)
        )
        slots[slot] = begun
        heapreplace(flight, begun)
        if world.detail:
            world.now = at
            retry.tell_of(world, "MB_DONE", job, batch, slot)
            retry.tell_of(world, "MB_START", job, fresh, slot)
        fresh += 1
    ended = fresh - job.fresh
    job.done += ended
    job.attempts += ended
    job.fresh = fresh
    world.number = number


def _cruise_end(job: BatchJob, most: int) -> int:
    """How far untouched mini-batches may be begun before the job may seek fewer nodes."""
    if job.head:
        return job.fresh
    others = (min(job.spec.instance_count, most) - 1) * job.spec.concurrency
    return min(job.total, job.total + len(job.work) + len(job.tail) - others)


def step(world: World, cluster: Cluster, job: BatchJob, until: Until) -> bool:
    """End one attempt of the job before `until`, whatever it needs; False where there is none."""
    work.draw(world.seed, job)
    while job.flight and job.flight[0] < until:
        attempt = heappop(job.flight)
        at, late, _, batch, slot = attempt
        if job.work.get(slot) is attempt:
            world.now = at
            del job.work[slot]
            job.spare[slot] = None
            if late:
                retry.fail(world, job, batch, slot, "MB_TIMEOUT")
            elif job.tries.get(batch, 0) < job.failing.get(batch, 0):
                retry.fail(world, job, batch, slot, "MB_FAIL")
            else:
                job.done += 1
                retry.forget(job, batch)
                retry.tell_of(world, "MB_DONE", job, batch, slot)
            _go_on(world, cluster, job, slot)
            return True
    return False


def _go_on(world: World, cluster: Cluster, job: BatchJob, slot: int) -> None:
    """After an attempt: the job ends, or the slot takes what is next, or its node is idle."""
    if retry.judge(world, cluster, job):
        return
    refill(world, job)
    number = slot // job.spec.concurrency
    slots = range(number * job.spec.concurrency, (number + 1) * job.spec.concurrency)
    if not any(each in job.work for each in slots):
        for each in slots:
            job.spare.pop(each, None)
        job.running -= 1
        nodes.rest(world, cluster, cluster.nodes[number])
