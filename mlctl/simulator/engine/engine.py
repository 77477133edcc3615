"""The event loop: handle scheduled events in a fixed order, and reconcile clusters after each.

The result depends only on the state and the arguments. Advancing to one moment and then to another
gives the same result as advancing to the second at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop

from mlctl.simulator.engine import (
    autoscaling,
    batch,
    batch_pool,
    cluster_commands,
    ended_jobs,
    groups,
    nodes,
    preemption,
    retry,
    sampling,
    training,
    void_events,
)
from mlctl.simulator.engine.commands import Command, EngineError
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.jobs import AnyJob, BatchJob, GroupJob, JobStatus, PoolJob, TrainingJob
from mlctl.simulator.engine.state import Cluster, EventKind, Node, ScheduledEvent, World

_AFTER_ALL = 9  # larger than every priority


def apply(world: World, command: Command, *, detail: bool = True) -> list[LoggedEvent]:
    """Carry out a command now, and return its events.

    Later effects, even those due immediately, are events of `advance` to the same moment.
    `cluster_commands.carry_out` does the same without a log.

    Raises:
        EngineError: the command is not valid now; nothing has changed.
    """
    happened: list[LoggedEvent] = []
    world.log, world.detail = happened, detail
    try:
        cluster_commands.carry_out(world, command)
    finally:
        world.log, world.detail = None, False
    return happened


def advance(world: World, to: float, *, detail: bool = True) -> Iterator[LoggedEvent]:
    """Advance time to the second `to`, inclusive, and yield the events on the way.

    The iterator must be exhausted: the state changes as it is read. Without `detail` there are no
    events of mini-batches, which is faster; all else is the same.

    Raises:
        ValueError: `to` has passed already.
    """
    _refuse_past(world, to)
    yield from _logged_events(world, to, None, detail=detail)
    world.now = float(to)


def wait(world: World, job: str, limit: float, *, detail: bool = True) -> Iterator[LoggedEvent]:
    """Advance time until the job has ended, or to the second `limit`, and yield the events.

    Afterwards the clock shows when the job ended, or `limit`. If no event is scheduled it stays
    where it is: a job on a locked cluster never ends.

    Raises:
        EngineError: there is no such job.
        ValueError: `limit` has passed already.
    """
    _refuse_past(world, limit)
    awaited = job_of(world, job)
    if awaited.ended is None:
        yield from _logged_events(world, limit, awaited, detail=detail)
        yield from advance(world, _end_of(world, awaited, limit), detail=detail)


def run(world: World, to: float) -> None:
    """Like `advance`, without a log: the fastest way.

    Raises:
        ValueError: `to` has passed already.
    """
    _refuse_past(world, to)
    while world.queue and world.queue[0][0] <= to:
        _handle(world, heappop(world.queue), to)
    void_events.drop(world)
    world.now = float(to)


def finish(world: World, job: str, limit: float) -> bool:
    """Like `wait`, without a log; whether the job has ended.

    Raises:
        EngineError: there is no such job.
    """
    awaited = job_of(world, job)
    while awaited.ended is None and world.queue and world.queue[0][0] <= limit:
        _handle(world, heappop(world.queue), limit)
    run(world, max(world.now, _end_of(world, awaited, limit)))
    return awaited.ended is not None


def _end_of(world: World, job: AnyJob, limit: float) -> float:
    if job.ended is not None:
        return job.ended
    return limit if world.queue else world.now


def job_of(world: World, name: str) -> AnyJob:
    """Return the job of that name.

    Raises:
        EngineError: it does not exist.
    """
    job = ended_jobs.find(world, name)
    if job is None:
        raise EngineError(f"there is no job `{name}`")
    return job


def next_event_time(world: World) -> float | None:
    """Return the time of the next scheduled event; None if there is none."""
    return world.queue[0][0] if world.queue else None


def _refuse_past(world: World, to: float) -> None:
    if not to >= world.now:
        raise ValueError(f"time cannot go back from {world.now:g} s to {to:g} s")


def _logged_events(
    world: World, to: float, awaited: AnyJob | None, *, detail: bool
) -> Iterator[LoggedEvent]:
    log: list[LoggedEvent] = []
    while world.queue and world.queue[0][0] <= to:
        if awaited is not None and awaited.ended is not None:
            return
        world.log, world.detail = log, detail
        try:
            _handle(world, heappop(world.queue), to)
        finally:
            world.log, world.detail = None, False
        if log:
            yield from log
            log.clear()
    void_events.drop(world)


def _handle(world: World, event: ScheduledEvent, to: float) -> None:
    """Handle one event, unless it is void."""
    kind = event[3]
    if kind in _NODE_EVENTS:
        _handle_node_event(world, event)
    elif kind is _MINI_BATCH_END:
        _handle_mini_batches(world, event, to)
    elif kind is EventKind.PROCESS_DUE:
        _handle_process(world, event)
    elif kind <= EventKind.DEADLINE or kind is EventKind.STALL_DUE:
        _handle_job_event(world, event)
    else:
        _handle_pool_event(world, event)
    if world.ended_members:
        groups.settle(world)
    if world.observer is not None:
        world.observer(world)


def _handle_mini_batches(world: World, event: ScheduledEvent, to: float) -> None:
    """End attempts of a job one by one, until another event comes first."""
    job = world.jobs.get(event[4])
    if not isinstance(job, BatchJob) or job.scheduled != event[:3]:
        return
    queue = world.queue
    while queue and queue[0] == event:
        heappop(queue)  # scheduled twice: an earlier attempt was added in between
    if not job.times:
        sampling.sample_job(world.seed, job)
    cluster = world.clusters[job.spec.cluster]
    while True:
        limit = queue[0][:3] if queue and queue[0][0] <= to else (to, _AFTER_ALL, 0)
        if world.observer is None and (job.head or job.next_new < job.total):
            batch.fast_forward(world, job, limit)
        if not batch.step(world, cluster, job, limit):
            break
        autoscaling.reconcile_ended(world, cluster)
        if job.ended is not None or world.log is not None or world.observer is not None:
            break
    job.scheduled = None  # set only now, so that nothing above schedules the event again
    batch.schedule_next(world, job)


def _handle_process(world: World, event: ScheduledEvent) -> None:
    at, _, _, _, name, number, epoch = event
    regional = world.capacities[name]
    if number < len(regional.processes) and regional.processes[number].epoch == epoch:
        world.now = at
        for cluster in preemption.process_due(world, regional, number):
            autoscaling.reconcile(world, cluster)


def _handle_node_event(world: World, event: ScheduledEvent) -> None:
    at, _, _, kind, name, number, epoch = event
    cluster = world.clusters.get(name)
    node = cluster.nodes.get(number) if cluster is not None else None
    if cluster is None or node is None:
        return
    if epoch != (node.loss_epoch if kind is _PREEMPT else node.epoch):
        return
    world.now = at
    _NODE_EVENTS[kind](world, cluster, node)
    if kind in _COMING:
        autoscaling.assign(world, cluster, node)
    else:
        autoscaling.reconcile(world, cluster)


def _leave(world: World, cluster: Cluster, node: Node) -> None:
    nodes.remove(world, cluster, node, "LEFT")


def _recycle(world: World, cluster: Cluster, node: Node) -> None:
    nodes.remove(world, cluster, node, "RECYCLED")


def _give_up(world: World, cluster: Cluster, node: Node) -> None:
    """Stop trying to restore a node, unless it has capacity again."""
    if not node.has_capacity:
        nodes.remove(world, cluster, node, "RESTORE_EXPIRED")


_MINI_BATCH_END, _PREEMPT = EventKind.MINI_BATCH_END, EventKind.PREEMPT
_NODE_EVENTS: dict[EventKind, Callable[[World, Cluster, Node], object]] = {
    EventKind.ALLOCATED: nodes.finish_allocation,
    EventKind.READY: nodes.ready,
    EventKind.PREEMPT: preemption.preempt,
    EventKind.RESTORED: nodes.restore,
    EventKind.IDLE_TIMEOUT: autoscaling.idle_timeout,
    EventKind.NODE_STARTED: batch.node_started,
    EventKind.START_FAIL: nodes.start_failed,
    EventKind.LEFT: _leave,
    EventKind.RECYCLED: _recycle,
    EventKind.RESTORE_EXPIRED: _give_up,
}
_COMING = frozenset((EventKind.ALLOCATED, EventKind.READY, EventKind.RESTORED))


def _handle_job_event(world: World, event: ScheduledEvent) -> None:
    at, _, _, kind, name, _, epoch = event
    job = world.jobs.get(name)
    if job is None or job.ended is not None or isinstance(job, PoolJob):
        return
    if isinstance(job, GroupJob):
        world.now = at
        groups.time_out(world, job)
        return
    cluster = world.clusters[job.cluster_name]
    match job, kind:
        case TrainingJob(), EventKind.TRAINING_PHASE_END if job.epoch == epoch:
            world.now = at
            training.phase_over(world, cluster, job)
        case TrainingJob(), EventKind.DEADLINE:
            world.now = at
            training.end(world, cluster, job, JobStatus.CANCELED, "the maximum run time is over")
        case BatchJob(), EventKind.CANCEL_DUE if job.epoch == epoch:
            world.now = at
            retry.cancel_without_nodes(world, cluster, job)
        case BatchJob(), EventKind.STALL_DUE:
            world.now = at
            batch.stall_due(world, cluster, job)
            if job.ended is None:
                return  # nothing has changed
        case _:
            return
    autoscaling.reconcile(world, cluster)


def _handle_pool_event(world: World, event: ScheduledEvent) -> None:
    world.now, _, _, kind, name, number, epoch = event
    match kind:
        case EventKind.VM_UP:
            pool = world.pools.get(name)
            vm = pool.vms.get(number) if pool is not None else None
            if pool is not None and vm is not None and vm.epoch == epoch:
                batch_pool.finish_provisioning(world, pool, vm)
        case EventKind.POOL_JOB_DONE:
            job = world.jobs.get(name)
            if isinstance(job, PoolJob) and job.epoch == epoch and job.ended is None:
                batch_pool.end(world, job, JobStatus.COMPLETED)
        case EventKind.OTHER_JOB_DONE:
            batch_pool.end_tenant_job(world)
        case EventKind.OTHER_JOB_ARRIVAL if world.shared_queue.epoch == epoch:
            batch_pool.add_tenant_job(world)
        case _:
            pass
