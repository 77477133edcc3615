"""Run many histories, and keep those that exist if Ctrl-C ends that.

A history depends only on its number: a longer study begins with the shorter one, and neither the
workers nor their order change anything. A study splits into ranges of numbers, for any executor of
`concurrent.futures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mlctl.dataclasses import dataclass, field

if TYPE_CHECKING:
    from concurrent.futures import Executor

_FIRST = 100  # histories of a row before those of the next one
_TASKS, _MOST_TASKS = 32, 512  # so many, for workers to end at about the same time
_AT_ONCE = 25  # histories between two progress notes of this process
_ENOUGH = 100  # histories per task, unless there are too many: some take very long

R = TypeVar("R")
H = TypeVar("H")
H_co = TypeVar("H_co", covariant=True)


class Histories(Protocol[H_co]):
    """What can be run in ranges of histories, which are named tuples, in any process."""

    def histories(self, runs: range) -> Sequence[H_co]:
        """Return the histories of these numbers."""
        ...


Part = tuple[Histories[H], range]


def histories(
    parts: Sequence[Part[H]], executor: Executor | None = None
) -> Iterator[tuple[int, list[H]]]:
    """Yield the histories of each part, in order, in pieces, with the number of the part.

    An executor runs the pieces of all parts in parallel.
    """
    tasks = list(_tasks(parts))
    if executor is None:
        for at, runs in chain.from_iterable(tasks):
            for start in range(runs.start, runs.stop, _AT_ONCE):
                yield at, [*parts[at][0].histories(range(start, min(start + _AT_ONCE, runs.stop)))]
        return
    work = [[(parts[at][0], runs) for at, runs in task] for task in tasks]
    for task, tables in zip(tasks, executor.map(_carried_out, work), strict=True):
        for (at, _), table in zip(task, tables, strict=True):
            kind, *columns = table
            yield at, list(map(kind._make, zip(*columns, strict=True)))


def histories_of(
    studies: Sequence[Histories[H]], runs: int, executor: Executor | None = None
) -> list[list[H]]:
    """Return so many histories of each study."""
    results: list[list[H]] = [[] for _ in studies]
    for at, piece in histories([(study, range(runs)) for study in studies], executor):
        results[at].extend(piece)
    return results


def _tasks(parts: Sequence[Part[Any]]) -> Iterator[list[tuple[int, range]]]:
    """Split the parts into pieces; short ones share a task, so that tasks are worth sending."""
    total = sum(len(runs) for _, runs in parts)
    size = min(max(total // _TASKS, 1), max(total // _MOST_TASKS, _ENOUGH))
    task: list[tuple[int, range]] = []
    room = size
    for at, (_, runs) in enumerate(parts):
        remaining = runs
        while remaining:
            task.append((at, remaining[:room]))
            remaining, room = remaining[room:], room - len(remaining[:room])
            if not room:
                yield task
                task, room = [], size
    if task:
        yield task


# Histories sent between processes: their type, and a column per field, which takes a third of the
# time of pickling each history.
_Table = tuple[Any, ...]


def _carried_out(work: Sequence[Part[Any]]) -> list[_Table]:
    tables = [study.histories(runs) for study, runs in work]
    return [(type(rows[0]), *zip(*rows, strict=True)) for rows in tables]


@dataclass
class Gathered(Generic[R, H]):
    """Rows with their histories; not `complete` if Ctrl-C came before the end."""

    rows: list[tuple[R, list[H]]] = field(default_factory=list)
    complete: bool = True

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let Ctrl-C end the block, not the program, once there are histories.

        Raises:
            KeyboardInterrupt: there are none yet.
        """
        try:
            yield
        except KeyboardInterrupt:
            self.rows = [(row, results) for row, results in self.rows if results]
            if not self.rows:
                raise
            self.complete = False


def gather(
    rows: Sequence[tuple[R, Histories[H]]],
    following: Callable[[R, list[H]], Sequence[range]],
    executor: Executor | None = None,
    note: Callable[[int], None] = lambda _: None,
) -> Gathered[R, H]:
    """Run the histories of each row's study, those of all rows in parallel.

    `following` returns a row's next histories after those it has, if any. `note` is called with the
    number of new ones.
    """
    gathered: Gathered[R, H] = Gathered([(row, []) for row, _ in rows])
    unfinished = [
        (row, results, study)
        for (row, results), (_, study) in zip(gathered.rows, rows, strict=True)
    ]
    with gathered.stoppable():
        while unfinished:
            pieces = [following(row, results) for row, results, _ in unfinished]
            turns = zip_longest(*pieces, fillvalue=range(0))
            parts = [
                (study, turn[at]) for turn in turns for at, (_, _, study) in enumerate(unfinished)
            ]
            for number, piece in histories(parts, executor):
                unfinished[number % len(unfinished)][1].extend(piece)
                note(len(piece))
            unfinished = [entry for entry, runs in zip(unfinished, pieces, strict=True) if runs]
    return gathered


def growing(start: int, end: int) -> list[range]:
    """Return the histories from number `start` to `end`: a few, then more and more.

    So every row soon has some, however many there will be.
    """
    pieces, count = [], _FIRST
    while start < end:
        pieces.append(range(start, min(start + count, end)))
        start, count = pieces[-1].stop, 2 * count
    return pieces
