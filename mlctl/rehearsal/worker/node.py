"""What a process of a rehearsal asks of the system: limits, an end, a loopback.

Only on Linux does it end with all its descendants; elsewhere with its group.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_AGAIN_S = 5.0  # how long processes that keep forking are hunted
_ZOMBIE = b"Z"
_MOST_DESCRIPTORS = 1024  # at the start of a worker; the system's limit may be a billion
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# This signal asks a program where it is; nobody else uses it.
ASK_LINE = signal.SIGRTMAX - 3 if hasattr(signal, "SIGRTMAX") else None


def adopt_orphans(adopt: bool = True) -> None:  # noqa: FBT001, FBT002 - Python 3.8
    """Ask Linux to make this process the parent of orphans below it."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt))
    except (ImportError, OSError, AttributeError):
        return


def die_with_parent(parent: int) -> None:
    """Ask Linux to end this process with its parent; end now if the parent has ended."""
    _end_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _end_with_parent(signal_number: int) -> None:
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal_number)
    except (ImportError, OSError, AttributeError):
        return


def go_on_in_child(parent: int) -> None:
    """Continue in a child; this process exits as the child does, and earlier with `parent`.

    It is the parent of all orphans below, so that nothing escapes: even if mlctl is killed, no
    daemon survives that has left its session and emptied its environment.
    """
    guard = os.getpid()
    adopt_orphans()
    child = os.fork()
    if child == 0:
        die_with_parent(guard)
        adopt_orphans()
        return
    signal.signal(signal.SIGTERM, lambda *_: _end(guard))
    if ASK_LINE is not None:
        signal.signal(ASK_LINE, lambda *_: os.kill(child, ASK_LINE))
    _end_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        _end(guard)
    os.closerange(3, _MOST_DESCRIPTORS)  # the pipes are the child's
    status = next(status for pid, status in iter(os.wait, None) if pid == child)
    kill_all(guard)  # the child may have ended with mlctl before this process was notified
    if os.WIFSIGNALED(status):
        with suppress(OSError):  # nobody handles SIGKILL
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(guard, os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _end(guard: int) -> None:
    kill_all(guard)
    os._exit(1)


def kill_all(ancestor: int, spared: Collection[int] = ()) -> None:
    """Kill all descendants of a process, until none remain."""
    ends = time.monotonic() + _AGAIN_S
    while time.monotonic() < ends:
        below = running_below(ancestor).difference(spared)
        if not below:
            return
        for pid in below:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0)  # a killed process takes a moment to end


def running_below(ancestor: int) -> set[int]:
    """Return the running descendants of a process."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            # As bytes: a codec would be imported, and a signal may interrupt that and break it.
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
            children.setdefault(int(parent), []).append((int(name), state))
    waiting, below = [ancestor], set()
    while waiting:
        for pid, state in children.get(waiting.pop(), ()):
            waiting.append(pid)
            if state != _ZOMBIE:
                below.add(pid)
    return below


def bound_memory(limit: int) -> None:
    """Limit this process to so many bytes of data; 0: no limit."""
    if limit:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))


def loopback_up() -> None:
    """In a private network, let the loopback work as on a node."""
    import fcntl
    import socket
    import struct

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            name = struct.pack("16sh", b"lo", 1)  # IFF_UP
            fcntl.ioctl(connection, 0x8914, name + b"\0" * 14)  # SIOCSIFFLAGS
    except OSError:
        return
