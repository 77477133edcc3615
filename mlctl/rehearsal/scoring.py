"""One run of a batch deployment: mini-batches to workers, in the order of virtual time.

What happens at one virtual moment happens in this order: ends of attempts, losses of nodes, new
attempts. "All completed progress is kept" (Use low priority VMs for batch deployments).
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from mlctl.rehearsal import losses as when
from mlctl.rehearsal.deployment import Deployment, Inputs, MiniBatches, lay_out, variables
from mlctl.rehearsal.losses import Loss, Moment, Slot
from mlctl.rehearsal.outcome import (
    Failure,
    Kill,
    Outcome,
    Place,
    Scored,
    Span,
    Status,
    Write,
    snapshot,
)
from mlctl.rehearsal.process import Gone, Interpreter, Process, TooLate
from mlctl.simulator.engine.rng import uniform

_LONGEST_INIT = 3600.0  # seconds that `init` may sleep; nothing says what the service allows
_HASH_SEEDS = 2**32


class ScriptFails(Exception):
    """The script cannot be imported, or `init` fails, without any loss."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass
class _Place:
    """A slot with its worker, and what it is at: `mini_batch` None while it initialises."""

    slot: Slot
    process: Process | None = None
    worker: str = ""
    start: float = 0.0
    end: float = inf  # virtual; inf: it has nothing to do
    mini_batch: int | None = None
    doomed: Loss | None = None
    told: dict[str, Any] | None = None
    ready: bool = False
    ahead: int | None = None  # the mini-batch that it was told of already, to begin with next


