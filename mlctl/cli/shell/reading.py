"""How far the reading of local files is, on a terminal: to hash a big model takes minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from mlctl.files import on_read

_PATIENCE, _EVERY = 1.0, 0.5  # seconds before the first line, and between two


@contextmanager
def reading_shown(stream: TextIO, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """While this runs, one line of a terminal says how much was read; then it is gone."""
    if not stream.isatty():
        yield
        return
    begun = last_shown = clock()
    total, width = 0, 0

    def add(count: int) -> None:
        nonlocal total, last_shown, width
        total += count
        now = clock()
        if now - begun >= _PATIENCE and now - last_shown >= _EVERY:
            line = f"Reading local files: {total / 1e9:.1f} GB"
            stream.write(f"\r{line}")
            stream.flush()
            last_shown, width = now, len(line)

    token = on_read.set(add)
    try:
        yield
    finally:
        on_read.reset(token)
        if width:
            stream.write(f"\r{' ' * width}\r")
            stream.flush()
