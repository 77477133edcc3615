"""Builders: Azurite, Microsoft's emulator of Azure Storage, with a clock that tests move.

`make test-azurite` fetches it; MLCTL_TEST_AZURITE names its program `azurite-blob`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

# What every Azurite has (https://learn.microsoft.com/azure/storage/common/storage-use-azurite).
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_OPTIONS = ("--silent", "--blobPort", "0", "--inMemoryPersistence", "--disableTelemetry")
_NEWER = "--skipApiVersionCheck"  # the SDK may be newer than it
# Loaded into its process first: a Date that is as many seconds ahead as a file says.
_CLOCK = """\
const fs = require("fs");
const Real = Date;
const ahead = () => 1000 * Number(fs.readFileSync(process.env.MLCTL_TEST_AHEAD, "utf8"));
global.Date = class extends Real {
  constructor(...given) { given.length ? super(...given) : super(Real.now() + ahead()); }
  static now() { return Real.now() + ahead(); }
};
"""
_GIVEN = os.environ.get("MLCTL_TEST_AZURITE")  # the tests' home has no such variables
_numbers = count(1)


@dataclass(frozen=True)
class Azurite:
    """A running Azurite: its URL, and the file that says how far its clock is ahead."""

    url: str
    ahead: Path

    def container(self) -> Any:
        """A client of a new container."""
        from azure.storage.blob import ContainerClient

        name = f"{self.url}/{ACCOUNT}/leases{next(_numbers)}"
        made = ContainerClient.from_container_url(name, KEY, retry_total=0)
        made.create_container()
        return made

    def advance(self, seconds: float) -> None:
        """Move its clock."""
        self.ahead.write_text(str(float(self.ahead.read_text()) + seconds))


def program() -> str:
    """The program; skips where there is none."""
    pytest.importorskip("azure.storage.blob", reason="the azure extra is not installed")
    found = _GIVEN or shutil.which("azurite-blob")
    if not found:
        pytest.skip("there is no Azurite: make test-azurite")
    return found


@contextmanager
def running(folder: Path) -> Iterator[Azurite]:
    """Azurite on a free port, with its clock in `folder`."""
    command = [program(), *_OPTIONS, _NEWER]
    script, ahead = folder / "clock.js", folder / "ahead"
    script.write_text(_CLOCK)
    ahead.write_text("0")
    more = {"NODE_OPTIONS": f"--require {script}", "MLCTL_TEST_AHEAD": str(ahead)}
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **more}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        told = next(line for line in process.stdout if "listens on" in line)
        yield Azurite(told.split()[-1], ahead)
    finally:
        process.terminate()
        process.communicate(timeout=30)
