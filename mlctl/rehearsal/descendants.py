"""The processes that a rehearsal has begun, and all that those have begun: found, and ended.

A process may leave its group and its session and empty its environment. What it cannot change on
Linux is from whom it descends: workers adopt the orphans below them, and the rehearsal those of
workers that are gone.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mlctl.rehearsal.worker.node import adopt_orphans

MARK = "MLCTL_REHEARSAL"  # the variable by which processes are known whose ancestors are gone
_AGAIN_S = 5.0  # for how long what goes on forking is hunted
_ZOMBIE = "Z"


def end_tree(pid: int) -> None:
    """Kill a process of ours with its group and all that descends from it.

    It is stopped first: as long as it is there, it adopts what it has begun.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGSTOP)
        _kill_all(pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def running_below(ancestor: int) -> set[int]:
    """The processes that descend from one, without those that have ended."""
    children: dict[int, list[tuple[int, str]]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            state, parent = (folder / "stat").read_text("latin-1").rpartition(")")[2].split()[:2]
            children.setdefault(int(parent), []).append((int(folder.name), state))
    waiting, below = [ancestor], set()
    while waiting:
        for pid, state in children.get(waiting.pop(), ()):
            waiting.append(pid)
            if state != _ZOMBIE:
                below.add(pid)
    return below


def _kill_all(ancestor: int, spared: Collection[int] = ()) -> None:
    """Kill all that descends from a process, until nothing does."""
    ends = time.monotonic() + _AGAIN_S
    while (below := running_below(ancestor).difference(spared)) and time.monotonic() < ends:
        for pid in below:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0)  # a process that was killed takes a moment to go


@contextmanager
def swept(mark: str) -> Iterator[None]:
    """In the end no process is left that was begun in the block, or has the mark."""
    spared = running_below(os.getpid())
    adopt_orphans()
    try:
        yield
    finally:
        _kill_all(os.getpid(), spared)
        sweep(mark)
        adopt_orphans(adopt=False)


def sweep(mark: str) -> int:
    """Kill what has the mark of a rehearsal; how many there were."""
    processes = running(mark)
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    return len(processes)


def running(mark: str) -> list[int]:
    """The processes of a rehearsal that run, except those that have ended and wait to be buried."""
    variable = f"{MARK}={mark}".encode()
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                processes.append(int(folder.name))
    return processes
