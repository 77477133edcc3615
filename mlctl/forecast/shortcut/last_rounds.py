"""The last rounds of a run in the shortcut: mini-batch by mini-batch, as the engine has it."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING

from mlctl.forecast.shortcut.nodes import READY, Inexact
from mlctl.simulator.engine.jobs import JobStatus

if TYPE_CHECKING:
    from mlctl.forecast.shortcut.history import Run

_Attempt = tuple[float, int, int, int, float]  # (end, number, node, slot, seconds)


class LastRounds:
    """Goes on from a moment at which mini-batches are queued for the last time; counts into `run`.

    `busy` has how many slots of each node that is up are at work; `idle` are the other slots of
    nodes of which some are.
    """

    def __init__(self, run: Run, at: float) -> None:
        run.count(at)
        self.run = run
        fleet, seconds, slots = run.fleet, run.seconds, run.slots
        self.fleet = fleet
        fleet.tick()
        self.number = 0
        self.flight: list[_Attempt] = []
        for node in fleet.up:  # in the order in which they were ready
            since = fleet.since[node]
            end = since + (int((at - since) // seconds) + 1) * seconds
            for slot in range(slots):
                self.number += 1
                self.flight.append((end, self.number, node, slot, seconds))
        heapify(self.flight)
        self.busy = dict.fromkeys(fleet.up, slots)
        self.idle: set[tuple[int, int]] = set()
        self.queue = deque([seconds] * (run.total - run.done - len(self.flight)))
        self.queue[-1] = run.last_seconds

    def carry_out(self) -> JobStatus | None:
        """How the run ends; None where it was given up.

        Raises:
            Inexact: something happened that only the engine knows.
        """
        run, fleet, queue = self.run, self.fleet, self.queue
        events, until, total, busy = fleet.events, run.until, run.total, self.busy
        while True:
            at = min(events[0][0], fleet.due) if events else fleet.due
            flight = self.flight
            while flight and flight[0][0] <= at:
                end, _, node, slot, _ = flight[0]
                if end > until:
                    self._give_up()
                    return None
                fleet.now = end
                run.done += 1
                if run.done == total:
                    fleet.end_job(completed=True)
                    return JobStatus.COMPLETED
                if queue:
                    seconds = queue.popleft()
                    self.number += 1
                    run.attempts += 1
                    heapreplace(flight, (end + seconds, self.number, node, slot, seconds))
                else:
                    heappop(flight)
                    if busy[node] == 1:
                        self._leave(node)
                    else:
                        self.idle.add((node, slot))
                    busy[node] -= 1
                if (fleet.coming or fleet.waiting) and self._scale(before_nodes=True):
                    at = min(events[0][0], fleet.due) if events else fleet.due
            if at > until:
                self._give_up()
                return None
            if self._happen(at):
                return JobStatus.CANCELED

    def _give_up(self) -> None:
        self.fleet.now = self.run.until
        self.fleet.end_job(completed=False)

    def _start(self, node: int, slot: int) -> None:
        seconds = self.queue.popleft()
        self.number += 1
        self.run.attempts += 1
        attempt = (self.fleet.now + seconds, self.number, node, slot, seconds)
        heappush(self.flight, attempt)

    def _leave(self, node: int) -> None:
        """A node has nothing left to do: its slots are not idle, but it is."""
        if self.idle:
            self.idle = {one for one in self.idle if one[0] != node}

    def _scale(self, *, before_nodes: bool) -> bool:
        """R2: keep as many nodes as what is left can use, and those that are up.

        Whether that changed anything.
        """
        run, fleet = self.run, self.fleet
        left, up = run.total - run.done, len(fleet.up)
        wanted = min(run.instance_count, (left + run.slots - 1) // run.slots)
        target = min(max(wanted, up), len(fleet.comes))
        if target == up + len(fleet.coming) + len(fleet.waiting) and not fleet.to_request:
            return False
        fleet.scale(target, before_nodes=before_nodes)
        return True

    def _happen(self, at: float) -> bool:
        """Let the next event of nodes happen; whether it cancels the run."""
        fleet = self.fleet
        events = fleet.events
        if fleet.strikes_at(at):
            lost = fleet.strike()
        else:
            _, kind, _, node, epoch = heappop(events)
            if epoch != fleet.epoch[node]:
                return False
            fleet.now = at
            if kind == READY:
                self._ready(node)
                return False
            lost = [node]
        for node in lost:
            self._lose(node)
        if self.run.cancels and not fleet.up and fleet.lost_usable:
            fleet.end_job(completed=False)
            return True
        self._fill()
        self._scale(before_nodes=False)
        return False

    def _ready(self, node: int) -> None:
        fleet, queue = self.fleet, self.queue
        if not queue and fleet.payer[node] != fleet.paying:
            raise Inexact  # it idles for nobody
        if node not in fleet.coming:
            return
        fleet.ready(node)
        self.busy[node] = 0
        self._enter(node)

    def _enter(self, node: int) -> None:
        """Start mini-batches on a node that has nothing to do, if there are any."""
        if self.queue:
            for slot in range(self.run.slots):
                if self.queue:
                    self.busy[node] += 1
                    self._start(node, slot)
                else:
                    self.idle.add((node, slot))

    def _lose(self, node: int) -> None:
        """Lose a node: what it had in flight is queued again, first."""
        run, fleet = self.run, self.fleet
        if node in fleet.up:
            mine = sorted((one for one in self.flight if one[2] == node), key=lambda one: one[3])
            self.flight = [one for one in self.flight if one[2] != node]
            heapify(self.flight)
            run.lost_s += sum(fleet.now - (end - seconds) for end, *_, seconds in mine) / run.slots
            self.queue.extendleft(seconds for *_, seconds in reversed(mine))
            self._leave(node)
            del self.busy[node]
        fleet.lose(node, cancels=run.cancels)

    def _fill(self) -> None:
        """Start what was queued again: on nodes at work first, then on those without work."""
        if not self.queue:
            return
        for node, slot in sorted(self.idle):
            if not self.queue:
                return
            self.idle.discard((node, slot))
            self.busy[node] += 1
            self._start(node, slot)
        for node in sorted(node for node, busy in self.busy.items() if not busy):
            self._enter(node)
