"""The outcome of a run as plain values: rows, files, writes, failures, kills."""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from pathlib import Path

from mlctl.dataclasses import dataclass, field
from mlctl.rehearsal.evidence import CodeLine
from mlctl.rehearsal.folders import Content
from mlctl.rehearsal.losses import Loss
from mlctl.rehearsal.stage import SlotSpan

_FRACTION = re.compile(r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+")


class Status(StrEnum):
    """How a job ended."""

    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELED = "Canceled"  # the last node was lost


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A file that a worker wrote, appended to, moved or removed; by which line, for what.

    `mini_batch` is None in `init`. `worker` names the process.
    """

    path: str
    operation: str
    place: CodeLine | None
    mini_batch: int | None
    attempt: int
    worker: str


@dataclass(frozen=True, slots=True)
class BoundPort:
    """A fixed port that a worker has opened."""

    number: int
    place: CodeLine | None
    worker: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt; `mini_batch` is None for `init`. `text` is the traceback."""

    mini_batch: int | None
    attempt: int
    type: str
    message: str
    errno: int | None
    place: CodeLine | None
    text: str


@dataclass(frozen=True, slots=True)
class Kill:
    """A lost node: where its workers were, and which mini-batches had to run again."""

    loss: Loss
    places: tuple[CodeLine, ...]
    mini_batches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """What `run` returned for a mini-batch; `length` is None if the result has none."""

    rows: tuple[str, ...]
    length: int | None
    kind: str
    seconds: float
    returned: CodeLine | None
    caught: tuple[tuple[str, str, CodeLine], ...]  # type, message, the handler's line


@dataclass
class RehearsalOutcome:
    """A run. `events` and `init_events` count the executed lines, if traced."""

    folder: Path
    output: Path
    input: Path
    status: Status = Status.COMPLETED
    scored: dict[int, Scored] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    writes: list[FileWrite] = field(default_factory=list)
    ports: list[BoundPort] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    timeline: list[SlotSpan] = field(default_factory=list)
    events: dict[int, int] = field(default_factory=dict)
    init_events: int = 0
    init_seconds: list[float] = field(default_factory=list)
    memory: dict[str, list[int]] = field(default_factory=dict)
    files: dict[str, Content] = field(default_factory=dict)
    stand_ins: set[str] = field(default_factory=set)

    def rows(self, mini_batch: int) -> Counter[str]:
        """Return the rows of a mini-batch as a multiset, without what differs from run to run."""
        score = self.scored.get(mini_batch)
        return Counter(self.plain(row) for row in score.rows) if score else Counter()

    def all_rows(self) -> Counter[str]:
        """Return the rows of the whole run."""
        total: Counter[str] = Counter()
        for number in self.scored:
            total += self.rows(number)
        return total

    def plain(self, text: str) -> str:
        """Remove this run's folders from a text, and round fractions to six digits."""
        text = re.sub(re.escape(str(self.folder)) + r"(?:/nodes/\d+-\d+)?", "", text)
        return _FRACTION.sub(lambda match: f"{float(match[0]):.6g}", text)

    def lines(self, name: str) -> Counter[str] | None:
        """Return the lines of a file as a multiset, like rows; None if it is not text."""
        content = self.files[name]
        return None if content.lines is None else Counter(map(self.plain, content.lines))

    def within(self, path: str) -> str | None:
        """Return the name of a path below the output folder."""
        output = f"{self.output}/"
        return path.removeprefix(output) if path.startswith(output) else None
