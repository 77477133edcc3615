"""Cases in a process of their own, within limits of time and memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias

import mlctl.cli.run
from mlctl.cli.run import _explain, run
from mlctl.cli.shell.streams import TolerantStream
from tests.builders.shell import environment

CPU_SECONDS = 10.0  # of one step: two are aimed at; a machine that is busy takes a few times more
WALL_SECONDS = 120.0  # of a case: one that waits for ever takes no CPU
MEGABYTES = 300  # that are in memory
BYTES = 1 << 30  # of addresses, beside what the process has when it begins
BUG = 70
_SIGNALS = {signal.SIGPROF: "more than 10 s of CPU", signal.SIGALRM: "it waits"}
_LONGEST = 4000  # characters of a failure


class Broken(Exception):
    """What must never happen has happened."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case: its last step, why it failed (or nothing), and what it took.

    `seconds` are those of its slowest step, `megabytes` the most that its process has held so far.
    """

    surface: str
    number: int
    step: str
    why: str
    seconds: float = 0.0
    megabytes: int = 0

    @property
    def name(self) -> str:
        """The case, as `--only` takes it."""
        return f"{self.surface}:{self.number}"

    @property
    def cause(self) -> str:
        """What failures of one cause have in common: where it was raised, and as what."""
        lines = self.why.strip().splitlines()
        places = [one.strip() for one in lines if one.startswith('  File "')]
        return f"{places[-1] if places else ''} {lines[-1].partition(':')[0]}"

    def text(self, seed: int) -> str:
        """The failure, with the command that repeats it."""
        again = f"python -m tests.fuzz --seed {seed} --only {self.name}"
        return f"FAILED {again}\n  {self.step[:_LONGEST]}\n  {self.why[-_LONGEST:]}"


_bugs: list[str] = []


def _last_bug() -> str:
    return _bugs.pop() if _bugs else ""


def _explained(error: Exception, args: Sequence[str]) -> int:
    """What the command line does with an error; keeps the traceback."""
    _bugs[:] = ["".join(traceback.format_exception(error))]
    return _explain(error, args)


class Trial:
    """One case: its randomness, its folder (the current one), and a log of what it does."""

    def __init__(self, random: Random, folder: Path, log: Path) -> None:
        self.random = random
        self.folder = folder
        self.step = ""
        self.slowest = 0.0
        self._began = time.process_time()
        self._log = log

    def begin(self, step: str) -> None:
        """Note the next step, for the case that it ends the process; its time begins."""
        self.end()
        self.step = step.encode(errors="backslashreplace").decode()
        self._log.write_text(self.step)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        self._began = time.process_time()

    def end(self) -> None:
        """Stop the time of the step."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.slowest = max(self.slowest, time.process_time() - self._began)

    def run(self, *arguments: str) -> int:
        """Run a command line.

        Raises:
            Broken: it ended as a bug.
        """
        self.begin(" ".join(map(repr, arguments)))
        os.truncate(2, 0)
        os.truncate(1, 0)
        os.lseek(0, 0, os.SEEK_SET)
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        told = os.pread(2, 1 << 16, 0).decode(errors="replace")
        if code == BUG or "Traceback (most recent call last)" in told:
            raise Broken(f"exit code {int(code)}: {told}\n{_last_bug()}")
        return code


Surface: TypeAlias = Callable[[Trial], None]


def run_batch(surface: str, case: Surface, seed: int, numbers: range, until: float) -> list[Result]:
    """Run cases in a child process, as far as it comes; the last may have ended the process."""
    home = Path(tempfile.mkdtemp(prefix="fuzz-"))
    outcomes, log = home / "outcomes", home / "log"
    try:
        child = os.fork()
        if child == 0:
            _child(home, case, f"{seed}/{surface}", numbers, until)
        _, status = os.waitpid(child, 0)
        lines = outcomes.read_text().splitlines() if outcomes.exists() else []
        results = [Result(surface, *json.loads(line)) for line in lines]
        if status:
            code = os.waitstatus_to_exitcode(status)
            why = _SIGNALS.get(signal.Signals(-code), f"signal {-code}") if code < 0 else ""
            step = log.read_text(errors="replace") if log.exists() else ""
            number = numbers[len(results)]
            results.append(Result(surface, number, step, why or f"the process ended: {code}"))
        return results
    finally:
        _remove(home)


def _child(home: Path, case: Surface, seed: str, numbers: range, until: float) -> None:
    """Run the cases and end the process."""
    code = 1
    try:
        _prepare(home)
        with (home / "outcomes").open("a", buffering=1) as outcomes:
            for number in numbers:
                if number > numbers[0] and time.monotonic() > until:
                    break
                folder = home / str(number) / "w"
                folder.mkdir(parents=True)
                os.chdir(folder)
                trial = Trial(Random(f"{seed}/{number}"), folder, home / "log")
                outcomes.write(json.dumps([number, *_outcome(case, trial)]) + "\n")
                os.chdir(home)
                _remove(home / str(number))
        code = 0
    finally:
        os._exit(code)


def _outcome(case: Surface, trial: Trial) -> tuple[str, str, float, int]:
    """The last step of a case, why it failed, its seconds of CPU and the memory of the process."""
    why = ""
    trial.begin("")
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    try:
        case(trial)
    except Broken as error:
        why = str(error)
    except BaseException:  # noqa: BLE001 - an exit of the process is a failure too
        why = traceback.format_exc()
    trial.end()
    signal.setitimer(signal.ITIMER_REAL, 0)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if most > MEGABYTES:
        why = why or f"{most} MB"
    return trial.step, why, trial.slowest, most


def _prepare(home: Path) -> None:
    """Limit this process, and give it streams and variables of its own."""
    for name in list(os.environ):
        del os.environ[name]
    os.environ.update(environment(home))
    os.environ["PATH"] = os.defpath
    for descriptor, name in enumerate(("in", "out", "err")):
        file = os.open(home / name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (
        TolerantStream(os.fdopen(one, "wb", closefd=False), "utf-8", "backslashreplace")
        for one in (1, 2)
    )
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    mlctl.cli.run._explain = _explained  # type: ignore[assignment]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))


def _remove(folder: Path) -> None:
    """Remove a folder, however deep."""
    shutil.rmtree(folder, ignore_errors=True)
