"""Many histories of a batch job: each from the seed and its own number alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass, replace
from mlctl.forecast.batch import policy
from mlctl.forecast.batch.policy import History, RecoveryPolicy, Switch, Way
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.gather import histories_of
from mlctl.forecast.history import LONGEST_S, Cloud, EngineCloud
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut import history as skip

if TYPE_CHECKING:
    from concurrent.futures import Executor

RUNS, _MOST_RUNS = 1000, 3000  # histories of a study, unless somebody says how many
_CARRY = 25  # so many histories have to carry the means
_ATTEMPTS, _LEAST_RUNS = 800_000, 10  # of mini-batches, by the event engine
_LOOK = 20  # histories that are never done are enough
_SAMPLE = 200  # histories of the dedicated twin, for the latest moment to change to it


@dataclass(frozen=True, slots=True)
class Study:
    """What is studied: a scenario under a policy, and the seed of its histories."""

    scenario: Scenario
    policy: RecoveryPolicy = RecoveryPolicy()
    seed: str = "0"

    def seed_of(self, run: int) -> str:
        """The seed of the engine in one history."""
        return f"{self.seed}/{run}"

    def histories(self, runs: range) -> list[History]:
        """The histories of these numbers, by the shortcut where it is exact."""
        exact = skip.obstacle(self.scenario) is None
        carry_out = self._by_shortcut if exact else self._by_engine
        lossless = exact and self.policy.way is Way.DEDICATED
        if (self.scenario.dedicated if lossless else self.scenario).is_certain:
            return [carry_out(0)] * len(runs)
        return [carry_out(run) for run in runs]

    @property
    def steps(self) -> int:
        """How much a history of one run takes of the event engine."""
        return self.scenario.mini_batches

    @property
    def round_s(self) -> float:
        """How much longer than its share a part of the work may take; seconds."""
        return self.scenario.job.longest_s

    def summary(self, histories: list[History], deadline_s: float | None = None) -> Summary:
        """What histories of the study come to."""
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

    def _carry_out(self, cloud: Cloud) -> History:
        job = self.scenario.job
        return policy.carry_out(self.policy, cloud, job.files, job.mini_batch_size)


def is_hopeless(histories: Sequence[History]) -> bool:
    """Whether the job is never done: all of the first histories were given up."""
    return len(histories) >= _LOOK and all(
        run.hopeless or (not run.done and run.done_s >= LONGEST_S) for run in histories[:_LOOK]
    )


def runs_of(study: Study, histories: list[History], stated: int | None) -> int:
    """How many histories a study should have, beside those that there are: as many as `stated`.

    Else as many as the event engine can in a few seconds, or, by the shortcut, so many that no few
    of them carry the means. A few come first, to see whether the job is ever done.
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
    """As many histories as a study should have (`runs_of`)."""
    histories: list[History] = []
    while not is_hopeless(histories) and len(histories) < (
        count := runs_of(study, histories, stated)
    ):
        histories += study.histories(range(len(histories), count))
    return histories


def with_deadline(
    studies: Sequence[Study], deadline_s: float | None, executor: Executor | None = None
) -> list[Study]:
    """The studies; a policy that changes to dedicated in time for a deadline is told when that is.

    The rest of the work is taken to last as long as in the slowest of many dedicated runs.
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
