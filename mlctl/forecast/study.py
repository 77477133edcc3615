"""Many histories of a scenario: each from the seed and its own number alone.

So a longer study begins with the shorter one, and neither the workers nor the order in which they
carry histories out changes anything. A study splits into ranges of numbers, for any executor of
`concurrent.futures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from math import isfinite
from typing import Protocol, TypeVar

from mlctl.forecast import policy, skip, skip_first
from mlctl.forecast.history import Cloud, EngineCloud
from mlctl.forecast.policy import History, Policy, Way
from mlctl.forecast.scenario import Scenario

_CHUNK = 250  # histories that a worker carries out at once
_SAMPLE = 200  # histories of the dedicated twin, for the latest moment to change to it


@dataclass(frozen=True, slots=True)
class Study:
    """What is studied: a scenario under a policy, and the seed of its histories."""

    scenario: Scenario
    policy: Policy = Policy()
    seed: str = "0"

    def seed_of(self, run: int) -> str:
        """The seed of the engine in one history."""
        return f"{self.seed}/{run}"

    def histories(self, runs: range) -> list[History]:
        """The histories of these numbers, by the shortcut where it is exact."""
        if skip.obstacle(self.scenario) is not None:
            return [self._by_engine(run) for run in runs]
        lossless = not self.scenario.processes or self.policy.way is Way.DEDICATED
        if lossless and not self.scenario.settings.delay_cv:
            return [self._by_shortcut(0)] * len(runs)  # nothing is left to chance
        if not skip_first.covers(self.scenario, self.policy):
            return [self._by_shortcut(run) for run in runs]
        first = skip_first.FirstRuns(self.scenario, self.policy)
        return [first.carry_out(self.seed_of(run)) or self._by_shortcut(run) for run in runs]

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


H = TypeVar("H")


class Histories(Protocol[H]):
    """What can be carried out in ranges of histories, in any process."""

    def histories(self, runs: range) -> list[H]:
        """The histories of these numbers."""
        ...


def histories(
    study: Histories[H], runs: range, executor: Executor | None = None, *, chunk: int = _CHUNK
) -> Iterator[list[H]]:
    """The histories in order, chunk by chunk; an executor carries chunks out side by side."""
    chunks = [runs[at : at + chunk] for at in range(0, len(runs), chunk)]
    work: Callable[[range], list[H]] = study.histories
    yield from map(work, chunks) if executor is None else executor.map(work, chunks)


def with_deadline(study: Study, deadline_s: float) -> Study:
    """A study whose policy changes to dedicated in time for a deadline, where it is one that does.

    The latest moment leaves as long as the slowest of many dedicated runs took.
    """
    if study.policy.way is not Way.DEADLINE:
        return study
    twin = Study(study.scenario.dedicated, Policy(Way.DEDICATED), study.seed)
    longest = max(one.done_s for one in twin.histories(range(_SAMPLE)))
    switch = max(deadline_s - longest, 0.0) if isfinite(longest) else 0.0
    return replace(study, policy=replace(study.policy, switch_s=switch))
