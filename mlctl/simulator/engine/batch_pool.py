"""The classic service: Batch Pools, and the shared queue for jobs without a pool.

"If the pool has available resources, the job starts running immediately. If the pool does not have
free resources, your job is queued until a resource is available." Without a pool, jobs go to "a
multi-tenant environment, which limits the number of concurrent jobs", first in first out.
"""

from __future__ import annotations

from collections import deque

from mlctl.simulator.engine import billing, processes, rng
from mlctl.simulator.engine.jobs import JobStatus, PoolJob
from mlctl.simulator.engine.state import EventKind, Pool, Vm, World, log_event, schedule


def resize(world: World, pool: Pool, vms: int) -> None:
    """Request VMs, or delete some: those not provisioned first, then free ones, then busy ones."""
    for _ in range(vms - len(pool.vms)):
        pool.last_number += 1
        vm = Vm(pool.last_number, world.new_epoch())
        pool.vms[vm.number] = vm
        at = world.now + world.settings.provisioning_s
        schedule(world, at, EventKind.VM_UP, pool.spec.name, vm.number, vm.epoch)
    removed_first = sorted(
        pool.vms.values(), key=lambda vm: (vm.billed_until is not None, vm.job != "", -vm.number)
    )
    for vm in removed_first[: max(len(pool.vms) - vms, 0)]:
        billing.stop_vm(world, pool, vm)
        del pool.vms[vm.number]
        job = world.jobs.get(vm.job)
        if isinstance(job, PoolJob):  # Azure Batch's default: `requeue`
            job.status, job.epoch = JobStatus.QUEUED, world.new_epoch()
            pool.queue.appendleft(job.name)
        log_event(world, "VM_DELETED", pool=pool.spec.name, vm=vm.number)


def finish_provisioning(world: World, pool: Pool, vm: Vm) -> None:
    """B1: a VM is provisioned, and billed from now on."""
    vm.billed_until = vm.billed_from = world.now
    log_event(world, "VM_UP", pool=pool.spec.name, vm=vm.number)
    start_queued(world, pool)


def start_queued(world: World, pool: Pool) -> None:
    """B3: start queued jobs on free VMs, first in first out."""
    for vm in pool.vms.values():
        if pool.queue and vm.billed_until is not None and not vm.job:
            job = world.jobs[pool.queue.popleft()]
            if isinstance(job, PoolJob):
                vm.job = job.name
                _run(world, job)


def _run(world: World, job: PoolJob) -> None:
    job.status = JobStatus.RUNNING
    if job.started is None:
        job.started = world.now
    job.epoch = world.new_epoch()
    log_event(world, "JOB_RUNNING", job=job.name)
    schedule(world, world.now + job.duration_s, EventKind.POOL_JOB_DONE, job.name, epoch=job.epoch)


def end(world: World, job: PoolJob, status: JobStatus, reason: str = "") -> None:
    """Set a job's final status, and free its VM or its slot of the shared queue."""
    running = job.status is JobStatus.RUNNING
    job.status, job.reason, job.ended = status, reason, world.now
    job.epoch = world.new_epoch()
    log_event(world, "JOB_ENDED", job=job.name, status=status.value, reason=reason)
    pool = world.pools.get(job.pool)
    if pool is not None:
        for vm in pool.vms.values():
            if vm.job == job.name:
                vm.job = ""
        pool.queue = deque(name for name in pool.queue if name != job.name)
        start_queued(world, pool)
    elif running:
        world.shared_queue.running -= 1
        start_shared_queue(world)
    else:
        queue = world.shared_queue.queue
        world.shared_queue.queue = deque(entry for entry in queue if entry[0] != job.name)


def submit(world: World, job: PoolJob) -> None:
    """Queue a job; it starts at once if there is a free VM or slot."""
    pool = world.pools.get(job.pool)
    if pool is not None:
        pool.queue.append(job.name)
        start_queued(world, pool)
    else:
        world.shared_queue.queue.append((job.name, job.duration_s))
        start_shared_queue(world)


def start_shared_queue(world: World) -> None:
    """Start jobs of all users from the shared queue, as many as it has slots."""
    shared = world.shared_queue
    while shared.queue and shared.running < shared.settings.slots:
        name, seconds = shared.queue.popleft()
        shared.running += 1
        job = world.jobs.get(name)
        if isinstance(job, PoolJob):
            _run(world, job)
        else:
            schedule(world, world.now + seconds, EventKind.OTHER_JOB_DONE, "")


def end_tenant_job(world: World) -> None:
    """A job of another user has ended."""
    world.shared_queue.running -= 1
    start_shared_queue(world)


def schedule_arrival(world: World) -> None:
    """Sample when the next job of another user arrives."""
    shared = world.shared_queue
    if shared.settings.arrivals > 0:
        gap = rng.uniform(f"{world.seed}/arrival/{shared.arrival_count}")
        at = world.now + processes.exponential(shared.settings.arrivals, gap)
        schedule(world, at, EventKind.OTHER_JOB_ARRIVAL, "", epoch=shared.epoch)


def add_tenant_job(world: World) -> None:
    """Queue a job of another user, and schedule the next one."""
    shared = world.shared_queue
    length = rng.uniform(f"{world.seed}/tenant/{shared.arrival_count}")
    per_hour = 3600.0 / shared.settings.mean_s
    shared.queue.append(("", processes.exponential(per_hour, length)))
    shared.arrival_count += 1
    schedule_arrival(world)
    start_shared_queue(world)
