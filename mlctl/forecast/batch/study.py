"""Many histories of a batch job: each from the seed and its own number alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass, replace
from mlctl.forecast.batch import policy
from mlctl.forecast.batch.policy import History, RecoveryPolicy, Way
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.gather import histories_of
from mlctl.forecast.history import Cloud, EngineCloud
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut import history as skip

if TYPE_CHECKING:
    from concurrent.futures import Executor

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

    def summary(self, histories: list[History], deadline_s: float | None = None) -> Summary:
        """What histories of the study come to."""
        once = self.policy.way is Way.ONCE
        return Summary(self.scenario, histories, deadline_s, single_run=once)

    def _by_shortcut(self, run: int) -> History:
        cloud = skip.SkipCloud(self.scenario, self.seed_of(run))
        try:
            return self._carry_out(cloud)
        except skip.Inexact:
            return self._by_engine(run)

    def _by_engine(self, run: int) -> History:
        return self._carry_out(EngineCloud(self.scenario, self.seed_of(run)))

    def _carry_out(self, cloud: Cloud) -> History:
        job = self.scenario.job
        return policy.carry_out(self.policy, cloud, job.files, job.mini_batch_size)


def with_deadline(
    studies: Sequence[Study], deadline_s: float | None, executor: Executor | None = None
) -> list[Study]:
    """The studies; a policy that changes to dedicated in time for a deadline is told when that is.

    The latest moment leaves as long as the slowest of many dedicated runs took.
    """
    late = [
        at
        for at, study in enumerate(studies)
        if deadline_s is not None and study.policy.way is Way.DEADLINE
    ]
    dedicated = RecoveryPolicy(Way.DEDICATED)
    twins = [
        replace(
            studies[at],
            scenario=studies[at].scenario.dedicated,
            policy=dedicated,
        )
        for at in late
    ]
    updated = list(studies)
    for at, runs in zip(late, histories_of(twins, _SAMPLE, executor), strict=True):
        assert deadline_s is not None
        longest = max(study.done_s for study in runs)
        switch = max(deadline_s - longest, 0.0) if isfinite(longest) else 0.0
        updated[at] = replace(updated[at], policy=replace(updated[at].policy, switch_s=switch))
    return updated
