"""Where a rehearsal runs, its limits and its output; nothing is left at the end."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mlctl import files
from mlctl.cli.rehearse.options import RunArgs
from mlctl.cli.shell import Exit, InvalidValue, Session
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Report
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.rehearsal.stage import Stage

_PATIENCE = 600.0  # seconds for a rehearsal, unless --timeout is given
_LOSSY_RUNS = ("kill-", "weather")
_LATE_S = 1.0  # after the time is over, to report that
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stage(session: Session, runs: RunArgs) -> Iterator[Stage]:
    """Yield folder, interpreter and environment; at the end no process and no folder is left."""
    from mlctl.rehearsal.process import Interpreter, TooLate, find_python, swept, without_network
    from mlctl.rehearsal.stage import Stage

    try:
        exe = find_python(runs.python)
    except OSError as error:
        raise InvalidValue(str(error), flag="--python") from None
    if not runs.network and not without_network():
        session.note(
            "note: this system cannot isolate the network of a process, so the network stays open"
        )
    folder = _folder(runs.keep)
    mark = uuid.uuid4().hex
    patience = session.flags.timeout or _PATIENCE
    alone = not runs.network and bool(without_network())
    ends = time.monotonic() + patience
    interpreter = Interpreter(exe, alone, _memory(), mark, ends, session.note)
    begun: list[str] = []
    try:
        with _signals(patience), swept(mark):
            stage_ = Stage(interpreter, folder, session.environment, runs.keep is not None)
            yield replace(stage_, progress=lambda name, _total: begun.append(name))
    except (KeyboardInterrupt, TooLate) as error:
        if begun and not begun[-1].startswith(_LOSSY_RUNS):  # a report mentions later runs
            ended = f"{', '.join(begun[:-1])} ended without an error" if begun[1:] else "none ended"
            session.note(f"note: stopped in the calm run `{begun[-1]}`, before any kill; {ended}")
        if isinstance(error, KeyboardInterrupt):
            raise
        why = "the rehearsal took too long; give it more time with --timeout"
        raise Permanent("TooLate", why) from None
    finally:
        if runs.keep is None:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _signals(patience: float) -> Iterator[None]:
    """Let signals that end the program, and the end of the time, interrupt the rehearsal.

    Waits for a script have their own limits; the alarm is for everything else.
    """
    handlers: dict[int, Any] = dict.fromkeys(_SIGNALS, _on_signal)
    handlers[signal.SIGALRM] = _end_of_time
    # nohup ignores one
    heard = [number for number in handlers if signal.getsignal(number) is not signal.SIG_IGN]
    earlier = {number: signal.signal(number, handlers[number]) for number in heard}
    signal.setitimer(signal.ITIMER_REAL, patience + _LATE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _on_signal(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _end_of_time(_number: int, _frame: Any) -> None:
    from mlctl.rehearsal.process import TooLate

    raise TooLate


def _folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="mlctl-rehearsal-"))
    try:
        keep.mkdir(parents=True)
    except OSError as error:
        why = f"cannot make the folder `{keep}`: {error.strerror}"
        raise InvalidValue(why, flag="--keep") from None
    return files.real(keep)


def _memory() -> int:
    """Return the bytes of data that one worker may have: the machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


RehearsalFormat: TypeAlias = Literal["human", "json", "junit", "html"]


@dataclass(frozen=True, slots=True)
class Output:
    """Where and how a rehearsal is written; `words` repeat it.

    With `strict`, warnings fail too.
    """

    session: Session
    form: RehearsalFormat
    words: Sequence[str]
    strict: bool = False

    def again(self, kill: int | None) -> str:
        """Return the command that runs one kill again."""
        return f"again: {shlex.join([*self.words, '--kill', str(kill)])}"

    @contextmanager
    def watch(self, stage: Stage) -> Iterator[Stage]:
        """Yield the stage, with a table of nodes and mini-batches on a terminal."""
        if self.session.quiet or not self.session.color(sys.stderr):
            yield stage
            return
        from mlctl.render.rehearsal.live import viewing

        with viewing(sys.stderr) as view:

            def begin(name: str, total: int) -> None:
                stage.progress(name, total)
                view.begin(name, total)

            yield replace(stage, progress=begin, on_event=view.show)

    def conclude(
        self,
        rehearsal: Any,
        code: Path,
        summary_of: Callable[[Any, Report], str],
        views: Mapping[RehearsalFormat, Callable[[Report, str], str]],
    ) -> Exit:
        """Write what a rehearsal of the code in a folder has shown; then raise what stopped it.

        That is the view that was asked for; else the findings and a summary, for people.
        """
        from mlctl.render.findings import diagnostics
        from mlctl.render.rehearsal import report

        findings = Report(strict=self.strict)
        folder = Path(os.path.relpath(code))
        findings.extend(report.findings(rehearsal.evidence, folder, self.again))
        summary, view = summary_of(rehearsal, findings), views.get(self.form)
        if view is not None:
            self.session.out_data(view(findings, summary))
        else:
            color = self.session.color(sys.stdout)
            text = diagnostics.report(findings, color=color, width=self.session.width)
            self.session.out(text + ("\n" if text else "") + summary)
        if rehearsal.stopped is not None:
            raise rehearsal.stopped
        return Exit.ERROR if findings.failed else Exit.OK
