"""stdin, stdout and stderr: closed, full, without a reader; and how far local files are read."""

from __future__ import annotations

import errno
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from mlctl.files import on_read
from mlctl.render.terminal.terminal import clean_lines


class OutputError(Exception):
    """The output cannot be written: the disk behind stdout is full."""


class TolerantStream(io.TextIOWrapper):
    """A stream whose reader may close it (`| head`): the rest is discarded, the command goes on.

    So it is where the reader was a terminal that is closed (`terminal`). A command must not stop
    between two writes to a workspace because its output is not read.
    """

    terminal = False

    def write(self, text: str) -> int:
        """Write; without a reader, discard."""
        try:
            return super().write(text)
        except OSError as error:
            self._discard(error)
            return len(text)

    def flush(self) -> None:
        """Flush; without a reader, discard."""
        try:
            super().flush()
        except OSError as error:
            self._discard(error)

    def _discard(self, error: OSError) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        closed = self.terminal and error.errno == errno.EIO
        if not (closed or isinstance(error, BrokenPipeError)):
            raise OutputError(f"cannot write the output: {error.strerror}") from error


_STDOUT, _STDERR = 1, 2


def prepare() -> None:
    """Replace stdin, stdout and stderr by streams that can be used in all these cases.

    A closed one is opened on nothing, lest the next file to be opened (the local state) become it.
    Characters that the terminal's encoding lacks are spelt out rather than fatal.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(descriptor)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stdout = _tolerant(sys.stdout, _STDOUT)
    sys.stderr = _tolerant(sys.stderr, _STDERR)


def _tolerant(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is None:
        stream = os.fdopen(descriptor, "w", encoding="utf-8")
    terminal = stream.isatty()
    by_line = descriptor == _STDERR or terminal
    encoding = stream.encoding
    buffer = cast("io.TextIOWrapper", stream).detach()  # or the old stream would close it
    tolerant = TolerantStream(buffer, encoding, "backslashreplace", line_buffering=by_line)
    tolerant.terminal = terminal
    return tolerant


def say(text: str, *, color: bool = False) -> None:
    """Print lines on stderr; with `color` mlctl's own styles in them are kept."""
    sys.stderr.write(clean_lines(text.rstrip("\n"), color=color) + "\n")


def ask(prompt: str) -> None:
    """Print a prompt on stderr; the answer is typed behind it."""
    sys.stderr.write(clean_lines(prompt))
    sys.stderr.flush()


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
