"""What the workers of a run tell, put down in its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlctl.rehearsal.inputs import Inputs, MiniBatches
from mlctl.rehearsal.outcome import Failure, Outcome, Place, Port, Scored, Span, Status, Write
from mlctl.rehearsal.scoring.deployment import Deployment


@dataclass
class Record:
    """The outcome as it grows; `attempts` are the tries of each mini-batch, without lost ones."""

    outcome: Outcome
    deployment: Deployment
    inputs: Inputs
    mini_batches: MiniBatches
    on_event: Callable[[Span], None]
    attempts: Counter[int | None] = field(default_factory=Counter)
    errors: int = 0

    def span(self, span: Span) -> None:
        """What a slot did, up to now."""
        self.outcome.timeline.append(span)
        self.on_event(span)

    def passing(self, told: Mapping[str, Any], mini_batch: int | None, worker: str) -> None:
        """What a worker says on its way: a file that it writes, a port that it takes."""
        if "wrote" in told:
            place, attempt = Place.of(told["place"]), self.attempts[mini_batch]
            self.outcome.writes.append(
                Write(told["wrote"], told["how"], place, mini_batch, attempt, worker)
            )
        elif "bound" in told:
            self.outcome.ports.append(Port(told["bound"], Place.of(told["place"]), worker))

    def init(self, told: Mapping[str, Any]) -> None:
        """An `init` that came to its end."""
        self.outcome.stand_ins |= {*told["stand_ins"]}
        self.outcome.init_seconds.append(told["seconds"])
        self.outcome.init_events = max(self.outcome.init_events, told["events"])

    def score(self, mini_batch: int, told: Mapping[str, Any], worker: str) -> None:
        """A mini-batch that came to its end."""
        self.outcome.scored[mini_batch] = Scored(
            tuple(told["rows"]),
            told["length"],
            told["kind"],
            told["seconds"],
            Place.of(told["returned"]),
            tuple((one[0], one[1], Place(*one[2])) for one in told["caught"]),
        )
        self.outcome.stand_ins |= {*told["stand_ins"]}
        self.outcome.events[mini_batch] = told["events"]
        if told["memory"] is not None:
            self.outcome.memory.setdefault(worker, []).append(told["memory"])
        least = self.inputs.elements(self.mini_batches[mini_batch])
        self._count(max(0, least - (told["length"] or 0)))

    def failure(self, mini_batch: int | None, told: Mapping[str, Any]) -> Failure:
        """An attempt or an `init` that failed. A mini-batch that had all its tries has failed."""
        error, attempt = told["failed"], self.attempts[mini_batch]
        failure = Failure(
            mini_batch,
            attempt,
            error["type"],
            error["message"],
            error.get("errno"),
            Place.of(error["place"]),
            error["text"],
        )
        self.outcome.failures.append(failure)
        if mini_batch is None:
            self.outcome.status = Status.FAILED
        elif attempt >= self.deployment.tries:
            self.outcome.failed.add(mini_batch)
            self._count(len(self.mini_batches[mini_batch]))
        return failure

    def _count(self, inputs: int) -> None:
        """Inputs that were not scored; more than the threshold allows end the job."""
        self.errors += inputs
        most = self.deployment.error_threshold
        if inputs and most >= 0 and self.errors > most:
            self.outcome.status = Status.FAILED
