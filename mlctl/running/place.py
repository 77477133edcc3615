"""The folder of a job run, which only one run uses at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

_LOCK = ".mlctl-run"  # also what says that all in the folder may be replaced


def lock(folder: Path) -> int:
    """Make the folder, and a lock on it that the end of this process frees; its descriptor.

    Raises:
        OSError: it cannot be made, holds files of somebody else, or another run is in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / _LOCK
    if not lock.exists() and any(folder.iterdir()):
        raise OSError(errno.ENOTEMPTY, "it has files that no run has left; name a new one")
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise OSError(errno.EBUSY, "another run is in it; wait for it, or name another") from None
    return descriptor
