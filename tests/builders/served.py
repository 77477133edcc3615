"""Builders: the emulator as users start it, and a client that knows nothing but HTTP."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mlctl.pointer import Data
from tests.builders import shell
from tests.builders.emulator import VERSION

QUIET = {"PYTHONWARNINGS": "ignore"}
COMMAND = [sys.executable, "-m", "mlctl", "emulator"]


@dataclass(frozen=True)
class Served:
    """A running emulator: the folder that it was started in, and the line that it printed."""

    folder: Path
    told: Mapping[str, Any]
    process: subprocess.Popen[str]

    @property
    def workspace(self) -> str:
        """The path of a workspace."""
        return f"{self.scope}/workspaces/{self.told['workspace']}"

    @property
    def scope(self) -> str:
        group = f"/subscriptions/{self.told['subscription']}/resourceGroups"
        return f"{group}/{self.told['resource_group']}/providers/Microsoft.MachineLearningServices"

    @contextmanager
    def connection(self) -> Iterator[http.client.HTTPConnection]:
        """A connection that stays open for many requests."""
        where = urlsplit(str(self.told["url"]))
        if where.scheme == "http":
            made = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)
        else:
            trusted = ssl.create_default_context(cafile=str(self.told["ca_file"]))
            trusted.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 does by itself
            made = http.client.HTTPSConnection(
                str(where.hostname), where.port, timeout=60, context=trusted
            )
        try:
            yield made
        finally:
            made.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Data = None,
        *,
        over: http.client.HTTPConnection | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Data]:
        """Ask over a connection (a new one); the status and the body."""
        if over is None:
            with self.connection() as own:
                return self.ask(method, path, body, over=own, headers=headers)
        content = body if isinstance(body, bytes) else json.dumps(body) if body else None
        where = path if "/mlctl/" in path or "?" in path else f"{path}?{VERSION}"
        over.request(method, where, content, dict(headers or {}))
        response = over.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


@contextmanager
def serving(folder: Path, *flags: str, **environment: str) -> Iterator[Served]:
    """The emulator, started in a folder, until the block ends."""
    pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
    pytest.importorskip("cryptography", reason="the emulator extra is not installed")
    process = subprocess.Popen(
        [*COMMAND, "start", "--json", *flags],
        cwd=folder,
        env=shell.environment(folder, **QUIET, **environment),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, f"the emulator ended with {process.wait()}"
        yield Served(folder, json.loads(line), process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
