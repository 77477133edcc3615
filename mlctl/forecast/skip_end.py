"""The last rounds of the usual case, mini-batch by mini-batch: they end in the order of time.

All mini-batches take equally long, but for the very last one, so those in flight are a queue too.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlctl.forecast.skip_alone import Nodes

_READY, _LOST = 1, 3  # the engine's priorities of these events
_SHOCK, _TOO_FAR = -2, -1  # in the place of a node's number
_ROUNDING_S = 1e-6
_ROUNDS = 8  # as far as losses are looked at
_Attempt = tuple[float, int, int, float]  # (end, node, slot, seconds)


class End:
    """Goes on from a moment at which mini-batches are queued for the last time."""

    __slots__ = (
        "at",
        "attempts",
        "busy",
        "coming",
        "done",
        "events",
        "flight",
        "idle",
        "nodes",
        "now",
        "queue",
        "runs",
        "until",
        "up",
    )

    def __init__(self, nodes: Nodes, at: float, done: int, attempts: int) -> None:
        self.nodes, self.runs = nodes, nodes.runs
        self.at = self.now = at
        self.done, self.attempts = done, attempts
        self.coming: set[int] = set()

    def is_undisturbed(self) -> bool:
        """Complete the run if nothing happens to its nodes from here on; whether that is so.

        What is queued goes to the slots in the order in which they are free, round by round. Nodes
        that come later than the last of it was begun are not wanted any more (R2).
        """
        runs, nodes, at = self.runs, self.nodes, self.at
        seconds, slots = runs.seconds, runs.slots
        ends = [one + ((at - one) // seconds + 1) * seconds for one in nodes.since if one <= at]
        queued, up = runs.total - self.done - len(ends) * slots, len(ends)
        if not up:
            return False
        ends.sort()
        rounds, place = divmod((queued - 1) // slots, up)
        begun = ends[place] + rounds * seconds
        end = max(ends[-1], begun + runs.last_seconds)
        if queued > 1:
            rounds, place = divmod((queued - 2) // slots, up)
            end = max(end, ends[place] + (rounds + 1) * seconds)
        if end > min(nodes.loss) or end > nodes.shocks.due:
            return False
        if up < len(nodes.since):
            late = [node for node, ready in enumerate(nodes.since) if ready > at]
            if min([nodes.since[node] for node in late]) - runs.prepares < begun:
                return False
            for node in late:
                nodes.since[node] = nodes.loss[node] = inf
        self.attempts += queued
        self.now = end
        return True

    def carry_out(self) -> bool:
        """Go through the rest; whether it completes."""
        self._begin()
        events, queue = self.events, self.queue
        total, full = self.runs.total, self.runs.seconds
        done = self.done
        while True:
            flight = self.flight
            at = events[0][0]
            limit = self._limit()
            while flight and flight[0][0] <= at:
                end, node, slot, _ = flight.popleft()
                done += 1
                if queue:
                    seconds = queue.pop()
                    self.attempts += 1
                    attempt = (end + seconds, node, slot, seconds)
                    if seconds == full and (not flight or flight[-1][0] <= attempt[0]):
                        flight.append(attempt)
                    else:
                        self._insert(attempt)
                else:
                    self._rest(node, slot)
                if done >= limit:
                    self.now = end
                    self._release(total - done, end)
                    if done == total:
                        return True
                    limit = self._limit()
                if not queue and not self.coming and flight and flight[-1][0] <= at:
                    self.now = flight[-1][0]
                    return True
            self.done = done
            if not self._happen():
                return False

    def _limit(self) -> int:
        """R2: as soon as so many mini-batches are done, not all nodes that come are wanted."""
        runs = self.runs
        if not self.coming:
            return runs.total
        return runs.total - (self.up + len(self.coming) - 1) * runs.slots

    def _begin(self) -> None:
        at, nodes, runs = self.at, self.nodes, self.runs
        since, loss = nodes.since, nodes.loss
        seconds, slots = runs.seconds, runs.slots
        self.until = until = max(at, runs.ready) + _ROUNDS * seconds + runs.again + runs.prepares
        up = sorted(
            [node for node, ready in enumerate(since) if ready <= at], key=since.__getitem__
        )
        self.up = len(up)
        self.busy = dict.fromkeys(up, slots)
        self.idle: set[tuple[int, int]] = set()
        flight = [
            (since[node] + ((at - since[node]) // seconds + 1) * seconds, node, slot, seconds)
            for node in up
            for slot in range(slots)
        ]
        flight.sort(key=itemgetter(0))
        self.flight = deque(flight)
        self.queue = [seconds] * (runs.total - self.done - len(flight))
        self.queue[0] = runs.last_seconds
        self.coming = {node for node, ready in enumerate(since) if ready > at}
        self.events = [(lost, _LOST, node) for node, lost in enumerate(loss) if lost < until]
        self.events += [(since[one], _READY, one) for one in self.coming if since[one] <= loss[one]]
        self.events += [(nodes.shocks.due, _LOST, _SHOCK), (until, _LOST, _TOO_FAR)]
        heapify(self.events)

    def _happen(self) -> bool:
        """Let the next event of a node happen; False where it is not known how to go on."""
        at, kind, node = heappop(self.events)
        self.now = at
        if node == _TOO_FAR:
            return False
        if node == _SHOCK:
            return self._strike()
        if kind == _LOST:
            return self.nodes.loss[node] != at or self._lose([node])
        if self.nodes.since[node] == at and node in self.coming:
            self.coming.discard(node)
            self.up += 1
            self.busy[node] = 0
            self._enter(node)
        return True

    def _strike(self) -> bool:
        """Let a shock happen; False where all nodes are lost."""
        now, shocks, since = self.now, self.nodes.shocks, self.nodes.since
        there = [one for one, ready in enumerate(since) if ready - self.runs.prepares <= now]
        hit = shocks.strike(there)
        heappush(self.events, (shocks.due, _LOST, _SHOCK))
        return self._lose(hit)

    def _lose(self, lost: list[int]) -> bool:
        """Lose nodes; False where all are lost that were up."""
        were_up = self.up
        for node in lost:
            if node in self.busy:
                self._queue_again(node)
            self.nodes.lose(node, self.now)
            self.coming.add(node)
            ready, loss = self.nodes.since[node], self.nodes.loss[node]
            if ready <= loss:
                heappush(self.events, (ready, _READY, node))
            if loss < self.until:
                heappush(self.events, (loss, _LOST, node))
        if were_up and not self.up and self.runs.cancels:
            return False
        self._fill()
        self._release(self.runs.total - self.done, self.now)
        return True

    def _queue_again(self, node: int) -> None:
        """R6: what a lost node had in flight is queued again, first."""
        now, flight = self.now, self.flight
        mine = sorted([one for one in flight if one[1] == node], key=itemgetter(2))
        self.flight = deque([one for one in flight if one[1] != node])
        lost_s = sum([now - (end - seconds) for end, _, _, seconds in mine])
        self.nodes.lost_s += lost_s / self.runs.slots
        self.queue.extend([one[3] for one in reversed(mine)])
        self.idle = {one for one in self.idle if one[0] != node}
        del self.busy[node]
        self.up -= 1

    def _release(self, left: int, now: float) -> None:
        """R2: let nodes go that are not there yet and not wanted, those that come last first."""
        runs, since = self.runs, self.nodes.since
        wanted, away = max(-(-left // runs.slots), self.up), runs.prepares - _ROUNDING_S
        for node in sorted(self.coming, key=lambda one: (-since[one], -one)):
            if self.up + len(self.coming) <= wanted or since[node] - away < now:
                return
            self.coming.discard(node)
            since[node] = self.nodes.loss[node] = inf

    def _start(self, node: int, slot: int) -> None:
        seconds = self.queue.pop()
        self.attempts += 1
        self.busy[node] += 1
        self._insert((self.now + seconds, node, slot, seconds))

    def _insert(self, attempt: _Attempt) -> None:
        """Put an attempt where it ends, after those that end at the same moment."""
        flight, place = self.flight, len(self.flight)
        while place and flight[place - 1][0] > attempt[0]:
            place -= 1
        flight.insert(place, attempt)

    def _rest(self, node: int, slot: int) -> None:
        """A slot has nothing left to do; with the last one of its node the node is idle."""
        self.busy[node] -= 1
        if self.busy[node]:
            self.idle.add((node, slot))
        elif self.idle:
            self.idle = {one for one in self.idle if one[0] != node}

    def _enter(self, node: int) -> None:
        """Start mini-batches on a node that has nothing to do, if there are any."""
        for slot in range(self.runs.slots if self.queue else 0):
            if self.queue:
                self._start(node, slot)
            else:
                self.idle.add((node, slot))

    def _fill(self) -> None:
        """Start what was queued again: on nodes at work first, then on those without work."""
        for node, slot in sorted(self.idle):
            if not self.queue:
                return
            self.idle.discard((node, slot))
            self._start(node, slot)
        for node in sorted(node for node, busy in self.busy.items() if not busy):
            self._enter(node)
