"""The capacity of a region and tier: how many nodes exist, who uses them and who waits.

Quotas also limit a cluster's nodes: a node gets capacity if there is some and no quota is exceeded;
otherwise it waits.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlctl.simulator.engine import billing, processes, rng
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.state import (
    ActiveProcess,
    Cluster,
    CoreQuota,
    EventKind,
    Node,
    NodeState,
    RegionCapacity,
    World,
    schedule,
)

_PREEMPTED, _ALLOCATED, _RESTORED = NodeState.PREEMPTED, EventKind.ALLOCATED, EventKind.RESTORED
_RESTORE_EXPIRED = EventKind.RESTORE_EXPIRED


def region_capacity(world: World, region: str, tier: Tier) -> RegionCapacity:
    """The capacity of a region and tier; created on first use."""
    name = key_of(region, tier)
    regional = world.capacities.get(name)
    if regional is None:
        regional = world.capacities[name] = RegionCapacity(region, tier)
        apply_processes(world, regional)
    return regional


def key_of(region: str, tier: Tier) -> str:
    """The key of a region and tier in `World.capacities`."""
    return f"{region}/{tier.value}"


def apply_processes(world: World, regional: RegionCapacity) -> None:
    """Apply the capacity and preemption processes that are set now; those set before continue."""
    previous = regional.processes
    regional.processes = []
    capacity = world.capacity.get(regional.tier)
    if capacity is not None:
        _add(world, regional, previous, capacity, world.capacity_since[regional.tier])
    if regional.tier is Tier.LOW_PRIORITY:
        for process in world.preemption:
            _add(world, regional, previous, process, world.preemption_since)
    _limit(regional)
    grant_waiting(world, regional)


def _add(
    world: World,
    regional: RegionCapacity,
    previous: list[ActiveProcess],
    process: processes.PreemptionProcess | processes.CapacityProcess,
    set_at: float,
) -> None:
    """Activate a process: continue its run if it is among `previous`, else start one."""
    for active in previous:
        if active.process == process and active.since == set_at:
            previous.remove(active)
            active.epoch = world.new_epoch()
            break
    else:
        regional.last_serial += 1
        active = ActiveProcess(process, regional.last_serial, set_at, world.new_epoch())
        if isinstance(process, processes.OnOff) and process.out_s:
            active.tick = -1  # odd, as in any outage
        active.limit = _limit_at(active, active.tick)
        active.due = _next_due(world, regional, active)
        while active.due is not None and _is_past(active, world.now):
            advance_process(world, regional, active)
    regional.processes.append(active)
    schedule_process(world, regional, len(regional.processes) - 1)


def _is_past(active: ActiveProcess, now: float) -> bool:
    """Whether a change is over at `now`: a limit holds from its second on, a loss is still due."""
    return active.due is not None and (
        active.due < now
        or (active.due == now and isinstance(active.process, processes.CapacitySteps))
    )


def schedule_process(world: World, regional: RegionCapacity, index: int) -> None:
    """Schedule the next change of the process at `index`, if it has one."""
    active = regional.processes[index]
    if active.due is not None:
        name = key_of(regional.region, regional.tier)
        schedule(world, active.due, EventKind.PROCESS_DUE, name, index, active.epoch)


def advance_process(world: World, regional: RegionCapacity, active: ActiveProcess) -> None:
    """Advance a process to its next change, and apply its limit from there."""
    active.tick = _tick_after(active)
    active.limit = _limit_at(active, active.tick)
    active.due = _next_due(world, regional, active)


def _limit(regional: RegionCapacity) -> None:
    limits = [active.limit for active in regional.processes if active.limit is not None]
    regional.limit = min(limits, default=None)


def update_limit(world: World, regional: RegionCapacity) -> None:
    """Recompute the limit, the smallest of all processes, and grant capacity to waiting nodes."""
    _limit(regional)
    grant_waiting(world, regional)


def _tick_after(active: ActiveProcess) -> int:
    """The next tick at which the process changes anything; a trace skips equal values."""
    match active.process:
        case processes.Trace(_, nodes, offset):
            count = nodes[(offset + active.tick) % len(nodes)]
            for ahead in range(1, len(nodes)):
                if nodes[(offset + active.tick + ahead) % len(nodes)] != count:
                    return active.tick + ahead
            return active.tick
        case _:
            return active.tick + 1


def _limit_at(active: ActiveProcess, tick: int) -> int | None:
    match active.process:
        case processes.Constant(nodes):
            return nodes
        case processes.Trace(_, nodes, offset):
            return nodes[(offset + tick) % len(nodes)]
        case processes.CapacitySteps(steps):
            return steps[tick - 1][1] if tick else None
        case processes.OnOff(_, _, nodes):
            return 0 if tick % 2 else nodes
        case _:
            return None


def _next_due(world: World, regional: RegionCapacity, active: ActiveProcess) -> float | None:
    """The time of the process's next change; None if it has none."""
    last_change = active.since if active.due is None else active.due
    pool_key = key_of(regional.region, regional.tier)
    key = f"{world.seed}/source/{pool_key}/{active.serial}/{active.tick}"
    match active.process:
        case processes.Trace(gap):
            next_tick = _tick_after(active)
            return active.since + next_tick * gap if next_tick > active.tick else None
        case processes.CapacitySteps(steps):
            return active.since + steps[active.tick][0] if active.tick < len(steps) else None
        case processes.LossScript(losses):
            return active.since + losses[active.tick][0] if active.tick < len(losses) else None
        case processes.OnOff() if active.tick % 2:
            left_s = active.process.out_s if active.tick < 0 else _outage(active.process, key)
            return last_change + left_s
        case processes.Shock(rate, by_hour=by_hour) | processes.OnOff(rate, by_hour=by_hour):
            wait = processes.exponential(rate, rng.uniform(key))
            return processes.later(by_hour, active.since, last_change, wait)
        case _:
            return None


