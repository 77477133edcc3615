"""Builders: commands of mlctl as processes that cost little: copies of this one."""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mlctl.backends.local.backend import LocalBackend
from mlctl.cli.run import run
from tests.builders.shell import Done, cluster


@dataclass(frozen=True)
class Kill:
    """The end of a process by SIGKILL: before its nth write, or right after it (`late`)."""

    nth: int
    late: bool


_WARMING = (
    ("plan", "red", "--prune"),
    ("apply", "red", "--yes"),
    ("drift", "red", "-o", "json"),
    ("pull", "red"),
    ("import", "red", "--yes"),
    ("export", "--to", "out"),
)


@cache
def _warm() -> None:
    """Let this process import and compile what its copies would, each anew."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        cluster(Path("red", "cpu.yml"))
        Path("red", "mlctl.yml").write_text("project: red\n")
        for words in _WARMING:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                assert run(words) == 0, words


@dataclass
class Shell:
    """A folder in which commands run, each in a process of its own, which may be killed."""

    folder: Path
    count: int = 0

    def __call__(self, *words: str, kill: Kill | None = None) -> Done:
        """How a command ended; the code of one that was killed is -9."""
        (done,) = self.together(words, kill=kill)
        return done

    def together(self, *commands: tuple[str, ...], kill: Kill | None = None) -> list[Done]:
        """How commands ended that ran at once."""
        _warm()
        begun = [self._begun(words, kill) for words in commands]
        found = []
        for process, out, err in begun:
            _, status = os.waitpid(process, 0)
            code = os.waitstatus_to_exitcode(status)
            found.append(Done(code, out.read_text(), err.read_text()))
        return found

    def _begun(self, words: tuple[str, ...], kill: Kill | None) -> tuple[int, Path, Path]:
        self.count += 1
        streams = [self.folder / ".run" / f"{self.count}.{name}" for name in ("out", "err")]
        streams[0].parent.mkdir(exist_ok=True)
        process = os.fork()
        if process == 0:
            _become(self.folder, words, kill, *streams)
        return process, streams[0], streams[1]


def _become(folder: Path, words: tuple[str, ...], kill: Kill | None, out: Path, err: Path) -> None:
    """Run a command in this process, and end with it."""
    code = 70
    try:
        os.chdir(folder)
        for name in [one for one in os.environ if one.startswith(("MLCTL", "AZURE"))]:
            del os.environ[name]
        os.environ["HOME"] = str(folder / ".run")
        sys.stdout, sys.stderr = out.open("w"), err.open("w")
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115 (it ends with the process)
        if kill is not None:
            _arm(kill)
        code = run(words)
        sys.stdout.close()
        sys.stderr.close()
    finally:
        with suppress(Exception):
            os._exit(code)


def _arm(kill: Kill) -> None:
    """Let a write of the local backend be the last."""
    done = 0

    def mortal(write: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any) -> Any:
            nonlocal done
            done += 1
            if done == kill.nth and not kill.late:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = write(*given)
            if done == kill.nth:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return wrapped

    for name in ("put", "delete"):
        setattr(LocalBackend, name, mortal(getattr(LocalBackend, name)))
