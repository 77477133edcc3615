"""The capacity of a region and tier: who has a share, who waits for one, and how much there is."""

from __future__ import annotations

from mlctl.simulator.engine import rng
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import (
    Capacity,
    Constant,
    OnOff,
    Preemption,
    Script,
    Shock,
    Steps,
    Trace,
    exponential,
)
from mlctl.simulator.engine.state import (
    Cluster,
    Kind,
    Market,
    Node,
    NodeState,
    Source,
    World,
    schedule,
)


def of(world: World, region: str, tier: Tier) -> Market:
    """The market of a region and tier, opened where it was not."""
    name = name_of(region, tier)
    market = world.markets.get(name)
    if market is None:
        market = world.markets[name] = Market(region, tier)
        renew(world, market)
    return market


def name_of(region: str, tier: Tier) -> str:
    """What a market is called."""
    return f"{region}/{tier.value}"


def renew(world: World, market: Market) -> None:
    """Take the world's processes as they were last set; those that were set before go on."""
    before = market.sources
    market.sources = []
    capacity = world.capacity.get(market.tier)
    if capacity is not None:
        _add(world, market, before, capacity, world.capacity_since[market.tier])
    if market.tier is Tier.LOW_PRIORITY:
        for process in world.preemption:
            _add(world, market, before, process, world.preemption_since)
    _limit(market)
    serve(world, market)


def _add(
    world: World,
    market: Market,
    before: list[Source],
    process: Preemption | Capacity,
    since: float,
) -> None:
    """Go on with a source that is there from `before`, under its new place; or open a new one."""
    for source in before:
        if source.process == process and source.since == since:
            before.remove(source)
            source.epoch = world.new_epoch()
            break
    else:
        market.serials += 1
        source = Source(process, market.serials, since, world.new_epoch())
        source.limit = _limit_at(source, 0)
        source.at = _next(world, market, source)
        while source.at is not None and _is_past(source, world.now):
            turn(world, market, source)
    market.sources.append(source)
    plan(world, market, len(market.sources) - 1)


def _is_past(source: Source, now: float) -> bool:
    """Limits hold from their moment on; a loss that is due now is still to come."""
    return source.at is not None and (
        source.at < now or (source.at == now and isinstance(source.process, Steps))
    )


def plan(world: World, market: Market, index: int) -> None:
    """Schedule the next turn of a source."""
    source = market.sources[index]
    if source.at is not None:
        name = name_of(market.region, market.tier)
        schedule(world, source.at, Kind.STRIKE, name, index, source.epoch)


def turn(world: World, market: Market, source: Source) -> None:
    """Let a source's moment pass: on to its next tick, with the limit that holds from then on."""
    source.tick = _tick_after(source)
    source.limit = _limit_at(source, source.tick)
    source.at = _next(world, market, source)


def _limit(market: Market) -> None:
    limits = [source.limit for source in market.sources if source.limit is not None]
    market.limit = min(limits, default=None)


def relimit(world: World, market: Market) -> None:
    """Draw the conclusion from a source that moved on: waiting nodes may get their share."""
    _limit(market)
    serve(world, market)


def _tick_after(source: Source) -> int:
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


def _limit_at(source: Source, tick: int) -> int | None:
    match source.process:
        case Constant(nodes):
            return nodes
        case Trace(_, nodes, offset):
            return nodes[(offset + tick) % len(nodes)]
        case Steps(steps):
            return steps[tick - 1][1] if tick else None
        case OnOff(_, _, nodes):
            return 0 if tick % 2 else nodes
        case _:
            return None


def _next(world: World, market: Market, source: Source) -> float | None:
    """When the source's next turn comes; None when it has none."""
    before = source.since if source.at is None else source.at
    key = f"{world.seed}/source/{name_of(market.region, market.tier)}/{source.serial}/{source.tick}"
    match source.process:
        case Trace(gap):
            after = _tick_after(source)
            return source.since + after * gap if after > source.tick else None
        case Steps(steps):
            return source.since + steps[source.tick][0] if source.tick < len(steps) else None
        case Script(losses):
            return source.since + losses[source.tick][0] if source.tick < len(losses) else None
        case Shock(rate):
            return before + exponential(rate, rng.uniform(key))
        case OnOff(rate, mean):
            often = HOUR / mean if source.tick % 2 else rate
            return before + exponential(often, rng.uniform(key))
        case _:
            return None


def request(world: World, market: Market, cluster: Cluster, node: Node) -> None:
    """Ask for capacity for a node that is allocating or preempted; it may have to wait."""
    if market.limit is None or market.held < market.limit:
        _grant(world, market, cluster, node)
    else:
        market.waiting[cluster.spec.name, node.number] = None


def release(world: World, market: Market, cluster: Cluster, node: Node) -> None:
    """Give a node's share back, or its place among those who wait."""
    if node.holds:
        node.holds = False
        market.held -= 1
        if market.waiting:
            serve(world, market)
    else:
        market.waiting.pop((cluster.spec.name, node.number), None)


def revoke(world: World, market: Market, cluster: Cluster, node: Node) -> None:
    """Take back the share of a node that is not up yet: it waits again."""
    node.holds = False
    node.epoch = world.new_epoch()
    market.held -= 1
    if cluster.locked:
        cluster.to_seek.append(node.number)
    else:
        market.waiting[cluster.spec.name, node.number] = None
    if node.state is NodeState.PREEMPTED:
        expect_end(world, cluster, node)


def expect_end(world: World, cluster: Cluster, node: Node) -> None:
    """Plan when the platform gives up to bring a preempted node back."""
    if world.settings.replace:
        at = max(world.now, node.since + world.settings.restore_window_h * HOUR)
        name = cluster.spec.name
        schedule(world, at, Kind.RESTORE_EXPIRED, name, node.number, node.epoch)


def serve(world: World, market: Market) -> None:
    """Give what there is to those who wait, first come, first served."""
    while market.waiting and (market.limit is None or market.held < market.limit):
        name, number = first = next(iter(market.waiting))
        del market.waiting[first]
        cluster = world.clusters[name]
        _grant(world, market, cluster, cluster.nodes[number])


def _grant(world: World, market: Market, cluster: Cluster, node: Node) -> None:
    node.holds = True
    market.held += 1
    settings = world.settings
    back = node.state is NodeState.PREEMPTED
    mean = settings.allocation_s
    if back and settings.replacement_s is not None:
        mean = settings.replacement_s
    at = world.now + delay(world, cluster, node, mean, "allocation")
    kind = Kind.RESTORED if back else Kind.ALLOCATED
    schedule(world, at, kind, cluster.spec.name, node.number, node.epoch)


def delay(world: World, cluster: Cluster, node: Node, mean: float, purpose: str) -> float:
    """How long something takes for a node this time."""
    if world.settings.delay_cv == 0:
        return mean
    time = cluster.lives.get(node.number, 0)
    key = f"{world.seed}/{purpose}/{cluster.tag}/{node.number}/{time}"
    return rng.log_normal(mean, world.settings.delay_cv, key)
