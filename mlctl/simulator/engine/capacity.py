"""The capacity of a region and tier: who has a share, who waits for one, and how much there is."""

from __future__ import annotations

from mlctl.simulator.engine import rng
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import (
    CapacityProcess,
    CapacitySteps,
    Constant,
    LossScript,
    OnOff,
    PreemptionProcess,
    Shock,
    Trace,
    exponential,
)
from mlctl.simulator.engine.state import (
    ActiveProcess,
    Cluster,
    EventKind,
    Node,
    NodeState,
    RegionCapacity,
    World,
    schedule,
)


def region_capacity(world: World, region: str, tier: Tier) -> RegionCapacity:
    """The market of a region and tier, opened where it was not."""
    name = key_of(region, tier)
    market = world.capacities.get(name)
    if market is None:
        market = world.capacities[name] = RegionCapacity(region, tier)
        apply_processes(world, market)
    return market


def key_of(region: str, tier: Tier) -> str:
    """What a market is called."""
    return f"{region}/{tier.value}"


def apply_processes(world: World, market: RegionCapacity) -> None:
    """Take the world's processes as they were last set; those that were set before go on."""
    before = market.processes
    market.processes = []
    capacity = world.capacity.get(market.tier)
    if capacity is not None:
        _add(world, market, before, capacity, world.capacity_since[market.tier])
    if market.tier is Tier.LOW_PRIORITY:
        for process in world.preemption:
            _add(world, market, before, process, world.preemption_since)
    _limit(market)
    grant_waiting(world, market)


def _add(
    world: World,
    market: RegionCapacity,
    before: list[ActiveProcess],
    process: PreemptionProcess | CapacityProcess,
    since: float,
) -> None:
    """Go on with a source that is there from `before`, under its new place; or open a new one."""
    for source in before:
        if source.process == process and source.since == since:
            before.remove(source)
            source.epoch = world.new_epoch()
            break
    else:
        market.last_serial += 1
        source = ActiveProcess(process, market.last_serial, since, world.new_epoch())
        source.limit = _limit_at(source, 0)
        source.due = _next(world, market, source)
        while source.due is not None and _is_past(source, world.now):
            advance_process(world, market, source)
    market.processes.append(source)
    schedule_process(world, market, len(market.processes) - 1)


def _is_past(source: ActiveProcess, now: float) -> bool:
    """Limits hold from their moment on; a loss that is due now is still to come."""
    return source.due is not None and (
        source.due < now or (source.due == now and isinstance(source.process, CapacitySteps))
    )


def schedule_process(world: World, market: RegionCapacity, index: int) -> None:
    """Schedule the next turn of a source."""
    source = market.processes[index]
    if source.due is not None:
        name = key_of(market.region, market.tier)
        schedule(world, source.due, EventKind.PROCESS_DUE, name, index, source.epoch)


def advance_process(world: World, market: RegionCapacity, source: ActiveProcess) -> None:
    """Let a source's moment pass: on to its next tick, with the limit that holds from then on."""
    source.tick = _tick_after(source)
    source.limit = _limit_at(source, source.tick)
    source.due = _next(world, market, source)


def _limit(market: RegionCapacity) -> None:
    limits = [source.limit for source in market.processes if source.limit is not None]
    market.limit = min(limits, default=None)


def update_limit(world: World, market: RegionCapacity) -> None:
    """Draw the conclusion from a source that moved on: waiting nodes may get their share."""
    _limit(market)
    grant_waiting(world, market)


def _tick_after(source: ActiveProcess) -> int:
    """The next tick that matters: of a trace, where it changes."""
    match source.process:
        case Trace(_, nodes, offset):
            here = nodes[(offset + source.tick) % len(nodes)]
            for ahead in range(1, len(nodes)):
                if nodes[(offset + source.tick + ahead) % len(nodes)] != here:
                    return source.tick + ahead
            return source.tick
        case _:
            return source.tick + 1


