"""The outcome of a run as plain values: rows, files, writes, failures, kills."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from mlctl.dataclasses import dataclass, field
from mlctl.rehearsal.evidence import CodeLine
from mlctl.rehearsal.folders import Content
from mlctl.rehearsal.inputs import Inputs, MiniBatches
from mlctl.rehearsal.losses import Loss
from mlctl.rehearsal.scoring.deployment import Deployment
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

    def append_rows(self, file: Path) -> None:
        """Write the rows of all mini-batches in order, as `append_row` does."""
        rows = [row for number in sorted(self.scored) for row in self.scored[number].rows]
        text = "".join(f"{row}\n" for row in rows)
        file.write_text(text, encoding="utf-8", errors="backslashreplace")

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


@dataclass
class Record:
    """The growing outcome; `attempts` are the tries of each mini-batch, without lost ones."""

    outcome: RehearsalOutcome
    deployment: Deployment
    inputs: Inputs
    mini_batches: MiniBatches
    on_event: Callable[[SlotSpan], None]
    attempts: Counter[int | None] = field(default_factory=Counter)
    errors: int = 0

    def add_span(self, span: SlotSpan) -> None:
        """Record what a slot did until now."""
        self.outcome.timeline.append(span)
        self.on_event(span)

    def note(self, message: Mapping[str, Any], mini_batch: int | None, worker: str) -> None:
        """Record a message before the result: a file that is written, a port that is opened."""
        if "wrote" in message:
            place = CodeLine.from_message(message["place"])
            self.outcome.writes.append(
                FileWrite(message["wrote"], message["how"], place, mini_batch, worker)
            )
        elif "bound" in message:
            self.outcome.ports.append(
                BoundPort(message["bound"], CodeLine.from_message(message["place"]), worker)
            )

    def add_init(self, message: Mapping[str, Any]) -> None:
        """Record an `init` that ended."""
        self.outcome.stand_ins |= {*message["stand_ins"]}
        self.outcome.init_seconds.append(message["seconds"])
        self.outcome.init_events = max(self.outcome.init_events, message["events"])

    def add_score(self, mini_batch: int, answer: Mapping[str, Any], worker: str) -> None:
        """Record a mini-batch that ended."""
        self.outcome.scored[mini_batch] = Scored(
            rows=tuple(answer["rows"]),
            length=answer["length"],
            kind=answer["kind"],
            seconds=answer["seconds"],
            returned=CodeLine.from_message(answer["returned"]),
            caught=tuple(
                (error, text, CodeLine(*place)) for error, text, place in answer["caught"]
            ),
        )
        self.outcome.stand_ins |= {*answer["stand_ins"]}
        self.outcome.events[mini_batch] = answer["events"]
        if answer["memory"] is not None:
            self.outcome.memory.setdefault(worker, []).append(answer["memory"])
        least = self.inputs.elements(self.mini_batches[mini_batch])
        self._count(max(0, least - (answer["length"] or 0)))

    def add_failure(self, mini_batch: int | None, message: Mapping[str, Any]) -> Failure:
        """Record a failed attempt or `init`; a mini-batch without tries left has failed."""
        error = message["failed"]
        failure = Failure(
            mini_batch=mini_batch,
            type=error["type"],
            message=error["message"],
            errno=error.get("errno"),
            place=CodeLine.from_message(error["place"]),
            text=error["text"],
        )
        self.outcome.failures.append(failure)
        if mini_batch is None:
            self.outcome.status = Status.FAILED
        elif self.attempts[mini_batch] >= self.deployment.tries:
            self.outcome.failed.add(mini_batch)
            self._count(len(self.mini_batches[mini_batch]))
        return failure

    def _count(self, inputs: int) -> None:
        """Count inputs that were not scored; more than the threshold end the job."""
        self.errors += inputs
        threshold = self.deployment.error_threshold
        if inputs and threshold >= 0 and self.errors > threshold:
            self.outcome.status = Status.FAILED
