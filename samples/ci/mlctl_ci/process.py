"""mlctl as a process: what it says is passed on as it comes, and so is a signal to stop."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """The exit code, and what was told."""

    code: int
    told: str


def run(arguments: Sequence[str], into: Path | None = None) -> Ran:
    """Run mlctl to its end; stdout goes `into` a file, or is told with stderr.

    A pipeline that is cancelled sends SIGINT or SIGTERM to this process, or to its whole group.
    mlctl has a group of its own, so that it hears of each signal once: at the first one it ends
    what runs and starts nothing new, at the second it ends at once.
    """
    output = into.open("wb") if into else None
    try:
        process = subprocess.Popen(  # noqa: S603  # mlctl itself
            ["mlctl", *arguments],  # noqa: S607  # the one that was installed
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE if output else subprocess.STDOUT,
            start_new_session=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    finally:
        if output:
            output.close()
    told = []
    with _signals_passed_on(process):
        for line in (process.stderr if into else process.stdout) or ():
            told.append(line)
            sys.stdout.write(line)
            sys.stdout.flush()
        code = process.wait()
    return Ran(code if code >= 0 else 128 - code, "".join(told))


@contextmanager
def _signals_passed_on(process: subprocess.Popen[str]) -> Iterator[None]:
    def handle(number: int, _frame: object) -> None:
        if process.poll() is None:
            process.send_signal(number)

    before = {one: signal.signal(one, handle) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
