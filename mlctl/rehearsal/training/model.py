"""A training job and the outcome of its rehearsal, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from mlctl.dataclasses import dataclass, field
from mlctl.rehearsal.evidence import CodeLine
from mlctl.rehearsal.folders import Content

CHANGED = ("write", "append", "move")  # how files get their content
Metrics = Counter[tuple[str, int]]  # name and step, with their number of occurrences


@dataclass(frozen=True, slots=True)
class Training:
    """A command and its code. `command` may name `${{outputs.NAME}}`.

    A distributed job has `processes` on each of its `nodes`, which find each other as PyTorch's do.
    """

    command: str
    code: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    nodes: int = 1
    processes: int = 1
    distributed: bool = False

    @property
    def ranks(self) -> int:
        """Return the number of processes on all nodes."""
        return self.nodes * self.processes


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a life ends: at a line event, or at the `change`-th change of kept files.

    With `size`, the changed file gets so many bytes; without, the change does not begin.
    """

    line: int | None = None
    change: int | None = None
    size: int | None = None
    rank: int = 0

    @property
    def halves(self) -> bool:
        """Whether a file is left half written."""
        return self.size is not None


@dataclass(frozen=True, slots=True)
class Saved:
    """A write: what, how, where in the code, after how many line events and seconds.

    `source` is the former name of a moved file. `change` counts its process's changes of kept
    files; None: it is lost with the node.
    """

    path: str
    operation: str
    place: CodeLine | None
    events: int
    seconds: float
    change: int | None
    source: str | None = None
    rank: int = 0


@dataclass
class Life:
    """A life of the command on its nodes. `events` and `seconds` are those of rank 0.

    `lost` says whether it was ended, `stopped_at` at which line and `cut` in which file.
    """

    code: int = 0
    lost: bool = False
    stopped_at: CodeLine | None = None
    cut: str | None = None
    events: int = 0
    seconds: float = 0.0
    slept: float = 0.0
    writes: list[Saved] = field(default_factory=list)
    read: list[tuple[str, CodeLine | None]] = field(default_factory=list)  # of an earlier life
    metrics: Metrics = field(default_factory=Counter)
    log: str = ""
    last_size: int = 0  # of the file that was written last when the life ended

    @property
    def changes(self) -> list[Saved]:
        """Return the writes to kept files, in order."""
        return [write for write in self.writes if write.change is not None]

    @property
    def outside(self) -> list[Saved]:
        """Return the writes neither to kept files nor to the node."""
        return [
            write
            for write in self.writes
            if write.change is None and write.operation in CHANGED and write.path.startswith("/")
        ]

    @property
    def saved(self) -> list[Saved]:
        """Return the changes that give a file its content."""
        return [write for write in self.changes if write.operation in CHANGED]


@dataclass
class Trained:
    """A run: its lives, and the final content of its kept folder."""

    folder: Path
    lives: list[Life]
    files: dict[str, Content]
    metrics: Metrics
    metric_files: frozenset[str]