@dataclass(frozen=True, slots=True)
class Known:
    """What a calm run has shown, for kills to have their places: line events, sizes of files."""

    events: Mapping[int, int] = field(default_factory=dict)
    init_events: int = 0
    file_size: int = 0  # bytes of the smallest file that the script wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a run is to be: its losses, the mini-batches in their order, traced or not.

    `key` makes the hash seeds of its workers.
    """

    key: str
    inputs: Inputs
    mini_batches: MiniBatches
    order: Sequence[int]
    losses: Sequence[Loss] = ()
    known: Known = Known()
    trace: bool = False


class Run:
    """The state of one run."""

    def __init__(
        self,
        deployment: Deployment,
        order: Order,
        interpreter: Interpreter,
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        self.deployment, self.order, self.interpreter = deployment, order, interpreter
        self.environment = environment
        self.folder = folder
        output = folder / "output"
        output.mkdir(parents=True)
        self.input = order.inputs.lay_out(folder / "input")
        self.outcome = Outcome(folder, output, self.input)
        self.places = [_Place(one) for one in when.slots(deployment.nodes, deployment.slots)]
        self.queue = deque(order.order)
        self.attempts: dict[int, int] = {}
        self.lives: dict[int, int] = {}
        self.losses = deque(sorted(order.losses, key=lambda one: one.at))
        self.returns: list[tuple[float, int]] = []  # when lost nodes are back
        self.errors = 0

    def go(self, on_event: Callable[[Span], None] = lambda _: None) -> Outcome:
        """Run to the end.

        Raises:
            ScriptFails: the script cannot be used, whatever happens to nodes.
            TooLate: the time for the rehearsal is over.
        """
        self.on_event = on_event
        try:
            for node in range(self.deployment.nodes):
                self._node(node, 0.0)
            while self._open():
                self._step()
        finally:
            for one in self.places:
                self._drop(one)
        self.outcome.files = snapshot(self.outcome.output)
        return self.outcome

    def _open(self) -> bool:
        if self.outcome.status is not Status.COMPLETED:
            return False
        waiting = (one.mini_batch is not None or one.ahead is not None for one in self.places)
        return bool(self.queue) or any(waiting)

    def _step(self) -> None:
        """Go on to the next virtual moment at which something happens."""
        now = min(
            min((one.end for one in self.places), default=inf),
            self.losses[0].at if self.losses else inf,
            min((at for at, _ in self.returns), default=inf),
        )
        for at, node in [one for one in self.returns if one[0] <= now]:
            self.returns.remove((at, node))
            self._node(node, at)
        for one in self.places:
            if one.end <= now and one.doomed is None:
                self._ended(one)
        while self.losses and self.losses[0].at <= now:
            self._lose(self.losses.popleft())
        for one in self.places:
            if one.ready and self.outcome.status is Status.COMPLETED:
                if one.ahead is not None:
                    self._dispatch(one, one.ahead, now)
                elif self.queue:
                    self._dispatch(one, self.queue.popleft(), now)
        if not self.order.losses:  # nobody waits for word, then
            for one in self.places:
                if one.mini_batch is not None and one.ahead is None and self.queue:
                    one.ahead = self.queue.popleft()
                    self._order(one, one.ahead, {"trace": self.order.trace})

    def _node(self, node: int, now: float) -> None:
        """A node comes: its folder, a worker for each slot, `init` in each of them."""
        self.lives[node] = self.lives.get(node, 0) + 1
        lay_out(self._folder(node), self.deployment)
        for one in self.places:
            if one.slot.node == node:
                self._worker(one, now)

    def _folder(self, node: int) -> Path:
        return self.folder / "nodes" / f"{node + 1}-{self.lives[node]}"

    def _worker(self, place: _Place, now: float) -> None:
        """Start a worker in a slot, and have it initialise."""
        node, folder = place.slot.node, self._folder(place.slot.node)
        place.worker = f"{node + 1}-{self.lives[node]}/{place.slot.number + 1}"
        seed = int(uniform(f"{self.order.key}/{place.worker}") * _HASH_SEEDS)
        names = variables(self.deployment, folder, self.outcome.output, self.environment, seed)
        script = folder / "code" / self.deployment.script.relative_to(self.deployment.code)
        place.process = Process.start(
            self.interpreter, script, folder, names, f"worker-{place.slot.number + 1}"
        )
        place.start, place.end = now, now + when.INIT_S
        place.mini_batch, place.told, place.ready = None, None, False
        place.doomed = self._doom(place)
        pause = None
        if place.doomed is not None:
            pause = self._line(place, self.order.known.init_events)
        trace = self.order.trace or pause is not None
        hold = place.doomed is not None
        place.process.order(init=True, pause=pause, trace=trace, hold=hold, timeout=_LONGEST_INIT)

    def _doom(self, place: _Place) -> Loss | None:
        """The loss by which a slot will not get to the end of what it begins."""
        for one in self.losses:
            if one.node == place.slot.node and place.start <= one.at < place.end:
                return one
        return None

    @staticmethod
    def _line(place: _Place, events: int) -> int | None:
        """The line event at which a doomed worker stops; None: it stops at its end."""
        assert place.doomed is not None
        done = (place.doomed.at - place.start) / (place.end - place.start)
        return 1 + int(done * events) if events else None

    def _dispatch(self, place: _Place, mini_batch: int, now: float) -> None:
        place.start, place.end = now, now + when.MINI_BATCH_S
        place.mini_batch, place.told, place.ready = mini_batch, None, False
        place.doomed = loss = self._doom(place)
        self.attempts[mini_batch] = self.attempts.get(mini_batch, 0) + 1
        more: dict[str, Any] = {"trace": self.order.trace}
        if loss is not None:
            aimed = loss.moment if loss.mini_batch == mini_batch else Moment.RUN
            more["hold"] = True
            if aimed is Moment.WRITE:
                size = self.order.known.file_size
                more["bytes"] = max(1, min(size - 1, int(loss.fraction * size)))
            elif aimed is Moment.RUN:
                more["pause"] = self._line(place, self.order.known.events.get(mini_batch, 0))
                more["trace"] = more["pause"] is not None
        if place.ahead == mini_batch:
            place.ahead = None
        else:
            self._order(place, mini_batch, more)

    def _order(self, place: _Place, mini_batch: int, more: Mapping[str, Any]) -> None:
        assert place.process is not None
        files = [str(self.input / name) for name in self.order.mini_batches[mini_batch]]
        place.process.order(run=files, timeout=self.deployment.timeout, **more)

    def _told(self, place: _Place) -> dict[str, Any]:
        """What a worker has to say in the end; its writes go to the outcome."""
        if place.told is not None:
            return place.told
        assert place.process is not None
        patience = self.deployment.timeout if place.mini_batch is not None else None
        try:
            while "wrote" in (told := place.process.hear(patience)) or "up" in told:
                self._note_write(place, told)
        except Gone as gone:
            why = f"the process ended by itself with {gone}"
            told = {"failed": {"type": "Ended", "message": why, "place": None, "text": ""}}
            told["signal"] = gone.signal
        except TooLate:
            if patience is None or self.interpreter.over:
                raise
            told = {"failed": {"type": "Timeout", "message": "", "place": None, "text": ""}}
        place.told = told
        return told

    def _note_write(self, place: _Place, told: Mapping[str, Any]) -> None:
        if "wrote" in told:
            attempt = self.attempts.get(place.mini_batch, 0) if place.mini_batch is not None else 0
            self.outcome.writes.append(
                Write(
                    told["wrote"],
                    told["how"],
                    Place.of(told["place"]),
                    place.mini_batch,
                    attempt,
                    place.worker,
                )
            )

    def _ended(self, place: _Place) -> None:
        """An attempt, or `init`, is at its virtual end."""
        told, now = self._told(place), place.end
        mini_batch = place.mini_batch
        place.end, place.mini_batch, place.ready = inf, None, True
        if "failed" in told:
            self._failed(mini_batch, told)
        elif mini_batch is None:
            self.outcome.init_seconds.append(told["seconds"])
            self.outcome.init_events = max(self.outcome.init_events, told["events"])
        else:
            self._note_score(place, mini_batch, told)
        self._note_span(place, mini_batch, now, "failed" if "failed" in told else "done")
        if "failed" in told and told["failed"]["type"] in ("Timeout", "Ended"):
            self._drop(place)
            if place.ahead is not None:
                self.queue.appendleft(place.ahead)
                place.ahead = None
            self._worker(place, now)

    def _note_span(self, place: _Place, mini_batch: int | None, now: float, state: str) -> None:
        span = Span(place.slot.node, place.slot.number, place.start, now, mini_batch, state)
        self.outcome.timeline.append(span)
        self.on_event(span)

    def _note_score(self, place: _Place, mini_batch: int, told: Mapping[str, Any]) -> None:
        files = len(self.order.mini_batches[mini_batch])
        self.outcome.scored[mini_batch] = Scored(
            tuple(told["rows"]),
            told["length"],
            told["kind"],
            told["seconds"],
            Place.of(told["returned"]),
            tuple((one[0], one[1], Place(*one[2])) for one in told["caught"]),
        )
        self.outcome.events[mini_batch] = told["events"]
        if told["memory"] is not None:
            self.outcome.memory.setdefault(place.worker, []).append(told["memory"])
        self._count_errors(max(0, files - (told["length"] or 0)))

    def _count_errors(self, files: int) -> None:
        """Files that were not scored; more than the threshold allows end the job."""
        self.errors += files
        most = self.deployment.error_threshold
        if files and most >= 0 and self.errors > most:
            self.outcome.status = Status.FAILED

    def _failed(self, mini_batch: int | None, told: Mapping[str, Any]) -> None:
        error = told["failed"]
        attempt = self.attempts.get(mini_batch, 0) if mini_batch is not None else 0
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
            if not self.outcome.kills:
                raise ScriptFails(failure)
            self.outcome.status = Status.FAILED
        elif attempt >= self.deployment.tries:
            self.outcome.failed.add(mini_batch)
            self._count_errors(len(self.order.mini_batches[mini_batch]))
        else:
            self.queue.append(mini_batch)

    def _lose(self, loss: Loss) -> None:
        """A node is lost: its workers are killed where they are, their mini-batches wait again."""
        if any(node == loss.node for _, node in self.returns):
            return
        hit, stopped = [], []
        for one in self.places:
            if one.slot.node != loss.node:
                continue
            told = self._told(one) if one.end < inf else {}
            if told.get("held"):
                stopped.append(Place(*told["held"]))
            if one.mini_batch is not None:
                hit.append(one.mini_batch)
                self.attempts[one.mini_batch] -= 1  # a loss is no try
            if one.end < inf:
                self._note_span(one, one.mini_batch, loss.at, "lost")
            self._drop(one)
            one.end, one.mini_batch, one.ready, one.doomed = inf, None, False, None
        self.queue.extendleft(reversed(hit))
        self.outcome.kills.append(Kill(loss, tuple(stopped), tuple(hit)))
        shutil.rmtree(self._folder(loss.node), ignore_errors=True)
        if any(one.process is not None for one in self.places):
            self.returns.append((loss.at + when.REPLACEMENT_S, loss.node))
        else:
            self.outcome.status = Status.CANCELED

    def _drop(self, place: _Place) -> None:
        if place.process is not None:
            process, place.process = place.process, None
            with suppress(OSError):
                process.end()
