"""The nodes of a cluster in the shortcut: their arrivals, losses, departures and bills.

When a node that is granted capacity comes up, is ready and is lost is known at once. Its loss is an
event; that it is ready is one in the last rounds only, and otherwise noted when it matters
(`note_ready`). The order of what happens at one moment is the engine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappush
from math import inf
from typing import Protocol

from mlctl.forecast.history import TWIN
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut.losses import LossProcesses
from mlctl.simulator.engine import billing, rng, rules
from mlctl.simulator.engine.model import HOUR, ClusterSpec, SimulationSettings, Tier

READY, LOST = 1, 3  # the engine's priorities of these events
_Event = tuple[float, int, int, int, int]  # (time, priority, number, node, epoch)


class FirstNodes(Protocol):
    """The nodes of a first run, by number, as `Fleet` has them, and when any were lost."""

    comes: list[float]
    since: list[float]
    loss: list[float]
    times: list[int]
    lost_at: list[float]
    losses: LossProcesses


class Inexact(Exception):
    """Something happened that only the engine knows."""


class Fleet:
    """The nodes of a cluster by number. The fields of a missing node mean nothing.

    `up` are ready, `coming` have capacity, `waiting` have none. Of those that come: `comes` is when
    a node exists and is billed, `since` when it is ready. `entered` orders those that are not up by
    when they were lost or asked for, `was_lost` tells which it is.
    """

    def __init__(self, scenario: Scenario, seed: str, tier: Tier, bills: list[float]) -> None:
        cluster, settings = scenario.cluster, scenario.settings
        size = cluster.max_instances
        self.seed = seed
        self.ticks = False  # whether readiness is an event
        self.plain_s = settings.preparation_s if settings.delay_cv == 0 else None
        self.tag = tag_of(cluster, tier)
        self.settings = settings
        again = settings.replacement_s
        self.again_s = settings.allocation_s if again is None else again
        self.restore_window_s = settings.restore_window_h * HOUR
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
        self.comes = [0.0] * size
        self.since = [0.0] * size
        self.loss = [inf] * size
        self.times = [0] * size
        self.grants = [0] * size  # attempts to come up, those that were cut off too
        self.epoch = [0] * size
        self.billed_until = [0.0] * size
        self.payer = [0] * size
        self.was_lost = [False] * size
        self.entered = [0.0] * size
        self.to_request: list[int] = []
        self.preempted = 0
        self.lost_usable = False
        self.losses = LossProcesses(scenario, seed, self.tag, tier)

    @property
    def next_loss(self) -> float:
        """Return when the next node with capacity is lost by itself."""
        loss = self.loss
        return min([loss[node] for nodes in (self.up, self.coming) for node in nodes], default=inf)

    @property
    def due(self) -> float:
        """Return when the next shock, script or outage happens."""
        return self.losses.due

    def strikes_at(self, at: float) -> bool:
        """Whether the next event, at `at`, is a shock, script or outage; nodes come before them."""
        events = self.events
        return self.due <= at and not (events and events[0][:2] == (at, READY))

    def strike(self) -> list[int]:
        """Apply the next shock, script or outage; return the nodes that it takes, by number."""
        self.now = at = self.due
        self.note_ready(at)
        existing = sorted([*self.up, *(node for node in self.coming if self.comes[node] <= at)])
        hit, goes_out = self.losses.strike(existing)
        if goes_out:
            self._revoke()
        if self.waiting and not self.losses.out:
            for node in list(self.waiting):
                self._grant(node)
        return hit

    def _revoke(self) -> None:
        """Revoke what was granted to nodes that do not exist yet, the latest first."""
        pending = self._pending(before_nodes=False)
        pending.sort(key=lambda node: (self.was_lost[node], -self.entered[node], -node))
        for node in pending:
            self._forget(node)
            self.waiting[node] = None

    # Nodes come and go.

    def take_over(self, nodes: FirstNodes, at: float, billed_s: float) -> None:
        """Continue with nodes that were independent until now."""
        count = len(nodes.comes)
        self.now, self.paying = at, 0
        self.losses = nodes.losses
        self.preempted = len(nodes.lost_at)
        self.bills[0] += billed_s
        self.comes[:count] = self.billed_until[:count] = nodes.comes
        self.since[:count], self.times[:count], self.loss[:count] = (
            nodes.since,
            nodes.times,
            nodes.loss,
        )
        in_order = sorted(range(count), key=self.since.__getitem__)
        ready = sum([since <= at for since in nodes.since])
        self.up = dict.fromkeys(in_order[:ready])
        self.coming = dict.fromkeys(in_order[ready:])
        for node in self.coming:
            self.was_lost[node] = True
            self.entered[node] = self.comes[node] - self.again_s
        self.events = [
            (loss, LOST, number, number, 0) for number, loss in enumerate(nodes.loss) if loss < inf
        ]
        self.number = count
        heapify(self.events)

    def begin_job(self, count: int, now: float) -> None:
        """Provide nodes for a new run: those that still prepare, and new ones.

        Raises:
            Inexact: nodes are left of the run before, or something else happens right now.
        """
        if self.up or self.waiting or len(self.coming) > count:
            raise Inexact
        if len(self.bills) > 1 and (self.due <= now or (self.events and self.events[0][0] <= now)):
            raise Inexact
        self.now = now
        self.paying = len(self.bills) - 1
        self.preempted = 0
        self.ticks = self.lost_usable = False
        for node in self._unused(count - len(self.coming)):
            self.add(node)

    @property
    def first_ready(self) -> float:
        """Return a moment before which no node is ready."""
        if not self.waiting and not self.coming:
            return self.now
        soonest = min([self.since[node] for node in self.coming], default=inf)
        if self.waiting:  # nothing is granted before an outage is over
            soonest = min(soonest, self.due if self.losses.out else self.now)
        return soonest

    def _unused(self, count: int) -> list[int]:
        """Return the lowest unused node numbers."""
        used = {*self.up, *self.coming, *self.waiting}
        if not used:
            return list(range(count))
        free = (number for number in range(len(self.comes)) if number not in used)
        return [number for number, _ in zip(free, range(count), strict=False)]

    def add(self, node: int) -> None:
        """Request one more node."""
        self.was_lost[node] = False
        self.payer[node] = self.paying or 0
        self.entered[node] = self.now
        if self.losses.out:
            self.waiting[node] = None
        else:
            self._grant(node)

    def _grant(self, node: int) -> None:
        """Give a node capacity: its times are known from here on."""
        settings, again, now = self.settings, self.was_lost[node], self.now
        if again and now - self.comes[node] > self.restore_window_s:
            raise Inexact  # the platform may have given it up
        if self.waiting:
            self.waiting.pop(node, None)
        mean = self.again_s if again else settings.allocation_s
        if self.plain_s is None:
            comes = now + self._delay(node, mean, "allocation", self.grants[node])
            self.grants[node] += 1
            self.times[node] += 1
            wait = self._delay(node, settings.preparation_s, "preparation", self.times[node])
            ready = comes + wait
        else:
            comes = now + mean
            self.times[node] += 1
            ready = comes + self.plain_s
        self.comes[node] = self.billed_until[node] = comes
        self.since[node] = ready
        self.loss[node] = loss = self.losses.of(node, self.times[node], comes)
        self.coming[node] = None
        if loss < inf:
            self.number += 1
            heappush(self.events, (loss, LOST, self.number, node, self.epoch[node]))
        if self.ticks and ready <= loss:
            self._tick(node)

    def tick(self) -> None:
        """Make it an event, from now on, when a node is ready."""
        self.ticks = True
        for node in self.coming:
            if self.since[node] <= self.loss[node]:
                self._tick(node)

    def _tick(self, node: int) -> None:
        self.number += 1
        event = (self.since[node], READY, self.number, node, self.epoch[node])
        heappush(self.events, event)

    def _delay(self, node: int, mean: float, purpose: str, attempt: int) -> float:
        key = f"{self.seed}/{purpose}/{self.tag}/{node}/{attempt}"
        return rng.log_normal(mean, self.settings.delay_cv, key)

    def note_ready(self, at: float) -> None:
        """Record which nodes are ready by now, the first ones first."""
        if self.coming:
            since, loss = self.since, self.loss
            ready = [
                node for node in self.coming if since[node] <= at and since[node] <= loss[node]
            ]
            if len(ready) > 1:
                ready.sort(key=since.__getitem__)
            if len(self.bills) > 1:
                for node in ready:
                    self._change_payer(node)
            self.up.update(dict.fromkeys(ready))
            for node in ready:
                del self.coming[node]

    def ready(self, node: int) -> None:
        """Mark a node as ready."""
        self._change_payer(node)
        del self.coming[node]
        self.up[node] = None

    def _change_payer(self, node: int) -> None:
        """Bill a node to the run that it works for from when it was ready."""
        if self.payer[node] != self.paying and self.paying is not None:
            self._book(node)
            self.payer[node] = self.paying

    def lose(self, node: int, *, cancels: bool) -> None:
        """Preempt a node; `request_lost` requests it again."""
        usable = node in self.up
        ended = rules.lost_last_node(len(self.up), cancels=cancels, was_usable=self.lost_usable)
        if self.payer[node] == self.paying and not ended:
            self.preempted += 1
        self.stop(node)
        self.epoch[node] += 1
        if usable:
            del self.up[node]
            self.lost_usable = True
        else:
            del self.coming[node]
        self.was_lost[node] = True
        self.comes[node] = self.now  # since when it is lost
        self.entered[node] = self.now
        self.to_request.append(node)
        self.waiting[node] = None

    def request_lost(self) -> None:
        """R4: request lost nodes again."""
        if self.to_request:
            self.lost_usable = False
            if not self.losses.out:
                for node in self.to_request:
                    if node in self.waiting:
                        self._grant(node)
            self.to_request.clear()

    def scale(self, target: int, *, before_nodes: bool) -> None:
        """Drop surplus nodes that do not exist yet, or request missing ones.

        `before_nodes`: those that come at this very moment have not come yet.
        """
        excess = len(self.up) + len(self.coming) + len(self.waiting) - target
        if excess > 0:
            pending = [*self.waiting, *self._pending(before_nodes=before_nodes)]
            pending.sort(key=lambda node: (not self.was_lost[node], -self.entered[node], -node))
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
        """Drop a node that does not exist yet."""
        if node in self.waiting:
            del self.waiting[node]
        else:
            self._forget(node)

    def _forget(self, node: int) -> None:
        """Undo `_grant`, of which nothing has happened."""
        del self.coming[node]
        self.times[node] -= 1
        self.epoch[node] += 1

    def end_job(self, *, completed: bool) -> None:
        """End the run: nodes that do not exist yet are dropped, others idle out."""
        for node in [*self.waiting, *self._pending(before_nodes=completed)]:
            self.remove(node)
        self.to_request.clear()
        self.paying = None
        for node in self.up:
            self.idle_since[node] = self.now

    # What nodes are billed.

    def _book(self, node: int) -> None:
        """Bill a node to its payer, from its last bill until it was ready."""
        self.bills[self.payer[node]] += self.since[node] - self.billed_until[node]
        self.billed_until[node] = self.since[node]

    def stop(self, node: int) -> None:
        """Bill a node until now, for the last time."""
        comes = self.comes[node]
        billed = self.billed_until[node] - comes
        self.bills[self.payer[node]] += billed_s((self.now - comes,), self.settings) - billed

    def leave_all(self, ends: Mapping[int, float]) -> None:
        """End all nodes after the last run, each by its own loss if that is before its end."""
        if len(self.bills) > 1:
            for node, end in ends.items():
                self.leave(node, end)
        else:
            loss, comes = self.loss, self.comes
            lives = [min(end, loss[node]) - comes[node] for node, end in ends.items()]
            self.bills[0] += billed_s(lives, self.settings)

    def leave(self, node: int, end: float) -> None:
        """End a node after the last run, by its own loss if that is before `end`."""
        self.now = min(end, self.loss[node])
        self.stop(node)
        self.up.pop(node, None)
        self.coming.pop(node, None)


def tag_of(cluster: ClusterSpec, tier: Tier) -> str:
    """Return the key of a cluster's draws; its dedicated twin has another name."""
    return cluster.name if tier is cluster.tier else cluster.name + TWIN


def billed_s(lives: Iterable[float], settings: SimulationSettings) -> float:
    """Return the billed seconds of nodes: whole units, and at least the minimum."""
    unit, least = settings.billing_granularity_s, settings.min_bill_s
    if unit:
        lives = [(seconds / unit + billing.ROUNDING_S) // 1.0 * unit for seconds in lives]
    return sum([max(seconds, least) for seconds in lives] if least else lives)
