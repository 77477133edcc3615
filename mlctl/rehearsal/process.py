"""Processes of a rehearsal: started in their own folder and group, and always ended."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from mlctl.dataclasses import dataclass, field
from mlctl.rehearsal.worker.node import ASK_LINE, adopt_orphans, kill_all, running_below

_WORKERS = Path(__file__).with_name("worker")
MARK = "MLCTL_REHEARSAL"  # the variable that marks processes whose ancestors have ended


def end_tree(pid: int) -> None:
    """Kill one of our processes with its group and all its descendants.

    It is stopped first, because it adopts its orphans as long as it exists.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGSTOP)
        kill_all(pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


@contextmanager
def swept(mark: str) -> Iterator[None]:
    """Kill, at the end of the block, all processes that were started in it or have the mark."""
    spared = running_below(os.getpid())
    adopt_orphans()
    try:
        yield
    finally:
        kill_all(os.getpid(), spared)
        sweep(mark)
        adopt_orphans(adopt=False)


def sweep(mark: str) -> int:
    """Kill the processes with the mark of a rehearsal; return their number."""
    processes = running(mark)
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    return len(processes)


def running(mark: str) -> list[int]:
    """Return the ids of a rehearsal's processes, without zombies."""
    variable = f"{MARK}={mark}".encode()
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                processes.append(int(folder.name))
    return processes


_CHUNK = 1 << 16
_GRACE = 5.0  # seconds between a mini-batch's own timeout and ours
_SILENCE_S, _ANSWER_S, _REPEAT_S = 10.0, 1.0, 60.0  # until the first word, an answer, the next word


class Gone(Exception):
    """The process has ended without a message; `signal` is what ended it, if any."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code
        self.signal = -code if code < 0 else None


class TooLate(Exception):
    """No message came in time."""


class Silence:
    """A script that is silent for long: it is asked where it is, and the user is told."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._began = time.monotonic()
        self._due, self._asked = self._began + _SILENCE_S, False

    def bounded(self, seconds: float) -> float:
        """Limit how many of these seconds to wait for the script now."""
        return max(0.0, min(seconds, self._due - time.monotonic()))

    def ask(self, pids: Iterable[int]) -> None:
        """If it is time, ask processes for their current line, or report that none answers."""
        if time.monotonic() < self._due:
            return
        if self._asked or ASK_LINE is None:
            self.answered(None)
            return
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, ASK_LINE)
        self._due, self._asked = time.monotonic() + _ANSWER_S, True

    def answered(self, place: Sequence[Any] | None) -> None:
        """Report where the script is, or that it does not answer."""
        seconds = time.monotonic() - self._began
        line = f" at {place[0]}:{place[1]}" if place else " outside its own lines"
        self._note(f"note: the script has been busy for {seconds:.0f} s{line}; Ctrl-C ends it")
        self._due, self._asked = time.monotonic() + _REPEAT_S, False


