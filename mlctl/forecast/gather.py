"""Carries histories out row by row, and keeps what there is where Ctrl-C ends that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

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


def gather(rows: Iterable[R], chunks: Callable[[R, list[H]], Iterable[list[H]]]) -> Gathered[R, H]:
    """The histories of each row, chunk by chunk; `chunks` is told those that there are already.

    Raises:
        KeyboardInterrupt: nothing has been learned yet.
    """
    gathered: Gathered[R, H] = Gathered()
    with gathered.stoppable():
        for row in rows:
            found: list[H] = []
            gathered.rows.append((row, found))
            for chunk in chunks(row, found):
                found.extend(chunk)
    return gathered
