"""The studio of a workspace on Azure, in whose place the emulator answers: it only reads."""

from __future__ import annotations

import http.client
import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.builders import shell
from tests.builders.served import Served

pytest.importorskip("azure.identity", reason="the azure extra is not installed")
pytestmark = pytest.mark.slow


def test_every_page_of_it_is_read_across_the_network_and_nothing_is_written(
    alone: Served, sample: Path
) -> None:
    done = shell.finish(shell.start(alone.folder, "apply", "sample", "--yes"))
    assert done.code == 0, done.err
    variables = shell.finish(shell.start(alone.folder, "emulator", "env", "-o", "json")).json
    words = ("--backend", "azure", "studio", "sample", "--no-browser")
    process = shell.start(alone.folder, *words, env=variables)
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().rpartition(" ")[2].strip())

        def ask(path: str, method: str = "GET") -> tuple[int, str]:
            connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
            connection.request(method, address.path + path)
            response = connection.getresponse()
            text = response.read().decode()
            connection.close()
            return response.status, text

        pages = {
            path: ask(path)
            for path in ("", "clusters", "clusters/low-pri-cluster", "jobs", "endpoints", "plan")
        }
        assert {status for status, _ in pages.values()} == {200}
        assert "classifier-xgboost" in pages["endpoints"][1]
        assert "STANDARD_DS3_V2" in pages["clusters"][1].upper()
        assert "No changes." in pages["plan"][1]
        assert not any('method="post"' in text for _, text in pages.values())
        assert ask("act/step", "POST")[0] == 403
        assert ask("happened")[0] == 404
    finally:
        process.send_signal(signal.SIGINT)
        done = shell.finish(process)
    assert done.code == 0, done.err
