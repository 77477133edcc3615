"""The nodes of a cluster in the shortcut: when they come, are lost and go, and what they bill.

When a node that is granted capacity comes up, is ready and is lost is known at once. Its loss is an
event; that it is ready is one in the last rounds only, and otherwise noted when it matters
(`note_ready`). The draws are the engine's (`engine.nodes`,
`engine.capacity`, `engine.preemption`), and so is the order of what happens at one moment.
"""

from __future__ import annotations

from hashlib import blake2b
from heapq import heapify, heappush
from math import floor, inf, log1p

from mlctl.forecast.scenario import Scenario
from mlctl.simulator.engine import capacity, processes, rng
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import (
    ALL,
    Bathtub,
    HyperExponential,
    LossScript,
    Poisson,
    Shock,
    Weibull,
)
from mlctl.simulator.engine.state import ActiveProcess, World

READY, LOST = 1, 3  # the engine's priorities of these events
_ROUNDING_S = 1e-9  # as in `engine.billing`
_SCALE = 2.0**-53
_TWIN = "#dedicated"
_Event = tuple[float, int, int, int, int]  # (time, priority, number, node, epoch)


class Inexact(Exception):
    """Something happened that only the engine knows."""


class Fleet:
    """The nodes of a cluster by number. Fields of a node that is not there mean nothing.

    `up` are ready, `coming` have capacity, `waiting` have none. Of those that come: `comes` is when
    a node exists and is billed, `since` when it is ready. `entered` orders those that are not up by
    when they were lost or asked for, `was_lost` tells which it is.
    """

    def __init__(self, scenario: Scenario, seed: str, tier: Tier, bills: list[float]) -> None:
        cluster, settings = scenario.cluster, scenario.settings
        most = cluster.max_instances
        self.seed = seed
        self.ticks = False  # whether readiness is an event
        self.out = False  # whether there is an outage
        self.plain_s = settings.preparation_s if settings.delay_cv == 0 else None
        self.tag = cluster.name if tier is cluster.tier else cluster.name + _TWIN
        self.settings = settings
        self.unit_s, self.least_s = settings.billing_granularity_s, settings.min_bill_s
        self.idle_s = cluster.idle_s
        self.bills = bills
        self.paying: int | None = None  # the run that nodes work for
        self.now = 0.0
        self.events: list[_Event] = []
        self.number = 0
        self.up: dict[int, None] = {}
        self.coming: dict[int, None] = {}
        self.waiting: dict[int, None] = {}
        self.idle_since: dict[int, float] = {}
        self.comes = [0.0] * most
        self.since = [0.0] * most
        self.loss = [inf] * most
        self.times = [0] * most
        self.epoch = [0] * most
        self.billed_until = [0.0] * most
        self.payer = [0] * most
        self.was_lost = [False] * most
        self.entered = [0] * most
        self.to_request: list[int] = []
        self.preempted = 0
        self.lost_usable = False
        self.lives: list[tuple[str, processes.LifetimeProcess]] = []
        self.rate = 0.0
        self.due = inf
        again_s = settings.replacement_s
        self.again_s = settings.allocation_s if again_s is None else again_s
        if tier is Tier.LOW_PRIORITY and scenario.processes:
            self._set_processes(scenario)

    @property
    def usual(self) -> bool:
        """Whether `replace` knows all: losses at one rate, and delays that are not random."""
        return bool(self.rate) and self.plain_s is not None

    # What takes nodes away.

    def _set_processes(self, scenario: Scenario) -> None:
        lives = (Poisson, HyperExponential, Weibull, Bathtub)
        for serial, process in enumerate(scenario.processes, 1):
            if isinstance(process, lives):
                key = f"{self.seed}/life/{serial}/{self.tag}/"
                self.lives.append((key, process))
        only = self.lives[0][1] if len(self.lives) == 1 else None
        if isinstance(only, Poisson) and only.by_hour is None:
            self.rate = only.rate
        if len(self.lives) == len(scenario.processes):
            return
        self.world = World(self.seed, settings=self.settings)
        self.world.preemption = tuple(map(_by_time, scenario.processes))
        region = scenario.cluster.region
        self.region = capacity.region_capacity(self.world, region, Tier.LOW_PRIORITY)
        self.sources = [one for one in self.region.processes if one.due is not None]
        self._next_source()

    def _next_source(self) -> None:
        self.due = min((one.due for one in self.sources if one.due is not None), default=inf)

    def _loss(self, node: int, at: float) -> float:
        """When a node that exists from `at` on is lost, by its own; the engine's draw."""
        if self.rate:  # the usual case, without the calls
            key = f"{self.lives[0][0]}{node}/{self.times[node]}"
            draw = blake2b(key.encode(), digest_size=8).digest()
            u = (int.from_bytes(draw, "little") >> 11) * _SCALE
            return at + -log1p(-u) / self.rate * HOUR
        soonest = inf
        for key, process in self.lives:
            life = processes.lifetime(process, rng.uniform(f"{key}{node}/{self.times[node]}"))
            by_hour = process.by_hour if isinstance(process, Poisson) else None
            soonest = min(soonest, processes.later(by_hour, 0.0, at, life))
        return soonest

    def strikes_at(self, at: float) -> bool:
        """Whether the next event, at `at`, is a shock, script or outage; nodes come before them."""
        events = self.events
        return self.due <= at and not (events and events[0][:2] == (at, READY))

    def strike(self) -> list[int]:
        """Let the next shock, script or outage happen; the nodes that it takes, by number."""
        self.now = at = self.due
        self.note_ready(at)
        active = next(one for one in self.sources if one.due == at)
        self.sources.remove(active)
        self.sources.append(active)  # what was scheduled first comes first, as in the engine
        hit = self._hit(active)
        capacity.advance_process(self.world, self.region, active)
        if active.limit == 0:
            self._revoke()
        self.out = any(one.limit == 0 for one in self.sources)
        if self.waiting and not self.out:
            for node in list(self.waiting):
                self._grant(node)
        self._next_source()
        return hit

    def _hit(self, active: ActiveProcess) -> list[int]:
        there = sorted([*self.up, *(one for one in self.coming if self.comes[one] <= self.now)])
        match active.process:
            case Shock(_, fraction):
                where = capacity.key_of(self.region.region, self.region.tier)
                key = f"{self.seed}/shock/{where}/{active.serial}/{active.tick}"
                random = rng.generator(key).random
                return [node for node in there if random() < fraction]
            case LossScript(losses):
                _, which = losses[active.tick]
                return [node for node in there if which in (ALL, node)]
            case _:
                return there if active.limit != 0 else []

    def _revoke(self) -> None:
        """Take back what was granted to nodes that do not exist yet, the latest first."""
        pending = self._pending(before_nodes=False)
        pending.sort(key=lambda node: (self.was_lost[node], -self.entered[node]))
        for node in pending:
            self._forget(node)
            self.waiting[node] = None

    # Nodes come and go.

    def begin_job(self, wanted: int, now: float) -> None:
        """Have so many nodes for a new run: those that prepare still, and new ones.

        Raises:
            Inexact: nodes are left of the run before, or something else happens right now.
        """
        if self.up or self.waiting or len(self.coming) > wanted:
            raise Inexact
        if len(self.bills) > 1 and (self.due <= now or (self.events and self.events[0][0] <= now)):
            raise Inexact
        self.now = now
        self.paying = len(self.bills) - 1
        self.preempted = 0
        self.ticks = self.lost_usable = False
        if self.rate and self.plain_s is not None and not (self.out or any(self.times)):
            self._begin_at_once(wanted, self.plain_s)
            return
        for node in self._unused(wanted - len(self.coming)):
            self.add(node)

    def _begin_at_once(self, wanted: int, preparation_s: float) -> None:
        """What `add` does for the first nodes, of which all but the losses are the same."""
        most, life, rate = len(self.comes), self.lives[0][0], self.rate
        comes = self.now + self.settings.allocation_s
        self.comes, self.billed_until = [comes] * most, [comes] * most
        self.since = [comes + preparation_s] * most
        self.payer = [self.paying or 0] * most
        self.coming = dict.fromkeys(range(wanted))
        for node in range(wanted):
            self.times[node] = 1
            self.entered[node] = node
            draw = blake2b(f"{life}{node}/1".encode(), digest_size=8).digest()
            u = (int.from_bytes(draw, "little") >> 11) * _SCALE
            self.loss[node] = loss = comes + -log1p(-u) / rate * HOUR
            self.events.append((loss, LOST, node, node, 0))
        self.number = wanted
        heapify(self.events)

    @property
    def first_ready(self) -> float:
        """A moment before which no node is ready."""
        if self.waiting or not self.coming:
            return self.now
        return min(self.since[node] for node in self.coming)

    def _unused(self, count: int) -> list[int]:
        """The lowest numbers that no node has."""
        taken = {*self.up, *self.coming, *self.waiting}
        if not taken:
            return list(range(count))
        free = (number for number in range(len(self.comes)) if number not in taken)
        return [number for number, _ in zip(free, range(count), strict=False)]

    def add(self, node: int) -> None:
        """Ask for one more node."""
        self.was_lost[node] = False
        self.payer[node] = self.paying or 0
        self._enter(node)
        if self.out:
            self.waiting[node] = None
        else:
            self._grant(node)

    def _enter(self, node: int) -> None:
        self.number += 1
        self.entered[node] = self.number

    def _grant(self, node: int) -> None:
        """Give a node capacity: its times are known from here on."""
        settings, again, now = self.settings, self.was_lost[node], self.now
        if again and now - self.comes[node] > settings.restore_window_h * HOUR:
            raise Inexact  # the platform may have given it up
        if self.waiting:
            self.waiting.pop(node, None)
        mean = settings.allocation_s
        if again and settings.replacement_s is not None:
            mean = settings.replacement_s
        if self.plain_s is None:
            comes = now + self._delay(node, mean, "allocation")
            self.times[node] += 1
            ready = comes + self._delay(node, settings.preparation_s, "preparation")
        else:
            comes = now + mean
            self.times[node] += 1
            ready = comes + self.plain_s
        self.comes[node] = self.billed_until[node] = comes
        self.since[node] = ready
        self.loss[node] = loss = self._loss(node, comes)
        self.coming[node] = None
        if loss < inf:
            self.number += 1
            heappush(self.events, (loss, LOST, self.number, node, self.epoch[node]))
        if self.ticks and ready <= loss:
            self._tick(node)

    def tick(self) -> None:
        """From now on let it be an event when a node is ready."""
        self.ticks = True
        for node in self.coming:
            if self.since[node] <= self.loss[node]:
                self._tick(node)

    def _tick(self, node: int) -> None:
        self.number += 1
        event = (self.since[node], READY, self.number, node, self.epoch[node])
        heappush(self.events, event)

    def _delay(self, node: int, mean: float, purpose: str) -> float:
        key = f"{self.seed}/{purpose}/{self.tag}/{node}/{self.times[node]}"
        return rng.log_normal(mean, self.settings.delay_cv, key)

    def note_ready(self, at: float) -> None:
        """Note which nodes are ready by now, the first ones first."""
        if self.coming:
            since, loss = self.since, self.loss
            there = [one for one in self.coming if since[one] <= at and since[one] <= loss[one]]
            if len(there) > 1:
                there.sort(key=since.__getitem__)
            for node in there:
                self.ready(node)

    def ready(self, node: int) -> None:
        """A node is ready."""
        if self.payer[node] != self.paying and self.paying is not None:
            self._book(node)
            self.payer[node] = self.paying
        del self.coming[node]
        self.up[node] = None

    def lose(self, node: int, *, cancels: bool) -> None:
        """A node is preempted; it is asked for again by `request_lost`."""
        usable = node in self.up
        ended = cancels and self.lost_usable and not self.up  # by a loss a moment before
        if self.payer[node] == self.paying and not ended:
            self.preempted += 1
        self._stop(node)
        self.epoch[node] += 1
        if usable:
            del self.up[node]
            self.lost_usable = True
        else:
            del self.coming[node]
        self.was_lost[node] = True
        self.comes[node] = self.now  # since when it is lost
        self._enter(node)
        self.to_request.append(node)
        self.waiting[node] = None

    def replace(self, node: int) -> None:
        """What `lose` and `request_lost` do, where others are up and all is `usual`; quicker."""
        self.preempted += self.payer[node] == self.paying
        self._stop(node)
        self.epoch[node] = epoch = self.epoch[node] + 1
        self.times[node] = times = self.times[node] + 1
        self.was_lost[node] = True
        del self.up[node]
        self.coming[node] = None
        self.comes[node] = self.billed_until[node] = comes = self.now + self.again_s
        self.since[node] = comes + (self.plain_s or 0.0)
        draw = blake2b(f"{self.lives[0][0]}{node}/{times}".encode(), digest_size=8).digest()
        u = (int.from_bytes(draw, "little") >> 11) * _SCALE
        self.loss[node] = loss = comes + -log1p(-u) / self.rate * HOUR
        self.number = number = self.number + 1
        self.entered[node] = number
        heappush(self.events, (loss, LOST, number, node, epoch))

    def request_lost(self) -> None:
        """R4: ask for lost nodes again."""
        if self.to_request:
            self.lost_usable = False
            if not self.out:
                for node in self.to_request:
                    if node in self.waiting:
                        self._grant(node)
            self.to_request.clear()

    def scale(self, target: int, *, before_nodes: bool) -> None:
        """Let nodes that are not there yet go where there are too many, and ask for missing ones.

        `before_nodes`: those that come at this very moment have not come yet.
        """
        excess = len(self.up) + len(self.coming) + len(self.waiting) - target
        if excess > 0:
            pending = [*self.waiting, *self._pending(before_nodes=before_nodes)]
            pending.sort(key=lambda node: (not self.was_lost[node], -self.entered[node]))
            for node in pending[:excess]:
                self.remove(node)
        self.request_lost()
        for node in self._unused(max(-excess, 0)):
            self.add(node)

    def _pending(self, *, before_nodes: bool) -> list[int]:
        now, comes = self.now, self.comes
        return [
            node
            for node in self.coming
            if comes[node] > now or (before_nodes and comes[node] == now)
        ]

    def remove(self, node: int) -> None:
        """Let a node go that was not there yet."""
        if node in self.waiting:
            del self.waiting[node]
        else:
            self._forget(node)

    def _forget(self, node: int) -> None:
        """Take back what `_grant` gave: none of it has happened."""
        del self.coming[node]
        self.times[node] -= 1
        self.epoch[node] += 1

    def end_job(self, *, completed: bool) -> None:
        """The run is over: nodes that are not there yet go, others idle out."""
        for node in [*self.waiting, *self._pending(before_nodes=completed)]:
            self.remove(node)
        self.to_request.clear()
        self.paying = None
        for node in self.up:
            self.idle_since[node] = self.now

    # What nodes are billed.

    def _book(self, node: int) -> None:
        """Bill a node to its payer from when it was billed last until it was ready."""
        self.bills[self.payer[node]] += self.since[node] - self.billed_until[node]
        self.billed_until[node] = self.since[node]

    def _stop(self, node: int) -> None:
        """Bill a node until now, for the last time."""
        now, unit = self.now, self.unit_s
        elapsed = now - self.comes[node]
        whole = floor(elapsed / unit + _ROUNDING_S) * unit if unit else elapsed
        whole = max(whole, self.least_s)
        self.bills[self.payer[node]] += now - self.billed_until[node] + (whole - elapsed)

    def settle(self) -> None:
        """Bill nodes until their idle time is over, or until they are lost."""
        ends = {node: since + self.idle_s for node, since in self.idle_since.items()}
        ends |= {node: self.since[node] + self.idle_s for node in self.coming}
        last = max(ends.values(), default=0.0)
        while ends and self.due <= last:
            self._settle_until(ends, self.due)
            for node in self.strike():
                if node in ends:
                    self._stop(node)
                    del ends[node]
                    self.up.pop(node, None)
                    self.coming.pop(node, None)
        self._settle_until(ends, inf)

    def _settle_until(self, ends: dict[int, float], at: float) -> None:
        """Bill the nodes whose time is over before `at`."""
        loss = self.loss
        for node in [one for one, end in ends.items() if end < at or loss[one] < at]:
            self.now = min(ends.pop(node), loss[node])
            self._stop(node)
            self.up.pop(node, None)
            self.coming.pop(node, None)


def _by_time(process: processes.PreemptionProcess) -> processes.PreemptionProcess:
    """A script in the order of its seconds, as the engine has it."""
    if isinstance(process, LossScript):
        return LossScript(tuple(sorted(process.losses, key=lambda loss: loss[0])))
    return process
