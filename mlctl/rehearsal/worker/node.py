"""What a process of a rehearsal asks of the system for itself: bounds, an end, a loopback."""

from __future__ import annotations

import os
import resource
import signal

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# By this signal a program is asked where it is; nobody else uses it.
ASK_LINE = signal.SIGRTMAX - 3 if hasattr(signal, "SIGRTMAX") else None


def adopt_orphans(adopt: bool = True) -> None:  # noqa: FBT001, FBT002 - Python 3.8
    """Ask Linux to make this process the parent of all below it whose own parent is gone."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt))
    except (ImportError, OSError, AttributeError):
        return


def die_with_parent(parent: int) -> None:
    """Ask Linux to end this process when its parent is gone; at once where it is already."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != parent:
        os._exit(0)


def bound_memory(limit: int) -> None:
    """Let this process have so many bytes of data; 0: as many as there are."""
    if limit:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))


def loopback_up() -> None:
    """In a network of its own, let the loopback work as on a node."""
    import fcntl
    import socket
    import struct

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            name = struct.pack("16sh", b"lo", 1)  # IFF_UP
            fcntl.ioctl(connection, 0x8914, name + b"\0" * 14)  # SIOCSIFFLAGS
    except OSError:
        return