@dataclass(frozen=True, slots=True)
class Interpreter:
    """How processes are started: the Python, network isolation, limits and the mark.

    `memory` is in bytes of data, 0 for no limit. `ends` is the moment (monotonic seconds) at which
    the whole rehearsal must end. `note` gets lines for a waiting user.
    """

    python: str
    alone: bool
    memory: int
    mark: str
    ends: float
    note: Callable[[str], None] = lambda _: None

    def command(self, program: Path, *arguments: str) -> list[str]:
        """Return the words that start one of our programs in this Python."""
        network = without_network() if self.alone else ()
        return [*network, self.python, "-B", str(program), *arguments]

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a process, with the mark of the rehearsal."""
        return {**variables, MARK: self.mark}

    def start_command(
        self,
        words: Sequence[str],
        processes: Sequence[Mapping[str, Any]],
        order: Path,
        environment: Mapping[str, str],
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Start a command in each of `processes` (`folder`, `log`, `variables`).

        `order` is a file for what to do, `environment` that of the process that starts them.

        Raises:
            OSError: it cannot be started.
        """
        message = {
            "words": words,
            "memory": self.memory,
            "alone": self.alone,
            "parent": os.getpid(),
            "processes": processes,
        }
        order.write_text(json.dumps(message), encoding="utf-8")
        program = self.command(_WORKERS / "command.py", str(order))
        return self.spawn(program, environment, Path(processes[0]["log"]), pass_fds)

    def spawn(
        self,
        words: Sequence[str],
        variables: Mapping[str, str],
        log: Path,
        pass_fds: Sequence[int],
        folder: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start one of our programs in a session of its own; its output is appended to `log`."""
        with log.open("ab") as output:
            return subprocess.Popen(  # noqa: S603 - the user's own code is the point
                words,
                cwd=folder,
                env=self.environment(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=pass_fds,
                start_new_session=True,
            )

    def ask(
        self, program: Path, arguments: Sequence[str], variables: Mapping[str, str], timeout: float
    ) -> bytes:
        """Run one of our programs and return its output.

        Raises:
            OSError: it cannot be started.
            subprocess.TimeoutExpired: it takes longer.
        """
        process = subprocess.run(  # noqa: S603 - the user's own Python
            self.command(program, *arguments),
            env=self.environment(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=timeout,
        )
        return process.stdout

    @property
    def over(self) -> bool:
        """Whether the time for the rehearsal is over."""
        return time.monotonic() >= self.ends


@cache
def without_network() -> tuple[str, ...]:
    """Return the command prefix for a private network, () if not possible."""
    program = shutil.which("unshare")
    for flags in (("--net",), ("--user", "--map-root-user", "--net")) if program else ():
        words = (str(program), *flags)
        with suppress(OSError):
            tried = subprocess.run([*words, "true"], capture_output=True, check=False)  # noqa: S603
            if tried.returncode == 0:
                return words
    return ()


@dataclass
class Process:
    """A worker; its pipes are closed when it has ended."""

    popen: subprocess.Popen[bytes]
    control: int
    report: int
    interpreter: Interpreter
    is_up: bool = False  # and can be asked where it is
    place: list[Any] | None = None  # its last reported place
    _buffer: bytearray = field(default_factory=bytearray)
    _searched: int = 0  # the part of the buffer that is known to contain no line break

    @classmethod
    def start(
        cls,
        interpreter: Interpreter,
        script: Path,
        folder: Path,
        variables: Mapping[str, str],
        log: str,
        arguments: Sequence[str] = (),
        *,
        kind: str = "scorer",
    ) -> Process:
        """Start a worker for a script in the folder of a node, which has `code` and `logs`.

        `kind` selects the worker: one that is watched (`scorer`), or one that serves (`server`).

        Raises:
            OSError: it cannot be started.
        """
        their_control, control = os.pipe()
        report, their_report = os.pipe()
        pipes = (their_control, their_report)
        bounds = (interpreter.memory, int(interpreter.alone), os.getpid())
        settings = map(str, (kind, *pipes, script, folder / "code", *bounds))
        words = interpreter.command(_WORKERS / "start.py", *settings, *arguments)
        try:
            file = folder / "logs" / f"{log}.txt"
            popen = interpreter.spawn(words, variables, file, pipes, folder / "code")
        except BaseException:
            os.close(control)
            os.close(report)
            raise
        finally:
            os.close(their_control)
            os.close(their_report)
        return cls(popen, control, report, interpreter)

    def send(self, **message: Any) -> None:
        """Send an order; if the worker has ended, reading its answer shows that."""
        data = (json.dumps(message) + "\n").encode()
        with suppress(BrokenPipeError):
            while data:
                data = data[os.write(self.control, data) :]

    def receive(self, patience: float | None = None) -> dict[str, Any]:
        """Return the next message, within `patience` seconds and the rehearsal's own time.

        Raises:
            Gone: the process has ended.
        """
        ends = self.interpreter.ends
        if patience is not None:
            ends = min(ends, time.monotonic() + patience + _GRACE)
        silence = Silence(self.interpreter.note)
        while "busy" in (message := json.loads(self._line(ends, silence))):
            self.place = message["busy"]
            silence.answered(self.place)
        self.is_up |= "up" in message
        return dict(message)

    def _line(self, ends: float, silence: Silence) -> bytes:
        """Return the next line that the process sends."""
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            remaining = ends - time.monotonic()
            if remaining <= 0:
                raise TooLate
            if not select.select([self.report], [], [], silence.bounded(remaining))[0]:
                silence.ask([self.popen.pid] if self.is_up else [])
                continue
            chunk = os.read(self.report, _CHUNK)
            if not chunk:
                raise Gone(self.popen.wait())
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def end(self) -> None:
        """Kill the process and its descendants, and wait for their end; once."""
        if self.control < 0:
            return
        end_tree(self.popen.pid)
        self.popen.wait()
        for descriptor in (self.control, self.report):
            with suppress(OSError):
                os.close(descriptor)
        self.control = self.report = -1


def find_python(python: str | None) -> str:
    """Return the path of the interpreter of that name or path; by default this one.

    Raises:
        OSError: there is no such program, or it does not run, or is too old.
    """
    if python is None:
        return sys.executable
    program = shutil.which(python)
    if program is None:
        raise FileNotFoundError(f"there is no program `{python}`")
    ask = "import sys; print('new' if sys.version_info >= (3, 8) else 'old')"
    try:
        process = subprocess.run(  # noqa: S603 - the user's own Python
            [program, "-I", "-c", ask], capture_output=True, check=False, timeout=60
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"`{python}` does not answer") from None
    if process.stdout.strip() != b"new":
        raise OSError(f"`{python}` is not Python 3.8 or newer")
    return program
