"""Carries out the histories of rows, and keeps what there is where Ctrl-C ends that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Generic, TypeVar

from mlctl.forecast.batch.study import Histories, histories

if TYPE_CHECKING:
    from concurrent.futures import Executor

_FIRST = 100  # histories of a row before those of the next one

R = TypeVar("R")
H = TypeVar("H")


@dataclass
class Gathered(Generic[R, H]):
    """Rows with their histories; not `complete` where Ctrl-C came before the end."""

    rows: list[tuple[R, list[H]]] = field(default_factory=list)
    complete: bool = True

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let Ctrl-C end what is done within, not the program, once there are histories.

        Raises:
            KeyboardInterrupt: nothing has been learned yet.
        """
        try:
            yield
        except KeyboardInterrupt:
            self.rows = [(row, found) for row, found in self.rows if found]
            if not self.rows:
                raise
            self.complete = False


def gather(
    rows: Sequence[tuple[R, Histories[H]]],
    following: Callable[[R, list[H]], Sequence[range]],
    executor: Executor | None = None,
) -> Gathered[R, H]:
    """The histories of each row's study, those of all rows side by side.

    `following` says which histories of a row come after those that there are, if any.

    Raises:
        KeyboardInterrupt: nothing has been learned yet.
    """
    gathered: Gathered[R, H] = Gathered([(row, []) for row, _ in rows])
    left = [
        (row, found, study) for (row, found), (_, study) in zip(gathered.rows, rows, strict=True)
    ]
    with gathered.stoppable():
        while left:
            pieces = [following(row, found) for row, found, _ in left]
            turns = zip_longest(*pieces, fillvalue=range(0))
            parts = [(study, turn[at]) for turn in turns for at, (_, _, study) in enumerate(left)]
            for number, some in histories(parts, executor):
                left[number % len(left)][1].extend(some)
            left = [one for one, runs in zip(left, pieces, strict=True) if runs]
    return gathered


def growing(done: int, most: int, first: int = _FIRST) -> list[range]:
    """The histories from number `done` up to `most`: a few, then more and more.

    So all rows have some soon, however many there will be.
    """
    found = []
    while done < most:
        found.append(range(done, min(done + first, most)))
        done, first = found[-1].stop, 2 * first
    return found
