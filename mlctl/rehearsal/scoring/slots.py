"""Slots with their workers: what each is at, and how that ends on the virtual clock."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import inf
from typing import Any

from mlctl.dataclasses import dataclass
from mlctl.rehearsal.evidence import CodeLine
from mlctl.rehearsal.losses import Loss, Moment, Slot
from mlctl.rehearsal.process import Gone, Process, TooLate
from mlctl.rehearsal.scoring.record import Record
from mlctl.rehearsal.stage import SlotSpan

_ENDS = {"done", "failed", "held"}


@dataclass
class SlotState:
    """A slot with its worker, and what it is at: `mini_batch` None while it initialises."""

    slot: Slot
    process: Process | None = None
    worker: str = ""
    start: float = 0.0
    end: float = inf  # virtual; inf: it has nothing to do
    mini_batch: int | None = None
    doomed: Loss | None = None
    answer: dict[str, Any] | None = None
    ready: bool = False
    ahead: int | None = None  # the mini-batch that was sent already, to begin with next

    def begin(
        self, mini_batch: int | None, now: float, takes: float, to_come: Iterable[Loss]
    ) -> None:
        """Begin with a mini-batch, or with `init`; a loss to come may end it."""
        self.start, self.end = now, now + takes
        self.mini_batch, self.answer, self.ready = mini_batch, None, False
        self.doomed = next(
            (loss for loss in to_come if self._hit_by(loss) and now <= loss.at < self.end), None
        )

    def _hit_by(self, loss: Loss) -> bool:
        """Whether a loss takes this worker: that of its node, or of its own mini-batch."""
        alone = loss.moment is Moment.TIMEOUT
        return loss.node == self.slot.node and (not alone or loss.mini_batch == self.mini_batch)

    def idle(self, *, ready: bool) -> None:
        """Have nothing to do; `ready` for a mini-batch or not."""
        self.end, self.mini_batch, self.ready = inf, None, ready

    def line(self, events: int) -> int | None:
        """The line event at which a doomed worker stops; None: it stops at its end."""
        assert self.doomed is not None
        share = (self.doomed.at - self.start) / (self.end - self.start)
        return 1 + int(share * events) if events else None

    def receive(self, record: Record, timeout: float) -> dict[str, Any]:
        """The last message of the worker; those before it are recorded.

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
        """What it did up to now."""
        return SlotSpan(self.slot.node, self.slot.number, self.start, now, self.mini_batch, state)

    def stopped_line(self) -> CodeLine | None:
        """The line at which the worker was stopped, if it was at one."""
        return CodeLine.from_message((self.answer or {}).get("held"))

    def drop(self) -> None:
        """End the worker."""
        if self.process is not None:
            process, self.process = self.process, None
            with suppress(OSError):
                process.end()


def _failed(kind: str, message: str, place: list[Any] | None = None) -> dict[str, Any]:
    return {"failed": {"type": kind, "message": message, "place": place, "text": ""}}
