"""The training of a command job, in every Python that its command starts."""

from __future__ import annotations

import atexit
import json
import os
import sys

from mlctl.rehearsal.worker.pipes import Pipes
from mlctl.rehearsal.worker.watched import Watched

TYPE_CHECKING = False  # a worker starts often: what it does not need it does not import
if TYPE_CHECKING:
    from typing import Any


class Trainer(Watched):
    """A training, watched from within: what it writes, where it is; stopped where it was said.

    `pause` is the line event at which it stops, `cut` the number of the write to the kept folders
    that is cut after `bytes`.
    """

    def __init__(self, pipes: Pipes, code: str, order: dict[str, Any]) -> None:
        self.kept: list[str] = order["kept"]
        self.cut, self.size = order.get("cut"), order.get("bytes", 0)
        self.writes = 0
        super().__init__(pipes, code)
        self.counts = True
        self.tracer.reset(order.get("pause"))
        sys.settrace(self.tracer.start)
        self.began = self.clock.now()
        atexit.register(self.ended)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count the writes to what is kept, and cut the one that is to be cut."""
        if event == "open" and self.cut is not None and isinstance(arguments[1], str):
            path = os.path.abspath(os.fsdecode(arguments[0])) if _is_path(arguments[0]) else ""
            if any(c in arguments[1] for c in "wx") and path.startswith(tuple(self.kept)):
                self.writes += 1
                if self.writes == self.cut:
                    self.bytes = self.size
                    self.bound_files()
        super().audit(event, arguments)

    def ended(self) -> None:
        """The end of the program, as far as Python sees it."""
        sys.settrace(None)
        self.pipes.tell(ended=True, events=self.tracer.count, seconds=self.clock.now() - self.began)


def watch() -> None:
    """Called by every Python that starts in a rehearsed training."""
    order = json.loads(os.environ["MLCTL_REHEARSAL_ORDER"])
    try:
        os.fstat(order["report"])
    except OSError:
        return  # a process that was not given the pipe
    pipes = Pipes(os.open(os.devnull, os.O_RDONLY), os.dup(order["report"]))
    pipes.forever = True  # until it is killed, with its group
    Trainer(pipes, order["code"], order)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))
