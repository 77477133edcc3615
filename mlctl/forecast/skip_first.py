"""The usual case of the shortcut: the first run in a fresh cloud, node by node.

With fixed delays and capacity without limits, what one node goes through between two shocks hangs
on no other one, as long as mini-batches are queued and some node is up. So each node's lives are
gone through at once (`skip_alone`), and only the last rounds in the order of time (`skip_end`).
What does not fit is None, and the general shortcut carries it out.
"""

from __future__ import annotations

from math import inf

from mlctl.forecast.batch.history import LONGEST_S
from mlctl.forecast.batch.policy import History, Policy, Way
from mlctl.forecast.batch.scenario import Scenario
from mlctl.forecast.skip_alone import Nodes
from mlctl.forecast.skip_draws import Lives, Shocks, are_known, draw_of
from mlctl.forecast.skip_end import End
from mlctl.simulator.engine import billing
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.processes import Poisson

_BEFORE_ALL = -1.0  # a moment at which no node is there


def covers(scenario: Scenario, policy: Policy) -> bool:
    """Whether histories of a scenario without an `obstacle` are of the usual case."""
    return (
        scenario.settings.delay_cv == 0
        and scenario.cluster.tier is Tier.LOW_PRIORITY
        and policy.way is not Way.DEDICATED
        and are_known(scenario.processes)
    )


