"""Carrying out commands about the cloud itself, and about the classic service."""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.engine import (
    autoscaling,
    batch_pool,
    nodes,
    preemption,
)
from mlctl.simulator.engine import (
    capacity as region_capacity,
)
from mlctl.simulator.engine.commands import (
    AddPool,
    Command,
    Configure,
    DeletePool,
    ResizePool,
    SetCapacity,
    SetPreemption,
    SetTenancy,
    SubmitPoolJob,
)
from mlctl.simulator.engine.jobs import PoolJob, Status
from mlctl.simulator.engine.model import PoolSpec, Tier
from mlctl.simulator.engine.processes import Preemption, Script, Steps
from mlctl.simulator.engine.state import Bill, Pool, World, tell

_ABANDONED = "the pool was deleted"


def carry_out(world: World, command: Command) -> None:
    """Do what the command asks."""
    match command:
        case SetPreemption(processes):
            world.preemption = tuple(map(_in_order, processes))
            world.preemption_since = world.now
            _renew(world, {Tier.LOW_PRIORITY})
            _expect_losses(world)
        case SetCapacity():
            _set_capacity(world, command)
        case Configure(settings):
            world.settings = settings
        case AddPool(spec):
            _add_pool(world, spec)
        case ResizePool(name, vms):
            tell(world, "POOL", pool=name, vms=vms)
            batch_pool.resize(world, world.pools[name], vms)
        case DeletePool(name):
            _delete_pool(world, world.pools[name])
        case SubmitPoolJob():
            _submit(world, command)
        case SetTenancy(tenancy):
            world.commons.tenancy, world.commons.epoch = tenancy, world.new_epoch()
            batch_pool.expect_tenant(world)
            batch_pool.serve_commons(world)
        case _:
            raise AssertionError(command)


def _in_order(process: Preemption) -> Preemption:
    if isinstance(process, Script):
        return Script(tuple(sorted(process.losses, key=lambda loss: loss[0])))
    return process


def _set_capacity(world: World, command: SetCapacity) -> None:
    capacity, tiers = command.capacity, {command.tier} if command.tier else set(Tier)
    if isinstance(capacity, Steps):
        capacity = replace(capacity, steps=tuple(sorted(capacity.steps)))
    for tier in sorted(tiers, key=lambda tier: tier.value):
        world.capacity_since[tier] = world.now
        world.capacity.pop(tier, None)
        if capacity is not None:
            world.capacity[tier] = capacity
    _renew(world, tiers)


def _renew(world: World, tiers: set[Tier]) -> None:
    """Let every market of these tiers take what has been set; too much that is up goes at once."""
    for place in list(world.markets.values()):
        if place.tier in tiers:
            region_capacity.renew(world, place)
            if place.tier is Tier.LOW_PRIORITY:
                near = list(preemption.clusters(world, place))
                preemption.enforce(world, place, near)
                for cluster in near:
                    autoscaling.follow(world, cluster)


def _expect_losses(world: World) -> None:
    """What is up may be lost in another way from now on."""
    for place in world.markets.values():
        for cluster, node in preemption.up(preemption.clusters(world, place)):
            nodes.expect_loss(world, cluster, node)


def _add_pool(world: World, spec: PoolSpec) -> None:
    world.pools[spec.name] = Pool(spec)
    tell(world, "POOL", pool=spec.name, vms=spec.vms)
    batch_pool.resize(world, world.pools[spec.name], spec.vms)


def _delete_pool(world: World, doomed: Pool) -> None:
    name = doomed.spec.name
    tell(world, "DELETE", pool=name)
    doomed.queue.clear()  # so that no other job starts in the place of one that ends
    for job in world.jobs.values():
        if isinstance(job, PoolJob) and job.pool == name and job.ended is None:
            batch_pool.end(world, job, Status.FAILED, _ABANDONED)
    batch_pool.resize(world, doomed, 0)
    bill = Bill("pool", name, Tier.DEDICATED, doomed.billed_s, doomed.spec.price)
    world.bills.append(bill)
    del world.pools[name]


def _submit(world: World, command: SubmitPoolJob) -> None:
    name = command.name
    job = PoolJob(name, world.now, duration_s=command.duration_s, pool=command.pool or "")
    world.jobs[name] = job
    tell(world, "SUBMIT", job=name, pool=command.pool)
    batch_pool.submit(world, job)
