"""Record the messages of a run's workers in its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from mlctl.dataclasses import dataclass, field
from mlctl.rehearsal.evidence import CodeLine
from mlctl.rehearsal.inputs import Inputs, MiniBatches
from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.rehearsal.scoring.outcome import (
    BoundPort,
    Failure,
    FileWrite,
    RehearsalOutcome,
    Scored,
    Status,
)
from mlctl.rehearsal.stage import SlotSpan


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
            place, attempt = CodeLine.from_message(message["place"]), self.attempts[mini_batch]
            self.outcome.writes.append(
                FileWrite(message["wrote"], message["how"], place, mini_batch, attempt, worker)
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
        error, attempt = message["failed"], self.attempts[mini_batch]
        failure = Failure(
            mini_batch=mini_batch,
            attempt=attempt,
            type=error["type"],
            message=error["message"],
            errno=error.get("errno"),
            place=CodeLine.from_message(error["place"]),
            text=error["text"],
        )
        self.outcome.failures.append(failure)
        if mini_batch is None:
            self.outcome.status = Status.FAILED
        elif attempt >= self.deployment.tries:
            self.outcome.failed.add(mini_batch)
            self._count(len(self.mini_batches[mini_batch]))
        return failure

    def _count(self, inputs: int) -> None:
        """Count inputs that were not scored; more than the threshold end the job."""
        self.errors += inputs
        threshold = self.deployment.error_threshold
        if inputs and threshold >= 0 and self.errors > threshold:
            self.outcome.status = Status.FAILED
