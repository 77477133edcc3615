"""Watch the training job in every Python that its command starts."""

from __future__ import annotations

import atexit
import json
import os
import sys

from mlctl.rehearsal.worker import node
from mlctl.rehearsal.worker.pipes import Pipes
from mlctl.rehearsal.worker.watched import Watched

TYPE_CHECKING = False  # workers start often, so imports are kept few
if TYPE_CHECKING:
    from typing import Any


class Trainer(Watched):
    """A training job watched from within: its writes and its place; stopped as ordered.

    `pause` is the line event at which it stops. `change` is the number of the change of kept
    folders that it stops before, or that is cut after `bytes`. `outside` are files of another life
    that are not kept.
    """

    def __init__(self, pipes: Pipes, order: dict[str, Any]) -> None:
        self.kept = tuple(f"{folder}{os.sep}" for folder in order["kept"])
        self.outside = frozenset(order["outside"])
        self.change, self.size = order["change"], order["bytes"]
        self.rank = order["rank"]
        self.changes = 0
        super().__init__(pipes, order["code"])
        self.counts = True
        self.tracer.reset(order["pause"])
        sys.settrace(self.tracer.start)
        self.began = self.clock.now()
        atexit.register(self.report_end)
        self.pipes.send(up=os.getpid())

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Report writes, and reads of files that an earlier life wrote outside kept folders."""
        if event == "open" and self.outside and isinstance(arguments[0], (str, os.PathLike)):
            path = os.path.abspath(os.fspath(arguments[0]))
            if path in self.outside and arguments[1] in ("r", "rb"):
                self.pipes.send(read=path, place=self.user_line())
        super().audit(event, arguments)

    def writes(self, path: str) -> dict[str, Any]:
        """Count the changes of kept files; stop before the given one, or cut it."""
        if os.getpid() != self.pipes.owner or not path.startswith(self.kept):
            return {"rank": self.rank, "change": None}
        self.changes += 1
        if self.changes == self.change:
            place = self.user_line()
            if self.size is None:
                self.pipes.hold(place)
            self.bytes = self.size
            self.bound_files()
            self.pipes.send(cut=path, place=place, pid=os.getpid())
        return {"rank": self.rank, "change": self.changes}

    def report_end(self) -> None:
        """Report the end of the program, as far as Python notices it."""
        sys.settrace(None)
        self.pipes.send(
            report_end=os.getpid(),
            rank=self.rank,
            events=self.tracer.count,
            seconds=self.clock.now() - self.began,
            slept=self.clock.slept,
        )


def watch() -> None:
    """Start watching; called by every Python in a rehearsed training job."""
    order = json.loads(os.environ["MLCTL_REHEARSAL_ORDER"])
    try:
        status = os.fstat(order["report"])
    except OSError:
        return  # a process without the pipe
    if status.st_ino != order["inode"]:
        return  # the descriptor is another file's
    node.die_with_parent(os.getppid())
    pipes = Pipes(os.open(os.devnull, os.O_RDONLY), os.dup(order["report"]))
    pipes.forever = True  # until it is killed, with its group
    Trainer(pipes, order)