class FirstRuns:
    """Carries out first runs of a scenario that it `covers`; made once for many histories."""

    def __init__(self, scenario: Scenario, policy: Policy) -> None:
        job, work, settings = scenario.job, scenario.job.workload, scenario.settings
        again = settings.replacement_s
        rates = [
            (f"/life/{serial}/{scenario.cluster.name}/", one.rate)
            for serial, one in enumerate(scenario.processes, 1)
            if isinstance(one, Poisson)
        ]
        self.key, self.rate = rates[0] if rates else ("", 0.0)
        self.region, self.processes = scenario.cluster.region, scenario.processes
        self.none = Shocks("", "", ())
        self.has_shocks = len(rates) < len(scenario.processes)
        self.total = scenario.mini_batches
        self.wanted = scenario.nodes
        self.slots = job.concurrency
        self.seconds = work.per_mini_batch_s + job.mini_batch_size * work.per_file_s
        rest = job.files - (self.total - 1) * job.mini_batch_size
        self.last_seconds = work.per_mini_batch_s + rest * work.per_file_s
        self.comes = settings.allocation_s
        self.prepares = settings.preparation_s
        self.ready = self.comes + self.prepares
        self.again = settings.allocation_s if again is None else again
        self.cancels = settings.cancel_when_preempted
        self.idle_s = scenario.cluster.idle_s
        self.unit, self.least = settings.billing_granularity_s, settings.min_bill_s
        self.until = LONGEST_S if policy.switch_s is None else min(policy.switch_s, LONGEST_S)
        first_safe = self.safe(self.ready, 0, self.wanted * self.slots)
        self.first_safe = first_safe if first_safe > self.ready else _BEFORE_ALL
        calm = self._with([inf] * self.wanted, Lives("", 0.0), self.none)
        self.calm, self.calm_s = calm, calm.time_s if calm else inf
        self.calm_until = self.calm_s + self.idle_s
        self.calm_draw = draw_of(self.calm_until - self.comes, self.rate)

    def carry_out(self, seed: str) -> History | None:
        """The history of a seed; None where it is none of the usual case."""
        until, shocks = self.calm_until, self.none
        if self.has_shocks:
            shocks = Shocks(seed, self.region, self.processes)
            if shocks.out <= self.calm_s:
                return None
        lives = Lives(seed + self.key, self.rate)
        first = lives.first(self.wanted)
        if min(first) > self.calm_draw and shocks.due > until and shocks.out > until:
            return self.calm  # no node is lost, not even afterwards
        return self._with(lives.losses(first, self.comes), lives, shocks)

    def safe(self, at: float, done: int, running: int) -> float:
        """Until when mini-batches are queued, and all nodes wanted, whatever happens.

        Each slot starts at most one mini-batch, and one more every `seconds`. Half of that earlier,
        so that nothing of it hangs on how a quotient is rounded.
        """
        slots = self.wanted * self.slots
        rounds = (self.total - done - running - 1) // slots
        needed = (self.total - done - slots + self.slots - 1) // slots
        return at + (min(rounds, needed) - 0.5) * self.seconds

    def _with(self, loss: list[float], lives: Lives, shocks: Shocks) -> History | None:
        """The history in which the first nodes are lost at these moments."""
        nodes, slots, safe = Nodes(self, loss, lives, shocks), self.slots, self.first_safe
        while True:
            while shocks.due <= safe:
                if not nodes.strike() and self.cancels:
                    return None
            nodes.lose_until(safe)
            ages = [safe - ready for ready in nodes.since if ready <= safe]
            rounds = nodes.rounds + int(sum([age // self.seconds for age in ages]))
            following = self.safe(safe, rounds * slots, len(ages) * slots)
            if following <= safe:
                break
            safe = following
        begun = nodes.attempts + rounds - nodes.rounds + len(ages)
        end = End(nodes, safe, rounds * slots, begun * slots)
        if not end.is_undisturbed() and not end.carry_out():
            return None
        if end.now > self.until or end.now >= shocks.out or self._may_cancel(nodes.lost_at):
            return None
        billed, now, given_up, done = self._billed(nodes, end), end.now, False, True
        lost, lost_s, attempts = len(nodes.lost_at), nodes.lost_s, end.attempts
        status = JobStatus.COMPLETED
        return History(
            status, now, billed, lost, lost_s, attempts, 0, given_up, 1, done, now, billed, 0.0
        )

    def _may_cancel(self, lost_at: list[float]) -> bool:
        """R7: whether all nodes may have been gone at once."""
        least, away = self.wanted, self.again + self.prepares
        if not self.cancels or len(lost_at) < least:
            return False
        lost_at.sort()
        return any(
            last - first <= away for first, last in zip(lost_at, lost_at[least - 1 :], strict=False)
        )

    def _billed(self, nodes: Nodes, end: End) -> float:
        """The seconds that nodes are billed, until they are idle for too long, or lost."""
        until, prepares = min(end.now + self.idle_s, nodes.shocks.out), self.prepares
        if end.coming or nodes.shocks.due <= until:
            lived = nodes.lived + self._idled(nodes, end.now)
        else:
            lived = nodes.lived + [
                (lost if lost < until else until) - ready + prepares  # noqa: FURB136  # quicker
                for ready, lost in zip(nodes.since, nodes.loss, strict=True)
                if ready < inf
            ]
        unit, least = self.unit, self.least
        if unit and not least:
            return unit * sum([(life / unit + billing.ROUNDING_S) // 1.0 for life in lived])
        if unit:
            lived = [(life / unit + billing.ROUNDING_S) // 1.0 * unit for life in lived]
        return sum([max(life, least) for life in lived])

    def _idled(self, nodes: Nodes, ended: float) -> list[float]:
        """How long nodes are there that were left, where some prepared still or a shock comes."""
        since = [ready for ready in nodes.since if ready < inf]
        loss = [lost for lost, ready in zip(nodes.loss, nodes.since, strict=True) if ready < inf]
        gone = [
            min(lost, max(ready, ended) + self.idle_s, nodes.shocks.out)
            for lost, ready in zip(loss, since, strict=True)
        ]
        while nodes.shocks.due <= max(gone):
            due = nodes.shocks.due
            for node in nodes.shocks.strike([node for node, at in enumerate(gone) if at >= due]):
                gone[node] = due
        return [at - ready + self.prepares for at, ready in zip(gone, since, strict=True)]
