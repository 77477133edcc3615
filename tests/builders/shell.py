"""mlctl as a shell runs it: in a folder of its own, inside this process or as one of its own."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mlctl.cli.run import run
from tests.builders.paths import ROOT

CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: {name}
type: amlcompute
size: {size}
max_instances: {most}
"""
PLENTY = (
    *("local", "quota", "set", "--computes", "9999", "--dedicated-cores", "999999"),
    *("--family", "standardDDSv5Family=999999"),
)
# What of a person's own settings mlctl, az and the SDK would read.
_SETTINGS = ("MLCTL", "AZURE", "ARM_", "IDENTITY_", "REQUESTS_CA_BUNDLE", "XDG_")


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended: its exit code, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as JSON."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Done]


def cluster(file: Path, name: str = "", size: str = "Standard_D4ds_v5", most: int = 2) -> Path:
    """Write a cluster to a file, under the file's name."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CLUSTER.format(name=name or file.stem, size=size, most=most))
    return file


def edit(file: Path, old: str, new: str) -> Path:
    """Replace a piece of a file that must be there."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return file


def clusters(folder: Path, count: int, most: int = 1) -> Path:
    """Write a folder of small clusters: `c00`, `c01`, ..."""
    for number in range(count):
        cluster(folder / f"c{number:02}.yml", most=most)
    return folder


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The variables of a shell that knows nothing of mlctl, with its home in `folder`."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith((*_SETTINGS, "PYTHON"))
    }
    path = os.pathsep.join([str(folder), str(ROOT)])
    return kept | {"HOME": str(folder), "PYTHONPATH": path, "COLUMNS": "100"} | more


@contextmanager
def inherited(number: signal.Signals, handler: Any) -> Iterator[None]:
    """What children begin with, whatever this process was started with (`nohup`, some CI)."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def program(folder: Path, name: str = "mlctl") -> Path:
    """Write mlctl as a program of this Python, whose path may have spaces, into a folder."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m mlctl "$@"\n', encoding="utf-8")
    file.chmod(0o755)
    return file


def start(folder: Path, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start a process of its own; its streams are pipes unless `options` say otherwise."""
    more = options.pop("env", {})
    encoding: str = options.pop("encoding", "utf-8")
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(
        [sys.executable, "-m", "mlctl", *map(str, arguments)],
        cwd=folder,
        env=environment(folder, **more),
        encoding=encoding,
        **streams | options,
    )


def finish(process: subprocess.Popen[str], given: str = "") -> Done:
    """Wait for a process that was started."""
    out, err = process.communicate(given, timeout=60)
    return Done(process.returncode, out or "", err or "")


def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process, and those that it starts, know no settings of the person who runs it."""
    for key in [key for key in os.environ if key.startswith(_SETTINGS)]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", str(folder))


class Typed(io.BytesIO):
    """What somebody types on a terminal."""

    def isatty(self) -> bool:
        return True


def inside(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """A function that runs a command in `folder` inside this process: quick, without a terminal.

    On one there is what is `typed`; `given` is piped.
    """
    at_home(folder, monkeypatch)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(folder)

    def go(*arguments: str | Path, given: str = "", typed: str | None = None) -> Done:
        raw = io.BytesIO(given.encode()) if typed is None else Typed(typed.encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
        capsys.readouterr()
        code = run([str(one) for one in arguments])
        return Done(code, *capsys.readouterr())

    return go
