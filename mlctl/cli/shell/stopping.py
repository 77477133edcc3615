"""Stopping in good order: the first signal lets what runs finish, the second ends the process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_STOPPING = b"Stopping: nothing new starts, what runs is finished. Once more to stop at once.\n"
_STOPPED = b"Stopped at once. What was being written may be half done; apply again to go on.\n"


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C, SIGTERM or SIGHUP sets; the second ends the process at once.

    Under `nohup`, SIGHUP is ignored and stays so. The event is also set when the block ends: where
    an error ends it, nothing new starts either.
    """
    stop = threading.Event()

    def handle(number: int, _frame: FrameType | None) -> None:
        again = stop.is_set()
        stop.set()
        with suppress(OSError):  # print() is not reentrant, and may be what was interrupted
            os.write(sys.stderr.fileno(), _STOPPED if again else _STOPPING)
        if again:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    handlers = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield stop
    finally:
        stop.set()
        for number, handler in handlers.items():
            signal.signal(number, handler)
