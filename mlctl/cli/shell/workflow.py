"""Plans and applies of a command: the workflow, with a session's project, streams and signals."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from mlctl.backends.ports.backend import Backend
from mlctl.cli.shell.session import Session
from mlctl.cli.shell.streams import OutputError
from mlctl.config.loader import LoadedConfig
from mlctl.render.terminal.terminal import clean
from mlctl.workflow.model import LONGEST_WAIT_S, PlanContext

if TYPE_CHECKING:
    from mlctl.applying.events import StepEvent
    from mlctl.applying.outcome import Outcome
    from mlctl.workflow.applying import Execution, Show


def plan_context(session: Session) -> PlanContext:
    """The project of a session; what is noted and found is shown."""

    def show(loaded: LoadedConfig) -> None:
        for note in loaded.notes:
            session.note(clean(f"note: {note}"))
        if len(loaded.report) and (loaded.report.failed or not session.quiet):
            session.show(loaded.report)

    return PlanContext(
        project=session.settings.project,
        new_loader=session.loader,
        policies=lambda: session.policies,
        journals=session.journals,
        note=session.note,
        show=show,
        price_list=lambda: session.own_price_list,
    )


def settle_s(session: Session) -> float:
    """How long operations of others are waited for, in seconds."""
    return session.options.timeout or LONGEST_WAIT_S


def perform(
    session: Session, backend: Backend, execution: Execution, show: Show | None = None
) -> Outcome:
    """Carry out a plan; unless `show` does, the events are printed for people.

    The caller prints the summary.
    """
    from mlctl.workflow.applying import apply_plan, collect_silently
    from mlctl.workflow.renaming import WriteError

    def print_events(events: Iterator[StepEvent], execution: Execution) -> Outcome:
        from mlctl.render.apply import progress

        if not session.has_notes:
            return collect_silently(events, execution)
        work, actions = execution.work, execution.actions
        if sys.stderr.isatty():
            return progress.watch(events, work, actions, sys.stderr, time.monotonic)
        return progress.show(events, work, actions, sys.stderr)

    try:
        with stop_on_signal() as stop:
            return apply_plan(
                execution,
                backend,
                session.journals,
                stop,
                show=show or print_events,
                note=session.note,
            )
    except WriteError as error:
        raise OutputError(str(error)) from None


_STOPPING = b"Stopping: nothing new starts, what runs is finished. Once more to stop at once.\n"
_STOPPED = b"Stopped at once. What was being written may be half done; apply again to go on.\n"


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C, SIGTERM or SIGHUP sets; the second ends the process at once.

    Under `nohup`, SIGHUP is ignored and stays so. The event is also set when the block ends: where
    an error ends it, nothing new starts either.
    """
    stop = threading.Event()

    def handle(number: int, _frame: FrameType | None) -> None:
        again = stop.is_set()
        stop.set()
        with suppress(OSError):  # print() is not reentrant, and may be what was interrupted
            os.write(sys.stderr.fileno(), _STOPPED if again else _STOPPING)
        if again:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    handlers = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield stop
    finally:
        stop.set()
        for number, handler in handlers.items():
            signal.signal(number, handler)
