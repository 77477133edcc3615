"""Watch a program from within: what it writes, by which line; and limit its files."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time

from mlctl.rehearsal.worker.node import ASK_LINE

TYPE_CHECKING = False  # workers start often, so imports are kept few
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from mlctl.rehearsal.worker.pipes import Pipes

_SKIPPED = (StopIteration, GeneratorExit)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC


class ScriptClock:
    """The script's clock: the machine's, plus the time that it would have slept."""

    def __init__(self) -> None:
        self.slept = 0.0
        self.limit: float | None = None
        self.on_limit: Callable[[], None] = lambda: None
        self._sleep, self._monotonic = time.sleep, time.monotonic
        self._time, self._counter = time.time, time.perf_counter
        time.sleep = self.sleep  # type: ignore[assignment]
        time.time = lambda: self._time() + self.slept
        time.monotonic = lambda: self._monotonic() + self.slept
        time.perf_counter = lambda: self._counter() + self.slept

    def now(self) -> float:
        return self._monotonic() + self.slept

    def sleep(self, seconds: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            self._sleep(seconds)
            return
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept += seconds
        self._sleep(0)
        if self.limit is not None and self.now() > self.limit:
            self.on_limit()


class Tracer:
    """Line events of the user's files: counts them, stops at one, records caught errors."""

    def __init__(self, code: str, pipes: Pipes) -> None:
        self.code = code + os.sep
        self.pipes = pipes
        self.reset(None)

    def reset(self, pause: int | None) -> None:
        self.count, self.pause = 0, pause
        self.raised: dict[FrameType, tuple[str, str]] = {}
        self.caught: list[list[Any]] = []
        self.last: list[Any] | None = None

    def start(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self.code):
            return None
        return self.local

    def local(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.count += 1
            raised = self.raised.pop(frame, None)
            if raised is not None:
                self.caught.append([*raised, self.place(frame)])
            if self.count == self.pause:
                self.pipes.hold(self.place(frame))
        elif event == "exception":
            if not issubclass(argument[0], _SKIPPED):
                self.raised[frame] = (argument[0].__name__, str(argument[1])[:200])
        elif event == "return":
            self.raised.pop(frame, None)
            if frame.f_code.co_name == "run":
                self.last = self.place(frame)
        return self.local

    def place(self, frame: FrameType) -> list[Any]:
        return [frame.f_code.co_filename[len(self.code) :], frame.f_lineno]


class Watched:
    """A program, its clock, its lines. `bytes` limits the size of its files.

    Writes are reported once `counts` is true.
    """

    def __init__(self, pipes: Pipes, code: str) -> None:
        self.pipes = pipes
        self.clock, self.tracer = ScriptClock(), Tracer(code, pipes)
        self.bytes: int | None = None
        self.counts = False
        if ASK_LINE is not None:
            signal.signal(ASK_LINE, self.report_line)
            signal.siginterrupt(ASK_LINE, False)  # noqa: FBT003
        sys.addaudithook(self.audit)

    def report_line(self, _number: int, _frame: Any) -> None:
        """Report where the script is."""
        if not self.pipes.sending:
            self.pipes.send(busy=self.user_line())

    def bound_files(self, size: int = 0) -> None:
        if hasattr(signal, "SIGXFSZ"):
            if size == 0:
                quiet = os.open(os.devnull, os.O_WRONLY)  # what a lost node has logged is lost
                os.dup2(quiet, 1)
                os.dup2(quiet, 2)
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + (self.bytes or 0), hard))

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Report each write and its line before it happens."""
        source: Any = None
        if event == "open":
            path, mode, flags = arguments
            writes = any(c in mode for c in "wax+") if isinstance(mode, str) else False
            if not (writes or (isinstance(flags, int) and flags & _WRITING)):
                return
            appends = (isinstance(mode, str) and "a" in mode) or (
                isinstance(flags, int) and bool(flags & os.O_APPEND)
            )
            operation = "append" if appends else "write"
        elif event in ("os.rename", "os.link", "os.symlink"):
            path, operation = arguments[1], "move"
            source = arguments[0]
        elif event in ("os.remove", "os.mkdir", "os.rmdir", "os.truncate"):
            path, operation = arguments[0], event[3:]
        elif event == "socket.bind":
            address = arguments[1]
            if isinstance(address, tuple) and len(address) > 1 and address[1]:
                self.pipes.send(bound=address[1], place=self.user_line())
            return
        else:
            return
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        full = os.path.abspath(os.fsdecode(path))
        if full == os.devnull or full.startswith(("/proc/", "/dev/")) or not self.counts:
            return
        details = self.writes(full)
        if operation == "append" and self.bytes is not None:
            self.bound_files(os.path.getsize(full) if os.path.exists(full) else 0)
        moved = isinstance(source, (str, bytes, os.PathLike))
        self.pipes.send(
            wrote=full,
            how=operation,
            source=os.path.abspath(os.fsdecode(source)) if moved else None,
            place=self.user_line(),
            events=self.tracer.count,
            at=self.clock.now(),
            **details,
        )

    def writes(self, path: str) -> dict[str, Any]:
        """Report an imminent write; subclasses stop here, or add to the report."""
        return {}

    def user_line(self) -> list[Any] | None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.tracer.code):
                return self.tracer.place(frame)
            frame = frame.f_back
        return None
