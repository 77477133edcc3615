"""stdin, stdout and stderr that may be closed, full, or have lost their reader."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TextIO, cast

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
        """Write; without a reader, discard.

        Raises:
            OutputError: there is no room.
        """
        try:
            return super().write(text)
        except OSError as error:
            self._discard(error)
            return len(text)

    def flush(self) -> None:
        """Flush; without a reader, discard.

        Raises:
            OutputError: there is no room.
        """
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
