"""Locks what is its own: the kernel frees the lock of a process that is gone."""

import fcntl
import tempfile
from pathlib import Path


def run(mini_batch):
    with open(Path(tempfile.gettempdir(), "model.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return [f"{Path(path).name},{len(Path(path).read_text())}" for path in mini_batch]