def _outage(process: processes.OnOff, key: str) -> float:
    if process.cv is None:
        return processes.exponential(HOUR / process.mean_outage_s, rng.uniform(key))
    return rng.log_normal(process.mean_outage_s, process.cv, key)


def request(world: World, regional: RegionCapacity, cluster: Cluster, node: Node) -> None:
    """Request capacity for an allocating or preempted node, which waits if there is none."""
    if _is_free(regional) and _is_within_quotas(world, cluster):
        _grant(world, regional, cluster, node)
    else:
        regional.waiting[cluster.spec.name, node.number] = None


def release(world: World, regional: RegionCapacity, cluster: Cluster, node: Node) -> None:
    """Return a node's capacity, or remove the node from the waiting list."""
    if node.has_capacity:
        _give_back(world, regional, cluster, node)
        for shared in world.capacities.values() if cluster.spec.quotas else (regional,):
            if shared.waiting:  # a quota may be shared with another region or tier
                grant_waiting(world, shared)
    else:
        regional.waiting.pop((cluster.spec.name, node.number), None)


def revoke(world: World, regional: RegionCapacity, cluster: Cluster, node: Node) -> None:
    """Take capacity back from a node that is not up yet; it waits again."""
    _give_back(world, regional, cluster, node)
    billing.stop(world, cluster, node)
    node.epoch = world.new_epoch()
    if cluster.locked:
        cluster.to_request.append(node.number)
    else:
        regional.waiting[cluster.spec.name, node.number] = None
    if node.state is NodeState.PREEMPTED:
        schedule_restore_expiry(world, cluster, node)


def schedule_restore_expiry(world: World, cluster: Cluster, node: Node) -> None:
    """Schedule the moment when the platform stops trying to restore a preempted node."""
    if world.settings.replace:
        at = max(world.now, node.since + world.settings.restore_window_h * HOUR)
        name = cluster.spec.name
        schedule(world, at, _RESTORE_EXPIRED, name, node.number, node.epoch)


def grant_waiting(world: World, regional: RegionCapacity) -> None:
    """Grant free capacity to waiting nodes, first in, first out.

    Nodes that exceed a quota do not hold up those of other clusters.
    """
    if not _is_free(regional):
        return
    kept_out = set()
    for name, number in tuple(regional.waiting):
        if name in kept_out:
            continue
        cluster = world.clusters[name]
        if not _is_within_quotas(world, cluster):
            kept_out.add(name)
            continue
        del regional.waiting[name, number]
        _grant(world, regional, cluster, cluster.nodes[number])
        if not _is_free(regional):
            return


def set_quotas(world: World, limits: Iterable[tuple[str, int]]) -> None:
    """Set the limits of core quotas, and grant capacity to the nodes that they let in."""
    for name, cores in limits:
        world.quotas.setdefault(name, CoreQuota(cores)).limit = cores
    for regional in world.capacities.values():
        grant_waiting(world, regional)


def _is_free(regional: RegionCapacity) -> bool:
    return regional.limit is None or regional.used < regional.limit


def _is_within_quotas(world: World, cluster: Cluster) -> bool:
    """Whether one more node of a cluster exceeds none of its quotas."""
    if not cluster.spec.quotas:
        return True
    cores = cluster.spec.cores
    quotas = (world.quotas[name] for name, _ in cluster.spec.quotas)
    return all(quota.used + cores <= quota.limit for quota in quotas)


def _give_back(world: World, regional: RegionCapacity, cluster: Cluster, node: Node) -> None:
    node.has_capacity = False
    regional.used -= 1
    for name, _ in cluster.spec.quotas:
        world.quotas[name].used -= cluster.spec.cores


def _grant(world: World, regional: RegionCapacity, cluster: Cluster, node: Node) -> None:
    node.has_capacity = True
    regional.used += 1
    for name, _ in cluster.spec.quotas:
        world.quotas[name].used += cluster.spec.cores
    settings = world.settings
    back = node.state is _PREEMPTED
    mean = settings.allocation_s
    if back and settings.replacement_s is not None:
        mean = settings.replacement_s
    if settings.delay_cv:  # an attempt that is cut off is followed by one with its own delay
        attempt = cluster.grants.get(node.number, 0)
        cluster.grants[node.number] = attempt + 1
        mean = delay(world, cluster, node, mean, "allocation", attempt)
    if settings.bill_allocating:
        billing.start(world, node)
    at = world.now + mean
    kind = _RESTORED if back else _ALLOCATED
    schedule(world, at, kind, cluster.spec.name, node.number, node.epoch)


def delay(
    world: World, cluster: Cluster, node: Node, mean: float, purpose: str, attempt: int
) -> float:
    """Sample a delay in seconds with this mean, for one attempt to bring up a node."""
    key = f"{world.seed}/{purpose}/{cluster.tag}/{node.number}/{attempt}"
    return rng.log_normal(mean, world.settings.delay_cv, key)
