"""The last rounds of a run in the shortcut: mini-batch by mini-batch, as the engine has it."""

from __future__ import annotations

from collections import deque
from heapq import heappop
from math import inf
from operator import itemgetter

from mlctl.forecast.shortcut.nodes import READY, Inexact
from mlctl.forecast.shortcut.run import ShortRun
from mlctl.simulator.engine import rules
from mlctl.simulator.engine.jobs import JobStatus

_Attempt = tuple[float, int, int, float]  # (end, node, slot, seconds)


class LastRounds:
    """Goes on from a moment at which mini-batches are queued for the last time; counts into `run`.

    `busy` has how many slots of each node that is up are at work; `idle` are the other slots of
    nodes of which some are.
    """

    def __init__(self, run: ShortRun, at: float) -> None:
        run.count(at)
        self.run = run
        fleet, seconds, slots = run.fleet, run.seconds, run.slots
        self.fleet = fleet
        fleet.tick()
        ready_since = [(node, fleet.since[node]) for node in fleet.up]  # in the order of time
        ends = [
            (node, ready + ((at - ready) // seconds + 1) * seconds) for node, ready in ready_since
        ]
        flight = [(end, node, slot, seconds) for node, end in ends for slot in range(slots)]
        flight.sort(key=itemgetter(0))
        self.flight = deque(flight)
        self.busy = dict.fromkeys(fleet.up, slots)
        self.idle: set[tuple[int, int]] = set()
        self.queue = deque([seconds] * (run.total - run.done - len(self.flight)))
        self.queue[-1] = run.last_seconds

    def carry_out(self) -> JobStatus | None:
        """Return how the run ends; None if it was given up.

        Raises:
            Inexact: something happened that only the engine knows.
        """
        run, fleet, queue = self.run, self.fleet, self.queue
        events, stop, total, full = fleet.events, run.until, run.total, run.seconds
        while True:
            at = min(events[0][0], fleet.due) if events else fleet.due
            flight, limit = self.flight, self._limit()
            if not queue and limit == inf and flight[-1][0] <= min(at, stop):
                run.attempts -= run.total - run.done
                run.count_all()
                run.complete(flight[-1][0])
                return JobStatus.COMPLETED
            while flight and flight[0][0] <= at:
                end, node, slot, _ = flight.popleft()
                if end > stop:
                    run.give_up()
                    return None
                fleet.now = end
                run.done += 1
                if run.done == total:
                    run.complete(end)
                    return JobStatus.COMPLETED
                if queue:
                    seconds = queue.popleft()
                    run.attempts += 1
                    attempt = (end + seconds, node, slot, seconds)
                    if seconds == full and (not flight or flight[-1][0] <= attempt[0]):
                        flight.append(attempt)
                    else:
                        self._insert(attempt)
                else:
                    self._rest(node, slot)
                if run.done >= limit and self._scale(before_nodes=True):
                    at = min(events[0][0], fleet.due) if events else fleet.due
                    limit = self._limit()
            if at > stop:
                run.give_up()
                return None
            if self._happen(at):
                return JobStatus.CANCELED

    def _start(self, node: int, slot: int) -> None:
        seconds = self.queue.popleft()
        self.run.attempts += 1
        self._insert((self.fleet.now + seconds, node, slot, seconds))

    def _insert(self, attempt: _Attempt) -> None:
        """Insert an attempt where it ends, after those that end at the same moment."""
        flight, place = self.flight, len(self.flight)
        while place and flight[place - 1][0] > attempt[0]:
            place -= 1
        flight.insert(place, attempt)

    def _rest(self, node: int, slot: int) -> None:
        """Mark a slot as having nothing left to do."""
        if self.busy[node] == 1:
            self._leave(node)
        else:
            self.idle.add((node, slot))
        self.busy[node] -= 1

    def _limit(self) -> float:
        """R2: how many mini-batches may be done before fewer nodes are wanted; infinity: any."""
        run, fleet = self.run, self.fleet
        pending = len(fleet.coming) + len(fleet.waiting)
        return run.total - (len(fleet.up) + pending - 1) * run.slots if pending else inf

    def _leave(self, node: int) -> None:
        """Release a node whose slots have nothing left to do."""
        if self.idle:
            self.idle = {place for place in self.idle if place[0] != node}

    def _scale(self, *, before_nodes: bool) -> bool:
        """R2: keep as many nodes as the remaining work can use, and those that are up.

        Whether that changed anything.
        """
        run, fleet = self.run, self.fleet
        up = len(fleet.up)
        target = max(run.useful_nodes(run.total - run.done), up)
        if target == up + len(fleet.coming) + len(fleet.waiting) and not fleet.to_request:
            return False
        fleet.scale(target, before_nodes=before_nodes)
        return True

    def _happen(self, at: float) -> bool:
        """Apply the next event of nodes; whether it cancels the run."""
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
        if self.run.is_cancelled():
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
        """Lose a node: its mini-batches in flight are queued again, first."""
        run, fleet = self.run, self.fleet
        if node in fleet.up:
            attempts = [attempt for attempt in self.flight if attempt[1] == node]
            attempts.sort(key=itemgetter(2))
            self.flight = deque([attempt for attempt in self.flight if attempt[1] != node])
            starts = [end - seconds for end, *_, seconds in attempts]
            run.lost_s += rules.lost_node_s(fleet.now, starts, run.slots)
            self.queue.extendleft(seconds for *_, seconds in reversed(attempts))
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
