"""The clock of a script, which goes on by itself where the script would sleep."""

from __future__ import annotations

import threading
import time

TYPE_CHECKING = False  # a worker starts often: what it does not need it does not import
if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """The clock of the script: that of the machine, and what it would have slept."""

    def __init__(self) -> None:
        self.slept = 0.0
        self.limit: float | None = None
        self.on_limit: Callable[[], None] = lambda: None
        self._sleep, self._monotonic = time.sleep, time.monotonic
        self._time, self._counter = time.time, time.perf_counter
        time.sleep = self.sleep  # type: ignore[assignment]
        time.time = lambda: self._time() + self.slept
        time.monotonic = lambda: self._monotonic() + self.slept
        time.perf_counter = lambda: self._counter() + self.slept

    def now(self) -> float:
        return self._monotonic() + self.slept

    def sleep(self, seconds: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            self._sleep(seconds)
            return
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept += seconds
        self._sleep(0)
        if self.limit is not None and self.now() > self.limit:
            self.on_limit()
