"""Where a script is: the lines that are executed, returned from, or take an exception."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # a worker starts often: what it does not need it does not import
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from mlctl.rehearsal.worker.pipes import Pipes

_SKIPPED = (StopIteration, GeneratorExit)


class Tracer:
    """Line events of the user's files: counts them, stops at one, sees what is caught."""

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