def _limit_at(source: ActiveProcess, tick: int) -> int | None:
    match source.process:
        case Constant(nodes):
            return nodes
        case Trace(_, nodes, offset):
            return nodes[(offset + tick) % len(nodes)]
        case CapacitySteps(steps):
            return steps[tick - 1][1] if tick else None
        case OnOff(_, _, nodes):
            return 0 if tick % 2 else nodes
        case _:
            return None


def _next(world: World, market: RegionCapacity, source: ActiveProcess) -> float | None:
    """When the source's next turn comes; None when it has none."""
    before = source.since if source.due is None else source.due
    key = f"{world.seed}/source/{key_of(market.region, market.tier)}/{source.serial}/{source.tick}"
    match source.process:
        case Trace(gap):
            after = _tick_after(source)
            return source.since + after * gap if after > source.tick else None
        case CapacitySteps(steps):
            return source.since + steps[source.tick][0] if source.tick < len(steps) else None
        case LossScript(losses):
            return source.since + losses[source.tick][0] if source.tick < len(losses) else None
        case Shock(rate):
            return before + exponential(rate, rng.uniform(key))
        case OnOff(rate, mean):
            often = HOUR / mean if source.tick % 2 else rate
            return before + exponential(often, rng.uniform(key))
        case _:
            return None


def request(world: World, market: RegionCapacity, cluster: Cluster, node: Node) -> None:
    """Ask for capacity for a node that is allocating or preempted; it may have to wait."""
    if market.limit is None or market.used < market.limit:
        _grant(world, market, cluster, node)
    else:
        market.waiting[cluster.spec.name, node.number] = None


def release(world: World, market: RegionCapacity, cluster: Cluster, node: Node) -> None:
    """Give a node's share back, or its place among those who wait."""
    if node.has_capacity:
        node.has_capacity = False
        market.used -= 1
        if market.waiting:
            grant_waiting(world, market)
    else:
        market.waiting.pop((cluster.spec.name, node.number), None)


def revoke(world: World, market: RegionCapacity, cluster: Cluster, node: Node) -> None:
    """Take back the share of a node that is not up yet: it waits again."""
    node.has_capacity = False
    node.epoch = world.new_epoch()
    market.used -= 1
    if cluster.locked:
        cluster.to_request.append(node.number)
    else:
        market.waiting[cluster.spec.name, node.number] = None
    if node.state is NodeState.PREEMPTED:
        schedule_restore_expiry(world, cluster, node)


def schedule_restore_expiry(world: World, cluster: Cluster, node: Node) -> None:
    """Plan when the platform gives up to bring a preempted node back."""
    if world.settings.replace:
        at = max(world.now, node.since + world.settings.restore_window_h * HOUR)
        name = cluster.spec.name
        schedule(world, at, EventKind.RESTORE_EXPIRED, name, node.number, node.epoch)


def grant_waiting(world: World, market: RegionCapacity) -> None:
    """Give what there is to those who wait, first come, first served."""
    while market.waiting and (market.limit is None or market.used < market.limit):
        name, number = first = next(iter(market.waiting))
        del market.waiting[first]
        cluster = world.clusters[name]
        _grant(world, market, cluster, cluster.nodes[number])


def _grant(world: World, market: RegionCapacity, cluster: Cluster, node: Node) -> None:
    node.has_capacity = True
    market.used += 1
    settings = world.settings
    back = node.state is NodeState.PREEMPTED
    mean = settings.allocation_s
    if back and settings.replacement_s is not None:
        mean = settings.replacement_s
    at = world.now + delay(world, cluster, node, mean, "allocation")
    kind = EventKind.RESTORED if back else EventKind.ALLOCATED
    schedule(world, at, kind, cluster.spec.name, node.number, node.epoch)


def delay(world: World, cluster: Cluster, node: Node, mean: float, purpose: str) -> float:
    """How long something takes for a node this time."""
    if world.settings.delay_cv == 0:
        return mean
    time = cluster.allocations.get(node.number, 0)
    key = f"{world.seed}/{purpose}/{cluster.tag}/{node.number}/{time}"
    return rng.log_normal(mean, world.settings.delay_cv, key)
