"""Many histories of a scenario: each from the seed and its own number alone.

So a longer study begins with the shorter one, and neither the workers nor the order in which they
carry histories out changes anything. A study splits into ranges of numbers, for any executor of
`concurrent.futures`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mlctl.forecast.batch import policy
from mlctl.forecast.batch.history import Cloud, EngineCloud
from mlctl.forecast.batch.policy import History, Policy, Way
from mlctl.forecast.batch.scenario import Scenario
from mlctl.forecast.shortcut import history as skip

if TYPE_CHECKING:
    from concurrent.futures import Executor

_TASKS, _MOST_TASKS = 32, 512  # so many, for workers to end at about the same time
_ENOUGH = 100  # histories of a task, where there are not too many of them: some take very long
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
        exact = skip.obstacle(self.scenario) is None
        carry_out = self._by_shortcut if exact else self._by_engine
        lossless = exact and self.policy.way is Way.DEDICATED
        if (self.scenario.dedicated if lossless else self.scenario).is_certain:
            return [carry_out(0)] * len(runs)
        return [carry_out(run) for run in runs]

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
H_co = TypeVar("H_co", covariant=True)


class Histories(Protocol[H_co]):
    """What can be carried out in ranges of histories, which are named tuples, in any process."""

    def histories(self, runs: range) -> Sequence[H_co]:
        """The histories of these numbers."""
        ...


Part = tuple[Histories[H], range]


def histories(
    parts: Sequence[Part[H]], executor: Executor | None = None
) -> Iterator[tuple[int, list[H]]]:
    """The histories of each part, in order, piece by piece, with the number of the part.

    An executor carries the pieces of all parts out side by side.
    """
    tasks = list(_tasks(parts))
    if executor is None:
        for at, runs in chain.from_iterable(tasks):
            yield at, [*parts[at][0].histories(runs)]
        return
    work = [[(parts[at][0], runs) for at, runs in task] for task in tasks]
    for task, tables in zip(tasks, executor.map(_carried_out, work), strict=True):
        for (at, _), table in zip(task, tables, strict=True):
            yield at, _rows(table)


def histories_of(
    studies: Sequence[Histories[H]], runs: int, executor: Executor | None = None
) -> list[list[H]]:
    """So many histories of each study."""
    found: list[list[H]] = [[] for _ in studies]
    for at, some in histories([(study, range(runs)) for study in studies], executor):
        found[at].extend(some)
    return found


def _tasks(parts: Sequence[Part[Any]]) -> Iterator[list[tuple[int, range]]]:
    """The parts in pieces, of which short ones share a task, so that tasks are worth sending."""
    total = sum(len(runs) for _, runs in parts)
    size = min(max(total // _TASKS, 1), max(total // _MOST_TASKS, _ENOUGH))
    task: list[tuple[int, range]] = []
    room = size
    for at, (_, runs) in enumerate(parts):
        left = runs
        while left:
            task.append((at, left[:room]))
            left, room = left[room:], room - len(left[:room])
            if not room:
                yield task
                task, room = [], size
    if task:
        yield task


# Histories on their way between processes: their type, and a column for each field, which takes a
# third of the time that pickling each history does.
_Table = tuple[Any, ...]


def _carried_out(work: Sequence[Part[Any]]) -> list[_Table]:
    found = [study.histories(runs) for study, runs in work]
    return [(type(rows[0]), *zip(*rows, strict=True)) for rows in found]


def _rows(table: _Table) -> list[Any]:
    kind, *columns = table
    return list(map(kind._make, zip(*columns, strict=True)))


def with_deadline(
    studies: Sequence[Study], deadline_s: float | None, executor: Executor | None = None
) -> list[Study]:
    """The studies; a policy that changes to dedicated in time for a deadline is told when that is.

    The latest moment leaves as long as the slowest of many dedicated runs took.
    """
    late = [
        at
        for at, one in enumerate(studies)
        if deadline_s is not None and one.policy.way is Way.DEADLINE
    ]
    twins = [
        replace(studies[at], scenario=studies[at].scenario.dedicated, policy=Policy(Way.DEDICATED))
        for at in late
    ]
    told = list(studies)
    for at, runs in zip(late, histories_of(twins, _SAMPLE, executor), strict=True):
        assert deadline_s is not None
        longest = max(one.done_s for one in runs)
        switch = max(deadline_s - longest, 0.0) if isfinite(longest) else 0.0
        told[at] = replace(told[at], policy=replace(told[at].policy, switch_s=switch))
    return told
