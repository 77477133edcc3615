"""What came of a run: rows, files, writes, failures, kills; plain values."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from mlctl.rehearsal.losses import Loss

_FRACTION = re.compile(r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+")
_MOST = 1 << 24  # bytes of a file that is compared line by line; of a bigger one its hash is


class Status(StrEnum):
    """How a job ended."""

    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELED = "Canceled"  # the last node was lost


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's code: the file relative to its folder, and the number from 1."""

    file: str
    line: int

    @classmethod
    def of(cls, told: list[Any] | None) -> Place | None:
        """From what a worker tells: `[file, line]`."""
        return cls(str(told[0]), int(told[1])) if told else None


@dataclass(frozen=True, slots=True)
class Write:
    """A file that a worker wrote, appended to, moved, removed: how, where in its code, for what.

    `mini_batch` is None in `init`. `worker` names the process.
    """

    path: str
    how: str
    place: Place | None
    mini_batch: int | None
    attempt: int
    worker: str


@dataclass(frozen=True, slots=True)
class Port:
    """A port with a number of its own that a worker has taken."""

    number: int
    place: Place | None
    worker: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that failed; `mini_batch` is None for `init`. `text` is the traceback."""

    mini_batch: int | None
    attempt: int
    type: str
    message: str
    errno: int | None
    place: Place | None
    text: str


@dataclass(frozen=True, slots=True)
class Kill:
    """A node that was lost: where its workers were, and which mini-batches had to run again."""

    loss: Loss
    places: tuple[Place, ...]
    mini_batches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the timeline, in virtual seconds: what a slot did, and how that ended."""

    node: int
    slot: int
    start: float
    end: float
    mini_batch: int | None
    end_state: str


@dataclass(frozen=True, slots=True)
class Scored:
    """What `run` gave for a mini-batch. `length` is None where it gave nothing that has one."""

    rows: tuple[str, ...]
    length: int | None
    kind: str
    seconds: float
    returned: Place | None
    caught: tuple[tuple[str, str, Place], ...]  # type, message, the handler's line


@dataclass
class Outcome:
    """A run. `events` and `init_events` count the lines that were executed, where traced."""

    folder: Path
    output: Path
    input: Path
    status: Status = Status.COMPLETED
    scored: dict[int, Scored] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    timeline: list[Span] = field(default_factory=list)
    events: dict[int, int] = field(default_factory=dict)
    init_events: int = 0
    init_seconds: list[float] = field(default_factory=list)
    memory: dict[str, list[int]] = field(default_factory=dict)
    files: dict[str, Content] = field(default_factory=dict)
    stand_ins: set[str] = field(default_factory=set)

    def rows(self, mini_batch: int) -> Counter[str]:
        """The rows of a mini-batch as a multiset, without what changes from run to run."""
        one = self.scored.get(mini_batch)
        return Counter(self.plain(row) for row in one.rows) if one else Counter()

    def all_rows(self) -> Counter[str]:
        """The rows of the whole run."""
        total: Counter[str] = Counter()
        for one in self.scored:
            total += self.rows(one)
        return total

    def plain(self, text: str) -> str:
        """Text without the folders of this run, and its fractions to six digits."""
        text = re.sub(re.escape(str(self.folder)) + r"(?:/nodes/\d+-\d+)?", "", text)
        return _FRACTION.sub(lambda found: f"{float(found[0]):.6g}", text)

    def lines(self, name: str) -> Counter[str] | None:
        """The lines of a file as a multiset, like rows; None where it is no text."""
        content = self.files[name]
        return None if content.lines is None else Counter(map(self.plain, content.lines))

    def within(self, path: str) -> str | None:
        """The name of a path below the output folder."""
        here = f"{self.output}/"
        return path.removeprefix(here) if path.startswith(here) else None


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a file: its size, its hash, and its lines where it is text of a fair size."""

    size: int
    sha256: str
    lines: tuple[str, ...] | None

    @classmethod
    def read(cls, path: Path) -> Content:
        """Read a file.

        Raises:
            OSError: it cannot be read.
        """
        size = path.stat().st_size
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines = None
        if size <= _MOST:
            try:
                lines = tuple(path.read_bytes().decode().splitlines())
            except UnicodeDecodeError:
                lines = None
        return cls(size, digest, lines)


def snapshot(folder: Path) -> dict[str, Content]:
    """The files below a folder by their relative names."""
    return {
        one.relative_to(folder).as_posix(): Content.read(one)
        for one in sorted(folder.rglob("*"))
        if one.is_file() and not one.is_symlink()
    }
