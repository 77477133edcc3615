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
    from mlctl.forecast.skip_first import FirstRuns, Lives

_READY, _LOST = 1, 3  # the engine's priorities of these events
_ROUNDING_S = 1e-6
_ROUNDS = 8  # as far as losses are looked at
_Attempt = tuple[float, int, int, float]  # (end, node, slot, seconds)


class End:
    """Goes on from a moment at which mini-batches are queued for the last time.

    `since` tells when a node is ready, infinity where it is let go; `loss` when it is lost, and
    `lived` for how long nodes were there that are lost.
    """

    __slots__ = (
        "at",
        "attempts",
        "busy",
        "coming",
        "done",
        "events",
        "flight",
        "idle",
        "lived",
        "lives",
        "loss",
        "lost_at",
        "lost_s",
        "now",
        "queue",
        "runs",
        "since",
        "times",
        "until",
        "up",
    )

    attempts: int
    lost_at: list[float]
    lost_s: float
    lived: list[float]

    def __init__(
        self, runs: FirstRuns, at: float, since: list[float], loss: list[float], done: int
    ) -> None:
        self.runs = runs
        self.at = self.now = at
        self.since, self.loss = since, loss
        self.done = done

    def is_undisturbed(self, up: int) -> bool:
        """Complete the run if nothing happens to its nodes from here on; whether that is so.

        What is queued goes to the slots in the order in which they are free.
        """
        runs, at = self.runs, self.at
        seconds, slots = runs.seconds, runs.slots
        queued = runs.total - self.done - up * slots
        if up < runs.wanted or not 0 < queued <= up * slots:
            return False
        ends = [ready + ((at - ready) // seconds + 1) * seconds for ready in self.since]
        ends.sort()
        end = max(ends[-1], ends[(queued - 1) // slots] + runs.last_seconds)
        if queued > 1:
            end = max(end, ends[(queued - 2) // slots] + seconds)
        if end > min(self.loss):
            return False
        self.attempts += queued
        self.now = end
        return True

    def carry_out(self, lives: Lives, times: list[int]) -> bool:
        """Go through the rest; whether it completes. `times`: how often nodes have been there."""
        self.lives, self.times = lives, times
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
        at, since, loss, runs = self.at, self.since, self.loss, self.runs
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
        self.events.append((until, _LOST, -1))
        heapify(self.events)

    def _happen(self) -> bool:
        """Let the next event of a node happen; False where it is not known how to go on."""
        at, kind, node = heappop(self.events)
        if node < 0:
            return False
        self.now = at
        if kind == _LOST:
            return self.loss[node] != at or self._lose(node)
        if self.since[node] == at and node in self.coming:
            self.coming.discard(node)
            self.up += 1
            self.busy[node] = 0
            self._enter(node)
        return True

    def _lose(self, node: int) -> bool:
        """Lose a node: what it had in flight is queued again, first; False where all are lost."""
        runs, now, was_up = self.runs, self.now, node in self.busy
        self.lost_at.append(now)
        self.lived.append(now - self.since[node] + runs.prepares)
        if was_up:
            mine = sorted([one for one in self.flight if one[1] == node], key=itemgetter(2))
            self.flight = deque([one for one in self.flight if one[1] != node])
            self.lost_s += sum(now - (end - seconds) for end, _, _, seconds in mine) / runs.slots
            self.queue.extend(seconds for *_, seconds in reversed(mine))
            self.idle = {one for one in self.idle if one[0] != node}
            del self.busy[node]
            self.up -= 1
        comes = now + runs.again
        self.since[node] = ready = comes + runs.prepares
        self.times[node] += 1
        self.loss[node] = lost = comes + self.lives.of(node, self.times[node])
        self.coming.add(node)
        if ready <= lost:
            heappush(self.events, (ready, _READY, node))
        if lost < self.until:
            heappush(self.events, (lost, _LOST, node))
        if was_up and not self.up and runs.cancels:
            return False
        self._fill()
        self._release(runs.total - self.done, now)
        return True

    def _release(self, left: int, now: float) -> None:
        """R2: let nodes go that are not there yet and not wanted, those that come last first."""
        runs = self.runs
        wanted, away = max(-(-left // runs.slots), self.up), runs.prepares - _ROUNDING_S
        for node in sorted(self.coming, key=lambda one: (-self.since[one], -one)):
            if self.up + len(self.coming) <= wanted or self.since[node] - away < now:
                return
            self.coming.discard(node)
            self.since[node] = self.loss[node] = inf

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
