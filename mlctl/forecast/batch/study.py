"""Studies of batch jobs: many histories, each from the seed and its own number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass, replace
from mlctl.forecast.batch import policy
from mlctl.forecast.batch.policy import History, RecoveryPolicy, Switch, Way
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.gather import histories_of
from mlctl.forecast.history import LONGEST_S, EngineCloud, HistoryCloud
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut import history as skip

if TYPE_CHECKING:
    from concurrent.futures import Executor

RUNS, _MOST_RUNS = 1000, 3000  # default number of histories of a study
_CARRY = 25  # the means must rest on so many histories
_ATTEMPTS, _LEAST_RUNS = 800_000, 10  # of mini-batches, with the event engine
_LOOK = 20  # so many histories that are never done are enough
_SAMPLE = 200  # histories of the dedicated twin, to find the latest moment to change to it


@dataclass(frozen=True, slots=True)
class Study:
    """A scenario under a policy, and the seed of its histories."""

    scenario: Scenario
    policy: RecoveryPolicy = RecoveryPolicy()
    seed: str = "0"

    def seed_of(self, run: int) -> str:
        """Return the engine's seed for one history."""
        return f"{self.seed}/{run}"

    def histories(self, runs: range) -> list[History]:
        """Return the histories of these numbers, by the shortcut if it is exact."""
        exact = skip.obstacle(self.scenario) is None
        carry_out = self._by_shortcut if exact else self._by_engine
        lossless = exact and self.policy.way is Way.DEDICATED
        if (self.scenario.dedicated if lossless else self.scenario).is_certain:
            return [carry_out(0)] * len(runs)
        return [carry_out(run) for run in runs]

    @property
    def steps(self) -> int:
        """The event engine's work for a history of one run."""
        return self.scenario.mini_batches

    @property
    def round_s(self) -> float:
        """How much longer than its share a part of the work may take; seconds."""
        return self.scenario.job.longest_s

    def summary(self, histories: list[History], deadline_s: float | None = None) -> Summary:
        """Summarize histories of the study."""
        once = self.policy.way is Way.ONCE
        return Summary(self.scenario, histories, deadline_s, single_run=once)

    def _by_shortcut(self, run: int) -> History:
        goes_on = (self.policy.shards or 1) > 1
        cloud = skip.SkipCloud(self.scenario, self.seed_of(run), goes_on=goes_on)
        try:
            return self._carry_out(cloud)
        except skip.Inexact:
            return self._by_engine(run)

    def _by_engine(self, run: int) -> History:
        return self._carry_out(EngineCloud(self.scenario, self.seed_of(run)))

    def _carry_out(self, cloud: HistoryCloud) -> History:
        job = self.scenario.job
        return policy.carry_out(self.policy, cloud, job.files, job.mini_batch_size)


def is_hopeless(histories: Sequence[History]) -> bool:
    """Whether the job is never done: all of the first histories were given up."""
    return len(histories) >= _LOOK and all(
        run.hopeless or (not run.done and run.done_s >= LONGEST_S) for run in histories[:_LOOK]
    )


def runs_of(study: Study, histories: list[History], stated: int | None) -> int:
    """Return how many more histories a study needs: as many as `stated`.

    Otherwise as many as the event engine can do in a few seconds or, with the shortcut, enough for
    the means not to rest on a few of them. A few come first, to see whether the job is ever done.
    """
    if len(histories) < _LOOK:
        return min(_LOOK, stated or _LOOK)
    if stated is not None:
        return stated
    if skip.obstacle(study.scenario) is not None:
        return min(max(_ATTEMPTS // study.scenario.mini_batches, _LEAST_RUNS), RUNS)
    if len(histories) < RUNS:
        return RUNS
    is_thin = study.summary(histories).carried_by < _CARRY
    return min(2 * len(histories), _MOST_RUNS) if is_thin else len(histories)


def histories_until(study: Study, stated: int | None) -> list[History]:
    """Return as many histories as a study needs (`runs_of`)."""
    histories: list[History] = []
    while not is_hopeless(histories) and len(histories) < (
        count := runs_of(study, histories, stated)
    ):
        histories += study.histories(range(len(histories), count))
    return histories


def with_deadline(
    studies: Sequence[Study], deadline_s: float | None, executor: Executor | None = None
) -> list[Study]:
    """Tell the policies of studies when to change to dedicated nodes in time for a deadline.

    The rest of the work is assumed to take as long as in the slowest of many dedicated runs.
    """
    late = [
        at
        for at, study in enumerate(studies)
        if deadline_s is not None and study.policy.way in policy.WATCHFUL
    ]
    twins = [
        replace(
            studies[at],
            scenario=studies[at].scenario.dedicated,
            policy=RecoveryPolicy(Way.DEDICATED, shards=studies[at].policy.shards),
        )
        for at in late
    ]
    updated = list(studies)
    for at, runs in zip(late, histories_of(twins, _SAMPLE, executor), strict=True):
        assert deadline_s is not None
        job, settings = updated[at].scenario.job, updated[at].scenario.settings
        start_s = settings.allocation_s + settings.preparation_s
        work_s = max(max(run.done_s for run in runs) - start_s, 0.0)
        plan = updated[at].policy
        reserve = policy.KEPT if plan.way is Way.RESERVE else None
        switch = Switch(deadline_s, start_s, work_s, job.files, updated[at].round_s, reserve)
        updated[at] = replace(updated[at], policy=replace(plan, switch=switch))
    return updated
