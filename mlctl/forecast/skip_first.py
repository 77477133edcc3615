"""The usual case of the shortcut: the first run in a fresh cloud, node by node.

With fixed delays, capacity without limits and losses at one rate or by shocks, what one node goes
through hangs on no other one as long as mini-batches are queued and some node is up. So the lives
of each node are gone through at once, without an event, and only the last rounds (`skip_end`) in
the order of time. What does not fit returns None, and the general shortcut carries it out.
"""

from __future__ import annotations

from hashlib import blake2b
from math import floor, inf, log1p
from struct import Struct

from mlctl.forecast.history import LONGEST_S
from mlctl.forecast.policy import History, Policy, Way
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.skip_end import End
from mlctl.simulator.engine import billing, rng
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import Poisson

_BEFORE_ALL = -1.0  # a moment at which no node is there
_SCALE = -(2.0**-53)
_WORDS = Struct(f"<{rng.ROW}Q").unpack


def covers(scenario: Scenario, policy: Policy) -> bool:
    """Whether histories of a scenario without an `obstacle` are of the usual case."""
    processes = scenario.processes
    return (
        scenario.settings.delay_cv == 0
        and scenario.cluster.tier is Tier.LOW_PRIORITY
        and policy.way is not Way.DEDICATED
        and len(processes) == 1
        and isinstance(processes[0], Poisson)
        and processes[0].by_hour is None
        and processes[0].rate > 0
    )


class Lives:
    """How long nodes are there, in seconds: by their number, and which time it is."""

    __slots__ = ("_key", "_rate", "_rows")

    def __init__(self, key: str, rate: float) -> None:
        self._key, self._rate = key, rate
        self._rows: dict[tuple[int, int], tuple[int, ...]] = {}

    def first(self, nodes: int, at: float) -> list[float]:
        """When nodes are lost that are there for the first time, from `at` on."""
        key, rate, found = self._key, self._rate, []
        for row in range(-(-nodes // rng.ROW)):
            words = _WORDS(blake2b(f"{key}1/{row}".encode()).digest())
            found += [at + log1p((word >> 11) * _SCALE) / rate * -HOUR for word in words]
        del found[nodes:]
        return found

    def of(self, node: int, time: int) -> float:
        """How long a node is there for this time; `rng.uniform_of_row`, eight numbers a hash."""
        row = node // rng.ROW
        words = self._rows.get((time, row))
        if words is None:
            digest = blake2b(f"{self._key}{time}/{row}".encode()).digest()
            words = self._rows[time, row] = _WORDS(digest)
        return log1p((words[node % rng.ROW] >> 11) * _SCALE) / self._rate * -HOUR


class FirstRuns:
    """Carries out first runs of a scenario that it `covers`; made once for many histories."""

    def __init__(self, scenario: Scenario, policy: Policy) -> None:
        job, work, settings = scenario.job, scenario.job.workload, scenario.settings
        again, process = settings.replacement_s, scenario.processes[0]
        assert isinstance(process, Poisson)
        self.rate = process.rate
        self.key = f"/life/1/{scenario.cluster.name}/"
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
        self.calm = self._calm()
        self.calm_until = self.calm.time_s + self.idle_s if self.calm else -inf

    def _calm(self) -> History | None:
        """The history in which no node is lost, not even afterwards."""
        return self._with([inf] * self.wanted, Lives("", self.rate))

    def carry_out(self, seed: str) -> History | None:
        """The history of a seed; None where it is none of the usual case."""
        lives = Lives(seed + self.key, self.rate)
        loss = lives.first(self.wanted, self.comes)
        return self.calm if min(loss) > self.calm_until else self._with(loss, lives)

    def safe(self, at: float, done: int, running: int) -> float:
        """Until when mini-batches are queued, and all nodes wanted, whatever happens.

        Each slot starts at most one mini-batch, and one more every `seconds`. Half of that earlier,
        so that nothing of it hangs on how a quotient is rounded.
        """
        slots = self.wanted * self.slots
        rounds = (self.total - done - running - 1) // slots
        needed = (self.total - done - slots + self.slots - 1) // slots
        return at + (min(rounds, needed) - 0.5) * self.seconds

    def _with(self, loss: list[float], lives: Lives) -> History | None:
        """The history in which the first nodes are lost at these moments."""
        seconds, again, prepares = self.seconds, self.again, self.prepares
        since, times = [self.ready] * self.wanted, [1] * self.wanted
        lost_at: list[float] = []
        lived: list[float] = []
        rounds = attempts = 0
        lost_s = 0.0
        safe = self.first_safe
        while True:
            for node in [node for node, at in enumerate(loss) if at <= safe]:
                at, ready, time = loss[node], since[node], times[node]
                while at <= safe:
                    if at >= ready:  # R5, R6: what it has completed counts
                        age = at - ready
                        completed = int(age // seconds)
                        rounds += completed
                        attempts += completed + 1
                        lost_s += age - completed * seconds
                    lost_at.append(at)
                    lived.append(at - ready + prepares)
                    time += 1
                    comes = at + again
                    ready, at = comes + prepares, comes + lives.of(node, time)
                loss[node], since[node], times[node] = at, ready, time
            ages = [safe - ready for ready in since if ready <= safe]
            done = rounds + int(sum([age // seconds for age in ages]))
            following = self.safe(safe, done * self.slots, len(ages) * self.slots)
            if following <= safe:
                break
            safe = following
        end = End(self, safe, since, loss, done * self.slots)
        end.attempts = (attempts + done - rounds + len(ages)) * self.slots
        end.lost_at, end.lost_s, end.lived = lost_at, lost_s, lived
        if not end.is_undisturbed(len(ages)) and not end.carry_out(lives, times):
            return None
        if end.now > self.until or self._may_cancel(lost_at):
            return None
        return self._history(end)

    def _history(self, end: End) -> History:
        billed = self._billed(end)
        return History(
            status=JobStatus.COMPLETED,
            time_s=end.now,
            node_s=billed,
            preempted=len(end.lost_at),
            lost_node_s=end.lost_s,
            attempts=end.attempts,
            failed=0,
            given_up=False,
            tries=1,
            done=True,
            done_s=end.now,
            low_s=billed,
            dedicated_s=0.0,
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

    def _billed(self, end: End) -> float:
        """The seconds that nodes are billed, until they are idle for too long, or lost."""
        now, idle, prepares = end.now, self.idle_s, self.prepares
        lived = end.lived + [
            min(lost, (max(ready, now)) + idle) - ready + prepares
            for ready, lost in zip(end.since, end.loss, strict=True)
            if ready < inf
        ]
        unit, least = self.unit, self.least
        if unit:
            lived = [floor(life / unit + billing.ROUNDING_S) * unit for life in lived]
        return sum([max(life, least) for life in lived] if least else lived)
