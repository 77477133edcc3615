"""One run of a batch deployment: mini-batches go to workers in the order of virtual time.

At one virtual moment attempts end first, then nodes are lost, then new attempts start. "All
completed progress is kept" (Use low priority VMs for batch deployments).
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from mlctl.dataclasses import dataclass, field
from mlctl.rehearsal import losses
from mlctl.rehearsal.evidence import CodeLine
from mlctl.rehearsal.folders import snapshot
from mlctl.rehearsal.inputs import Inputs, MiniBatches
from mlctl.rehearsal.losses import Loss, Moment, Slot
from mlctl.rehearsal.process import Gone, Interpreter, Process, TooLate
from mlctl.rehearsal.scoring.deployment import Deployment, lay_out, variables
from mlctl.rehearsal.scoring.outcome import Failure, Kill, Record, RehearsalOutcome, Status
from mlctl.rehearsal.stage import SlotSpan
from mlctl.simulator.engine.rng import uniform

_LONGEST_INIT = 3600.0  # seconds that `init` may sleep; the service documents no limit
_HASH_SEEDS = 2**32


class ScriptFails(Exception):
    """The script fails without any loss, or asks too much of stand-ins for packages.

    It cannot be imported, or its `init` fails.
    """

    def __init__(self, failure: Failure, stand_ins: frozenset[str] = frozenset()) -> None:
        super().__init__(failure.message)
        self.failure, self.stand_ins = failure, stand_ins


@dataclass(frozen=True, slots=True)
class KillTargets:
    """Where kills can be, from a calm run: line events, and sizes of files."""

    events: Mapping[int, int] = field(default_factory=dict)
    init_events: int = 0
    file_size: int = 0  # bytes of the smallest file that the script wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """How to run: losses, the mini-batches in order, traced or not.

    `key` seeds the hashes of its workers.
    """

    key: str
    inputs: Inputs
    mini_batches: MiniBatches
    order: Sequence[int]
    losses: Sequence[Loss] = ()
    targets: KillTargets = KillTargets()
    trace: bool = False


class ScoringRun:
    """The state of one run; `on_event` gets what each slot did."""

    def __init__(
        self,
        deployment: Deployment,
        order: RunOrder,
        interpreter: Interpreter,
        folder: Path,
        environment: Mapping[str, str],
        on_event: Callable[[SlotSpan], None] = lambda _: None,
    ) -> None:
        self.deployment, self.order, self.interpreter = deployment, order, interpreter
        self.environment = environment
        self.folder = folder
        output = folder / "output"
        output.mkdir(parents=True)
        self.input = order.inputs.lay_out(folder / "input")
        self.outcome = RehearsalOutcome(folder, output, self.input)
        self.record = Record(self.outcome, deployment, order.inputs, order.mini_batches, on_event)
        self.slots = [SlotState(slot) for slot in losses.slots(deployment.nodes, deployment.slots)]
        self.arguments = deployment.with_outputs(output)
        self.queue = deque(order.order)
        self.lives: dict[int, int] = {}
        self.coming = deque(sorted(order.losses, key=lambda loss: loss.at))
        self.returns: list[tuple[float, int]] = []  # when lost nodes return

    def run(self) -> RehearsalOutcome:
        """Run to the end."""
        try:
            for node in range(self.deployment.nodes):
                self._node(node, 0.0)
            while self._open():
                self._step()
        finally:
            for state in self.slots:
                state.drop()
        self.outcome.files = snapshot(self.outcome.output)
        return self.outcome

    def _open(self) -> bool:
        if self.outcome.status is not Status.COMPLETED:
            return False
        waiting = (state.mini_batch is not None or state.ahead is not None for state in self.slots)
        return bool(self.queue) or any(waiting)

    def _step(self) -> None:
        """Advance to the next virtual moment at which something happens."""
        now = min(
            min((state.end for state in self.slots), default=inf),
            self.coming[0].at if self.coming else inf,
            min((at for at, _ in self.returns), default=inf),
        )
        for at, node in [back for back in self.returns if back[0] <= now]:
            self.returns.remove((at, node))
            self._node(node, at)
        for state in self.slots:
            if state.end <= now and state.doomed is None:
                self._finish(state)
        while self.coming and self.coming[0].at <= now:
            self._lose(self.coming.popleft())
        for state in self.slots:
            if state.ready and self.outcome.status is Status.COMPLETED:
                if state.ahead is not None:
                    self._dispatch(state, state.ahead, now)
                elif self.queue:
                    self._dispatch(state, self.queue.popleft(), now)
        if not self.order.losses:  # nobody waits for a message then
            for state in self.slots:
                if state.mini_batch is not None and state.ahead is None and self.queue:
                    state.ahead = self.queue.popleft()
                    self._order(state, state.ahead, {"trace": self.order.trace})

    def _node(self, node: int, now: float) -> None:
        """Add a node: its folder, a worker for each slot, `init` in each of them."""
        self.lives[node] = self.lives.get(node, 0) + 1
        lay_out(self._folder(node), self.deployment)
        for state in self.slots:
            if state.slot.node == node:
                self._worker(state, now)

    def _folder(self, node: int) -> Path:
        return self.folder / "nodes" / f"{node + 1}-{self.lives[node]}"

    def _worker(self, state: SlotState, now: float) -> None:
        """Start a worker in a slot, and let it initialise."""
        node, folder = state.slot.node, self._folder(state.slot.node)
        state.worker = f"{node + 1}-{self.lives[node]}/{state.slot.number + 1}"
        seed = int(uniform(f"{self.order.key}/{state.worker}") * _HASH_SEEDS)
        names = variables(self.deployment, folder, self.outcome.output, self.environment, seed)
        script = folder / "code" / self.deployment.script.relative_to(self.deployment.code)
        log = f"worker-{state.slot.number + 1}"
        state.process = Process.start(self.interpreter, script, folder, names, log, self.arguments)
        state.begin(None, now, losses.INIT_S, self.coming)
        doomed = state.doomed is not None
        pause = state.line(self.order.targets.init_events) if doomed else None
        state.process.send(
            init=True,
            output=str(self.outcome.output),
            logs=str(folder / "logs"),
            stand_ins=self.deployment.stand_ins,
            table=str(self.input) if self.order.inputs.tabular else None,
            pause=pause,
            trace=self.order.trace or pause is not None,
            hold=doomed,
            timeout=_LONGEST_INIT,
        )

    def _dispatch(self, state: SlotState, mini_batch: int, now: float) -> None:
        state.begin(mini_batch, now, losses.MINI_BATCH_S, self.coming)
        self.record.attempts[mini_batch] += 1
        settings: dict[str, Any] = {"trace": self.order.trace}
        if (loss := state.doomed) is not None:
            aimed = loss.moment if loss.mini_batch == mini_batch else Moment.RUN
            settings["hold"] = True
            if aimed is Moment.WRITE:
                size = self.order.targets.file_size
                settings["bytes"] = max(1, min(size - 1, int(loss.fraction * size)))
            elif aimed in (Moment.RUN, Moment.TIMEOUT):
                settings["pause"] = state.line(self.order.targets.events.get(mini_batch, 0))
                settings["trace"] = settings["pause"] is not None
        if state.ahead == mini_batch:
            state.ahead = None
        else:
            self._order(state, mini_batch, settings)

    def _order(self, state: SlotState, mini_batch: int, settings: Mapping[str, Any]) -> None:
        assert state.process is not None
        inputs = self.order.inputs.order(
            mini_batch, self.order.mini_batches[mini_batch], self.input
        )
        state.process.send(**inputs, timeout=self.deployment.timeout, **settings)

    def _finish(self, state: SlotState) -> None:
        """End an attempt, or `init`, at its virtual end."""
        message, now = state.receive(self.record, self.deployment.timeout), state.end
        mini_batch = state.mini_batch
        if "failed" in message:
            self._fail(mini_batch, message)
        elif mini_batch is None:
            self.record.add_init(message)
        else:
            self.record.add_score(mini_batch, message, state.worker)
        self.record.add_span(state.span(now, "failed" if "failed" in message else "done"))
        state.idle(ready=True)
        if "failed" in message and message["failed"]["type"] in ("Timeout", "Ended"):
            state.drop()
            if state.ahead is not None:
                self.queue.appendleft(state.ahead)
                state.ahead = None
            self._worker(state, now)

    def _fail(self, mini_batch: int | None, message: Mapping[str, Any]) -> None:
        failure = self.record.add_failure(mini_batch, message)
        if mini_batch is None and not self.outcome.kills:
            raise ScriptFails(failure, frozenset(self.outcome.stand_ins))
        if mini_batch is not None and mini_batch not in self.outcome.failed:
            self.queue.append(mini_batch)

    def _lose(self, loss: Loss) -> None:
        """Lose a node: kill its workers where they are, and queue their mini-batches again."""
        if any(node == loss.node for _, node in self.returns):
            return
        alone = loss.moment is Moment.TIMEOUT
        states = [state for state in self.slots if state.slot.node == loss.node]
        if alone:
            states = [state for state in states if state.mini_batch == loss.mini_batch]
        hit, stopped = [], []
        for state in states:
            hit += [] if state.mini_batch is None else [state.mini_batch]
            if (place := self._kill(state, loss.at)) is not None:
                stopped.append(place)
        self.queue.extendleft(reversed(hit))
        self.outcome.kills.append(Kill(loss, tuple(stopped), tuple(hit)))
        if alone:
            for state in states:
                self._worker(state, loss.at)
            return
        shutil.rmtree(self._folder(loss.node), ignore_errors=True)
        if any(state.process is not None for state in self.slots):
            self.returns.append((loss.at + losses.REPLACEMENT_S, loss.node))
        else:
            self.outcome.status = Status.CANCELED

    def _kill(self, state: SlotState, at: float) -> CodeLine | None:
        """Kill a worker; return the line where it was stopped, if any."""
        place = None
        if state.end < inf:
            state.receive(self.record, self.deployment.timeout)
            self.record.add_span(state.span(at, "lost"))
            place = CodeLine.from_message((state.answer or {}).get("held"))
        if state.mini_batch is not None:
            self.record.attempts[state.mini_batch] -= 1  # a loss is not a try
        state.drop()
        state.doomed = None
        state.idle(ready=False)
        return place


_ENDS = {"done", "failed", "held"}


@dataclass
class SlotState:
    """A slot with its worker and its work; `mini_batch` is None while it initialises."""

    slot: Slot
    process: Process | None = None
    worker: str = ""
    start: float = 0.0
    end: float = inf  # virtual; inf if idle
    mini_batch: int | None = None
    doomed: Loss | None = None
    answer: dict[str, Any] | None = None
    ready: bool = False
    ahead: int | None = None  # the next mini-batch, if it was sent already

    def begin(
        self, mini_batch: int | None, now: float, takes: float, to_come: Iterable[Loss]
    ) -> None:
        """Begin a mini-batch, or `init`; a future loss may end it."""
        self.start, self.end = now, now + takes
        self.mini_batch, self.answer, self.ready = mini_batch, None, False
        self.doomed = next(
            (loss for loss in to_come if self._is_hit_by(loss) and now <= loss.at < self.end), None
        )

    def _is_hit_by(self, loss: Loss) -> bool:
        """Whether a loss hits this worker: by its node, or by its own mini-batch."""
        alone = loss.moment is Moment.TIMEOUT
        return loss.node == self.slot.node and (not alone or loss.mini_batch == self.mini_batch)

    def idle(self, *, ready: bool) -> None:
        """Become idle; `ready` for a mini-batch or not."""
        self.end, self.mini_batch, self.ready = inf, None, ready

    def line(self, events: int) -> int | None:
        """Return the line event at which a doomed worker stops; None if it stops at its end."""
        assert self.doomed is not None
        share = (self.doomed.at - self.start) / (self.end - self.start)
        return 1 + int(share * events) if events else None

    def receive(self, record: Record, timeout: float) -> dict[str, Any]:
        """Return the last message of the worker, and record those before it.

        Raises:
            TooLate: the time for the rehearsal is over.
        """
        if self.answer is not None:
            return self.answer
        assert self.process is not None
        patience = timeout if self.mini_batch is not None else None
        try:
            while not _ENDS & (message := self.process.receive(patience)).keys():
                record.note(message, self.mini_batch, self.worker)
        except Gone as error:
            message = _failed("Ended", f"the process ended by itself with {error}")
        except TooLate:
            if patience is None or self.process.interpreter.over:
                raise
            message = _failed("Timeout", "", self.process.place)
        self.answer = message
        return message

    def span(self, now: float, state: str) -> SlotSpan:
        """Return what the slot did until now."""
        return SlotSpan(self.slot.node, self.slot.number, self.start, now, self.mini_batch, state)

    def drop(self) -> None:
        """End the worker."""
        if self.process is not None:
            process, self.process = self.process, None
            with suppress(OSError):
                process.end()


def _failed(kind: str, message: str, place: list[Any] | None = None) -> dict[str, Any]:
    return {"failed": {"type": kind, "message": message, "place": place, "text": ""}}
