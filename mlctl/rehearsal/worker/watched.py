"""A program that is watched from within: what it writes, by which line; files that may not grow."""

from __future__ import annotations

import os
import resource
import signal
import sys

from mlctl.rehearsal.worker.clock import Clock
from mlctl.rehearsal.worker.tracer import Tracer

TYPE_CHECKING = False  # a worker starts often: what it does not need it does not import
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from mlctl.rehearsal.worker.pipes import Pipes

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC


class Watched:
    """A program, its clock, its lines. `bytes` is how much a file may have, where it is bounded.

    What it writes is told as soon as it `counts`.
    """

    def __init__(self, pipes: Pipes, code: str) -> None:
        self.pipes = pipes
        self.clock, self.tracer = Clock(), Tracer(code, pipes)
        self.bytes: int | None = None
        self.counts = False
        sys.addaudithook(self.audit)

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
        """Tell what is written, and by which line, before it happens."""
        source: Any = None
        if event == "open":
            path, mode, flags = arguments
            writes = any(c in mode for c in "wax+") if isinstance(mode, str) else False
            if not (writes or (isinstance(flags, int) and flags & _WRITING)):
                return
            appends = (isinstance(mode, str) and "a" in mode) or (
                isinstance(flags, int) and bool(flags & os.O_APPEND)
            )
            how = "append" if appends else "write"
        elif event in ("os.rename", "os.link", "os.symlink"):
            path, how = arguments[1], "move"
            source = arguments[0]
        elif event in ("os.remove", "os.mkdir", "os.rmdir", "os.truncate"):
            path, how = arguments[0], event[3:]
        elif event == "socket.bind":
            address = arguments[1]
            if isinstance(address, tuple) and len(address) > 1 and address[1]:
                self.pipes.tell(bound=address[1], place=self.user_line())
            return
        else:
            return
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        full = os.path.abspath(os.fsdecode(path))
        if full == os.devnull or full.startswith(("/proc/", "/dev/")) or not self.counts:
            return
        more = self.writes(full)
        if how == "append" and self.bytes is not None:
            self.bound_files(os.path.getsize(full) if os.path.exists(full) else 0)
        moved = isinstance(source, (str, bytes, os.PathLike))
        self.pipes.tell(
            wrote=full,
            how=how,
            source=os.path.abspath(os.fsdecode(source)) if moved else None,
            place=self.user_line(),
            events=self.tracer.count,
            at=self.clock.now(),
            **more,
        )

    def writes(self, path: str) -> dict[str, Any]:
        """Something is about to be written: a place to stop at, and what else is told of it."""
        return {}

    def user_line(self) -> list[Any] | None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.tracer.code):
                return self.tracer.place(frame)
            frame = frame.f_back
        return None
