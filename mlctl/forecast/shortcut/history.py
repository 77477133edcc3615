"""The shortcut: the event engine's history, without an event for each mini-batch.

Where all mini-batches take equally long, nothing random happens between two losses, so the
mini-batches of a node are counted by division, and only the last rounds are gone through one by one
(`last_rounds`). The random numbers are the engine's, by the same keys: a history is equal in time,
cost, losses, attempts and status. `obstacle` says where that does not hold; what is found out only
on the way raises `Inexact`, and the engine carries that history out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl.forecast.history import BilledTime, Extension, Try, placed
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut import queued_rounds
from mlctl.forecast.shortcut.first_run import FirstRun
from mlctl.forecast.shortcut.last_rounds import LastRounds
from mlctl.forecast.shortcut.nodes import Fleet, Inexact, billed_s, tag_of
from mlctl.forecast.shortcut.run import ShortRun
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
    """Return why a scenario has no shortcut; None if it has one."""
    return next((why for holds, why in _obstacles(scenario) if holds), None)


def _obstacles(scenario: Scenario) -> Iterator[tuple[bool, str]]:
    job, work, settings = scenario.job, scenario.job.workload, scenario.settings
    longest = job.longest_s
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

    def __init__(self, scenario: Scenario, seed: str, *, goes_on: bool = False) -> None:
        """`goes_on`: runs may follow one that completed, in the cloud that it left."""
        self.goes_on = goes_on
        self.scenario = placed(scenario, seed)
        self.seed = seed
        self._now = 0.0
        self._fleets: dict[Tier, Fleet] = {}
        self._bills: list[float] = []
        self._tiers: list[Tier] = []

    @property
    def now(self) -> float:
        """Return the seconds since the history began."""
        return self._now

    def run(self, files: int, tier: Tier, until: float, extension: Extension | None = None) -> Try:
        """Submit the job with so many files now, and let it run to its end, or to `until`.

        Raises:
            Inexact: something happened that only the engine knows.
        """
        self._tiers.append(tier)
        self._bills.append(0.0)
        run = ShortRun(self.scenario, files, self._now, until)
        is_alone = len(self._bills) == 1 and not self.goes_on
        is_first = is_alone and self.scenario.settings.delay_cv == 0
        result = self._first(run, tier) if is_first else None
        if result is None:
            run = ShortRun(self.scenario, files, self._now, until)
            run.fleet = self._fleet(tier)
            result = _carry_out(run)
        if result.given_up and extension is not None and extension(result.done) > until:
            raise Inexact  # it may go on
        self._now = result.ended
        return result

    def _fleet(self, tier: Tier) -> Fleet:
        fleet = self._fleets.get(tier)
        if fleet is None:
            fleet = self._fleets[tier] = Fleet(self.scenario, self.seed, tier, self._bills)
        return fleet

    def _first(self, run: ShortRun, tier: Tier) -> Try | None:
        """Run the first run; None if its nodes are not independent."""
        nodes = FirstRun(run, self.scenario, self.seed, tag_of(self.scenario.cluster, tier), tier)
        at = nodes.carry_out()
        if at is None:
            return None
        end = nodes.undisturbed_end(at)
        idle_s, settings = self.scenario.cluster.idle_s, self.scenario.settings
        if end is not None and max(end, nodes.latest) + idle_s < nodes.losses.due:
            run.count_all()
            self._bills[0] = billed_s(nodes.lives_until(end, idle_s), settings)
            return run.result(JobStatus.COMPLETED, end, len(nodes.lost_at))
        run.fleet = self._fleet(tier)
        run.fleet.take_over(nodes, at, billed_s(nodes.lived, settings))
        return _end(run, at)

    def bill(self) -> BilledTime:
        """Return the cost of the runs, once no node is up for them any more."""
        for fleet in self._fleets.values():
            _settle(fleet)
        bills = self._bills
        if len(bills) == 1:
            low = self._tiers[0] is Tier.LOW_PRIORITY
            return BilledTime(bills[0], bills[0] if low else 0.0, 0.0 if low else bills[0])
        low_priority = sum(
            bill for bill, tier in zip(bills, self._tiers, strict=True) if tier is Tier.LOW_PRIORITY
        )
        return BilledTime(bills[0], low_priority, sum(bills) - low_priority)


def _carry_out(run: ShortRun) -> Try:
    """Run to the end.

    Raises:
        Inexact: something happened that only the engine knows.
    """
    fleet = run.fleet
    fleet.begin_job(run.wanted, run.began)
    at = queued_rounds.carry_out(run)
    if at is None:
        return run.result(JobStatus.CANCELED, fleet.now, fleet.preempted)
    if at > run.until:
        fleet.note_ready(run.until)
        run.count(run.until)
        run.give_up()
        return run.result(JobStatus.CANCELED, fleet.now, fleet.preempted, given_up=True)
    return _end(run, at)


def _end(run: ShortRun, at: float) -> Try:
    """The last rounds, from `at` on; see `_carry_out` for what it raises."""
    fleet = run.fleet
    if _is_undisturbed(run, at):
        return run.result(JobStatus.COMPLETED, fleet.now, fleet.preempted)
    status = LastRounds(run, at).carry_out()
    ended = status or JobStatus.CANCELED
    return run.result(ended, fleet.now, fleet.preempted, given_up=status is None)


def _is_undisturbed(run: ShortRun, at: float) -> bool:
    """Complete the run if nothing more happens to its nodes; whether that is so."""
    fleet = run.fleet
    if fleet.coming or fleet.waiting:
        return False
    end, _ = run.undisturbed_end(at, [fleet.since[node] for node in fleet.up])
    if end > min(fleet.next_loss, fleet.due, run.until):
        return False
    run.count_all()
    run.complete(end)
    return True


def _settle(fleet: Fleet) -> None:
    """Bill the remaining nodes until their idle time is over, or until they are lost."""
    ends = {node: begin + fleet.idle_s for node, begin in fleet.idle_since.items()}
    ends |= {node: fleet.since[node] + fleet.idle_s for node in fleet.coming}
    last = max(ends.values(), default=0.0)
    while ends and fleet.due <= last:
        at = fleet.due
        for node in [node for node, end in ends.items() if min(end, fleet.loss[node]) < at]:
            fleet.leave(node, ends.pop(node))
        for node in fleet.strike():
            if ends.pop(node, None) is not None:
                fleet.leave(node, at)
    fleet.leave_all(ends)
