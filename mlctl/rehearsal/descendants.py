"""Find and end all processes that a rehearsal has started, directly or indirectly.

A process may leave its group and session and empty its environment. On Linux it cannot change its
ancestry: workers adopt the orphans below them, and the rehearsal those of dead workers.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mlctl.rehearsal.worker.node import adopt_orphans, kill_all, running_below

MARK = "MLCTL_REHEARSAL"  # the variable that marks processes whose ancestors have ended


def end_tree(pid: int) -> None:
    """Kill one of our processes with its group and all its descendants.

    It is stopped first, because it adopts its orphans as long as it exists.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGSTOP)
        kill_all(pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


@contextmanager
def swept(mark: str) -> Iterator[None]:
    """Kill, at the end of the block, all processes that were started in it or have the mark."""
    spared = running_below(os.getpid())
    adopt_orphans()
    try:
        yield
    finally:
        kill_all(os.getpid(), spared)
        sweep(mark)
        adopt_orphans(adopt=False)


def sweep(mark: str) -> int:
    """Kill the processes with the mark of a rehearsal; return their number."""
    processes = running(mark)
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    return len(processes)


def running(mark: str) -> list[int]:
    """Return the ids of a rehearsal's processes, without zombies."""
    variable = f"{MARK}={mark}".encode()
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                processes.append(int(folder.name))
    return processes
