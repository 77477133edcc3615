"""Carry out commands about the cloud itself, Batch Pools and the shared queue."""

from __future__ import annotations

from mlctl.dataclasses import replace
from mlctl.simulator.engine import autoscaling, batch_pool, commands, nodes, preemption
from mlctl.simulator.engine import capacity as region_capacity
from mlctl.simulator.engine.jobs import JobStatus, PoolJob
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.processes import CapacitySteps, LossScript, PreemptionProcess
from mlctl.simulator.engine.state import Bill, Pool, World, add_job, log_event

_ABANDONED = "the pool was deleted"


def carry_out(world: World, command: commands.Command) -> None:
    """Carry out a command that `cluster_commands` does not know."""
    match command:
        case commands.SetPreemption(processes):
            world.preemption = tuple(map(_sorted_by_time, processes))
            world.preemption_since = world.now
            _apply_processes(world, {Tier.LOW_PRIORITY})
            for regional in world.capacities.values():
                for cluster, node in preemption.up_nodes(preemption.clusters_of(world, regional)):
                    nodes.schedule_loss(world, cluster, node)
        case commands.SetCapacity():
            _set_capacity(world, command)
        case commands.SetQuotas(limits):
            region_capacity.set_quotas(world, limits)
        case commands.Configure(settings):
            world.settings = settings
        case commands.AddPool(spec):
            world.pools[spec.name] = Pool(spec)
            log_event(world, "POOL", pool=spec.name, vms=spec.vms)
            batch_pool.resize(world, world.pools[spec.name], spec.vms)
        case commands.ResizePool(name, vms):
            log_event(world, "POOL", pool=name, vms=vms)
            batch_pool.resize(world, world.pools[name], vms)
        case commands.DeletePool(name):
            _delete_pool(world, world.pools[name])
        case commands.SubmitPoolJob():
            _submit(world, command)
        case commands.SetSharedQueue(settings):
            world.shared_queue.settings, world.shared_queue.epoch = settings, world.new_epoch()
            batch_pool.schedule_arrival(world)
            batch_pool.start_shared_queue(world)
        case _:
            raise AssertionError(command)


def _sorted_by_time(process: PreemptionProcess) -> PreemptionProcess:
    if isinstance(process, LossScript):
        return LossScript(tuple(sorted(process.losses, key=lambda loss: loss[0])))
    return process


def _set_capacity(world: World, command: commands.SetCapacity) -> None:
    capacity, tiers = command.capacity, {command.tier} if command.tier else set(Tier)
    if isinstance(capacity, CapacitySteps):
        capacity = replace(capacity, steps=tuple(sorted(capacity.steps)))
    for tier in sorted(tiers, key=lambda tier: tier.value):
        world.capacity_since[tier] = world.now
        world.capacity.pop(tier, None)
        if capacity is not None:
            world.capacity[tier] = capacity
    _apply_processes(world, tiers)


def _apply_processes(world: World, tiers: set[Tier]) -> None:
    """Apply the current processes to all regions of these tiers, and preempt excess nodes."""
    for regional in list(world.capacities.values()):
        if regional.tier in tiers:
            region_capacity.apply_processes(world, regional)
            if regional.tier is Tier.LOW_PRIORITY:
                affected = list(preemption.clusters_of(world, regional))
                preemption.enforce(world, regional, affected)
                for cluster in affected:
                    autoscaling.reconcile(world, cluster)


def _delete_pool(world: World, pool: Pool) -> None:
    name = pool.spec.name
    log_event(world, "DELETE", pool=name)
    pool.queue.clear()  # so that no other job starts in the place of one that ends
    for job in world.jobs.values():
        if isinstance(job, PoolJob) and job.pool == name and job.ended is None:
            batch_pool.end(world, job, JobStatus.FAILED, _ABANDONED)
    batch_pool.resize(world, pool, 0)
    bill = Bill("pool", name, Tier.DEDICATED, pool.billed_s, pool.spec.price)
    world.bills.append(bill)
    del world.pools[name]


def _submit(world: World, command: commands.SubmitPoolJob) -> None:
    name = command.name
    job = PoolJob(name, world.now, duration_s=command.duration_s, pool=command.pool or "")
    add_job(world, job)
    log_event(world, "SUBMIT", job=name, pool=command.pool)
    batch_pool.submit(world, job)
