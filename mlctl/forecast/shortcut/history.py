"""The shortcut: the same history as the event engine's, without an event for each mini-batch.

Where all mini-batches take equally long, nothing random happens between two losses, so the
mini-batches of a node are counted by division, and only the last rounds are gone through one by one
(`last_rounds`). The random numbers are the engine's, by the same keys: a history is equal in time,
cost, losses, attempts and status. `obstacle` says where that does not hold; what is found out only
on the way raises `Inexact`, and the engine carries that history out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop
from math import inf

from mlctl.forecast.batch.history import Bill, Try
from mlctl.forecast.batch.scenario import Scenario
from mlctl.forecast.shortcut.last_rounds import LastRounds
from mlctl.forecast.shortcut.nodes import READY, Fleet, Inexact
from mlctl.forecast.shortcut.settle import settle
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import (
    PreemptedJob,
    QueueEnd,
    Tier,
)
from mlctl.simulator.engine.processes import (
    Bathtub,
    HyperExponential,
    LossScript,
    OnOff,
    Poisson,
    PreemptionProcess,
    Shock,
    Weibull,
)

__all__ = ["Inexact", "SkipCloud", "obstacle"]

_KNOWN = (Poisson, HyperExponential, Weibull, Bathtub, Shock, LossScript, OnOff)
# What a setting has to be; another value is beyond the shortcut.
_PLAIN: Mapping[str, object] = {
    "replace": True,
    "p_unusable": 0.0,
    "leave_s": 0.0,
    "cancel_grace_s": 0.0,
    "preemption_counts_as_try": False,
    "preempted_goes_to": QueueEnd.HEAD,
    "preempted_job_ends": PreemptedJob.CANCELED,
    "release_idle_nodes": False,
    "bill_allocating": False,
}


def obstacle(scenario: Scenario) -> str | None:
    """Why a scenario has no shortcut; None where it has one."""
    return next((why for holds, why in _obstacles(scenario) if holds), None)


def _obstacles(scenario: Scenario) -> Iterator[tuple[bool, str]]:
    job, work, settings = scenario.job, scenario.job.workload, scenario.settings
    longest = work.per_mini_batch_s + job.mini_batch_size * work.per_file_s
    still = settings.progress_update_timeout_s
    yield bool(work.cv or work.trace), "mini-batches take different times"
    yield work.fail_probability > 0, "attempts fail"
    yield longest > job.timeout_s or job.max_retries < 1, "mini-batches time out"
    yield work.per_start_s > 0, "nodes take time to start"
    yield scenario.cluster.min_instances > 0, "min_instances keeps nodes"
    yield not all(map(_is_known, scenario.processes)), "a limited capacity"
    for name, value in _PLAIN.items():
        yield getattr(settings, name) != value, f"the setting {name}"
    stands = still != 0 and not settings.cancel_when_preempted
    yield stands, "a job without nodes may stand still for too long"
    yield bool(still) and longest > (still or 0), "mini-batches outlast progress_update_timeout_s"


def _is_known(process: PreemptionProcess) -> bool:
    return isinstance(process, _KNOWN) and not (isinstance(process, OnOff) and process.nodes)


class SkipCloud:
    """A `history.Cloud` that counts by division; for scenarios without an `obstacle`."""

    def __init__(self, scenario: Scenario, seed: str) -> None:
        self.scenario = scenario
        self.seed = seed
        self._now = 0.0
        self._fleets: dict[Tier, Fleet] = {}
        self._bills: list[float] = []
        self._tiers: list[Tier] = []

    @property
    def now(self) -> float:
        """Seconds since the history began."""
        return self._now

    def run(self, files: int, tier: Tier, until: float) -> Try:
        """Submit the job with so many files now, and let it run to its end, or to `until`.

        Raises:
            Inexact: something happened that only the engine knows.
        """
        fleet = self._fleets.get(tier)
        if fleet is None:
            fleet = self._fleets[tier] = Fleet(self.scenario, self.seed, tier, self._bills)
        self._tiers.append(tier)
        self._bills.append(0.0)
        result = Run(fleet, self.scenario, files, self._now, until).carry_out()
        self._now = result.ended
        return result

    def bill(self) -> Bill:
        """What the runs cost, once no node is up for them any more."""
        for fleet in self._fleets.values():
            settle(fleet)
        bills = self._bills
        if len(bills) == 1:
            low = self._tiers[0] is Tier.LOW_PRIORITY
            return Bill(bills[0], bills[0] if low else 0.0, 0.0 if low else bills[0])
        low_priority = sum(
            bill for bill, tier in zip(bills, self._tiers, strict=True) if tier is Tier.LOW_PRIORITY
        )
        return Bill(bills[0], low_priority, sum(bills) - low_priority)


class Run:
    """One run of the job, until the queue of mini-batches may be empty; `LastRounds` ends it."""

    def __init__(
        self, fleet: Fleet, scenario: Scenario, files: int, now: float, until: float
    ) -> None:
        job, work = scenario.job, scenario.job.workload
        self.fleet = fleet
        self.began = now
        self.until = until
        self.slots = job.concurrency
        self.total = -(-files // job.mini_batch_size)
        self.seconds = work.per_mini_batch_s + job.mini_batch_size * work.per_file_s
        rest = files - (self.total - 1) * job.mini_batch_size
        self.last_seconds = work.per_mini_batch_s + rest * work.per_file_s
        wanted = min(job.instance_count, -(-self.total // job.concurrency))
        self.wanted = min(wanted, scenario.cluster.max_instances)
        self.instance_count = job.instance_count
        self.cancels = scenario.settings.cancel_when_preempted
        self.done = self.attempts = 0
        self.lost_s = 0.0

    def carry_out(self) -> Try:
        """The run to its end.

        Raises:
            Inexact: something happened that only the engine knows.
        """
        fleet = self.fleet
        fleet.begin_job(self.wanted, self.began)
        at = self._while_queued()
        if at is None:
            return self._result(JobStatus.CANCELED, fleet.now)
        if at > self.until:
            fleet.now = self.until
            fleet.note_ready(self.until)
            self.count(self.until)
            fleet.end_job(completed=False)
            return self._result(JobStatus.CANCELED, self.until, given_up=True)
        if self._is_undisturbed(at):
            return self._result(JobStatus.COMPLETED, fleet.now)
        status = LastRounds(self, at).carry_out()
        return self._result(status or JobStatus.CANCELED, fleet.now, given_up=status is None)

    def _while_queued(self) -> float | None:
        """Go from loss to loss while mini-batches are queued for certain.

        Until when that is: the last rounds begin there. None: the run was cancelled.
        """
        fleet = self.fleet
        events, until = fleet.events, self.until
        # With random delays a node that is lost may be back before another is ready at first.
        safe = self._safe(fleet.now if fleet.plain_s is None else fleet.first_ready)
        while True:
            at = events[0][0] if events else inf
            at = min(at, fleet.due)
            if at >= safe:
                if safe > until:
                    return safe
                fleet.note_ready(safe)
                here = safe if fleet.up else min(at, until, max(fleet.first_ready, safe))
                following = self._safe(here)
                if following <= here:
                    return here
                safe = following
                continue
            if at > until:
                return at
            if fleet.due <= at and fleet.strikes_at(at):
                self._lose(fleet.strike())
            else:
                _, kind, _, node, epoch = heappop(events)
                if epoch != fleet.epoch[node] or kind == READY:
                    continue
                fleet.now = at
                if fleet.coming:
                    fleet.note_ready(at)
                self._lose((node,))
            if self.cancels and not fleet.up and fleet.lost_usable:
                fleet.end_job(completed=False)
                return None
            fleet.request_lost()

    def _safe(self, at: float) -> float:
        """Until when mini-batches are queued, and all nodes wanted, whatever happens.

        Each slot starts at most one mini-batch, and one more every `seconds`. Half of that earlier,
        so that nothing of it hangs on how a quotient is rounded.
        """
        done, running = self.known(at)
        slots = self.wanted * self.slots
        queued = self.total - done - running
        rounds = (queued - 1) // slots
        needed = (self.total - done - slots + self.slots - 1) // slots
        return at + (min(rounds, needed) - 0.5) * self.seconds

    def known(self, at: float) -> tuple[int, int]:
        """How many mini-batches are done at a moment, and how many run then."""
        seconds, slots, since = self.seconds, self.slots, self.fleet.since
        done = 0
        for node in self.fleet.up:
            done += int((at - since[node]) // seconds)
        return self.done + done * slots, len(self.fleet.up) * slots

    def count(self, at: float) -> None:
        """Count what the nodes that are up have done, and have begun."""
        done, running = self.known(at)
        self.attempts += done - self.done + running
        self.done = done

    def _lose(self, nodes: Iterable[int]) -> None:
        """Lose nodes: what they had in flight is queued again."""
        for node in nodes:
            if node in self.fleet.up:
                self._lose_progress(node)
            self.fleet.lose(node, cancels=self.cancels)

    def _lose_progress(self, node: int) -> None:
        """R5, R6: of what a node began, only what it has completed counts."""
        age = self.fleet.now - self.fleet.since[node]
        rounds = int(age // self.seconds)
        self.done += rounds * self.slots
        self.attempts += (rounds + 1) * self.slots
        self.lost_s += age - rounds * self.seconds

    def _is_undisturbed(self, at: float) -> bool:
        """Complete the run if nothing happens to its nodes from here on; whether that is so.

        What is queued goes to the slots in the order in which they are free.
        """
        fleet, seconds, slots = self.fleet, self.seconds, self.slots
        done, running = self.known(at)
        queued = self.total - done - running
        if fleet.coming or fleet.waiting or not 0 < queued <= running:
            return False
        since = fleet.since
        ends = sorted(
            since[node] + (int((at - since[node]) // seconds) + 1) * seconds for node in fleet.up
        )
        end = max(ends[-1], ends[(queued - 1) // slots] + self.last_seconds)
        if queued > 1:
            end = max(end, ends[(queued - 2) // slots] + seconds)
        next_event = min(fleet.events[0][0], fleet.due) if fleet.events else fleet.due
        if end > next_event or end > self.until:
            return False
        self.attempts += done - self.done + running + queued
        self.done = self.total
        fleet.now = end
        fleet.end_job(completed=True)
        return True

    def _result(self, status: JobStatus, ended: float, *, given_up: bool = False) -> Try:
        return Try(
            status,
            self.began,
            ended,
            self.fleet.preempted,
            self.lost_s,
            self.attempts,
            self.done,
            0,
            given_up,
        )
