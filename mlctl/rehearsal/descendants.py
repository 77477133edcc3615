"""The processes that a rehearsal has begun, and all that those have begun: found, and ended.

A process may leave its group and its session and empty its environment. What it cannot change on
Linux is from whom it descends: workers adopt the orphans below them, and the rehearsal those of
workers that are gone.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mlctl.rehearsal.worker.node import adopt_orphans, kill_all, running_below

MARK = "MLCTL_REHEARSAL"  # the variable by which processes are known whose ancestors are gone


def end_tree(pid: int) -> None:
    """Kill a process of ours with its group and all that descends from it.

    It is stopped first: as long as it is there, it adopts what it has begun.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGSTOP)
        kill_all(pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


@contextmanager
def swept(mark: str) -> Iterator[None]:
    """In the end no process is left that was begun in the block, or has the mark."""
    spared = running_below(os.getpid())
    adopt_orphans()
    try:
        yield
    finally:
        kill_all(os.getpid(), spared)
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
