"""A stub of Azure and a recording proxy before it, each as a process of its own.

`python -m tests.builders.proxy stub [--conflicts N] [--stale N]` serves `AsOnAzure`, and
`python -m tests.builders.proxy proxy URL FOLDER` forwards to it, over TLS, what is asked of the
resource manager, and appends each exchange to `FOLDER/exchanges.jsonl`. The first line of each is
its URL. Links lead back to the proxy, with the host in capital letters.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE, Popen
from urllib.parse import urlencode, urlsplit

from mlctl.emulator import Request, Response
from mlctl.kinds.address import Address, Scope
from tests.builders import shell
from tests.builders.as_on_azure import AsOnAzure, Exchange, Recorder
from tests.builders.azure import SCOPE, emulated
from tests.builders.paths import ROOT

CODE = Address("code", "code", None, "1").id(SCOPE)  # what is there from the beginning
_FORWARDED = "x-forwarded-host"


def main() -> None:
    """Serve one of the two until a signal."""
    parser = argparse.ArgumentParser(description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    stub = roles.add_parser("stub")
    stub.add_argument("--conflicts", type=int, default=0)
    stub.add_argument("--stale", type=int, default=0)
    proxy = roles.add_parser("proxy")
    proxy.add_argument("url")
    proxy.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.role == "stub":
        code = {"id": CODE, "name": "1", "properties": {"codeUri": "https://x/y"}}
        bodies = {CODE.casefold(): code}
        service = AsOnAzure(conflicts=options.conflicts, stale=options.stale, bodies=bodies)
        _serve(_stub(service))
    else:
        _serve(_proxy(options.url, options.folder / "exchanges.jsonl"), options.folder)


def _stub(service: AsOnAzure) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        host = request.header(_FORWARDED).upper()
        return service(replace(request, base=f"https://{host}"))

    return answer


def _proxy(url: str, log: Path) -> Callable[[Request], Response]:
    """Resources are the stub's; tokens and the addresses of the cloud are the emulator's."""
    others = emulated()

    def forward(request: Request) -> Response:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        headers = {_FORWARDED: urlsplit(request.base).netloc, "accept": "application/json"}
        target = f"{request.path}?{urlencode(request.query)}"
        try:
            connection.request(request.method, target, request.body, headers)
            answer = connection.getresponse()
            return Response(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    recorder = Recorder(forward)

    def answer(request: Request) -> Response:
        if request.path.startswith(("/metadata/", "/msi/")):
            return others(request)
        response = recorder(request)
        with log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(recorder.exchanges[-1])) + "\n")
        return response

    return answer


def _serve(answer: Callable[[Request], Response], keys: Path | None = None) -> None:
    from mlctl.emulator.http import certificates, server

    listener = server.listen("127.0.0.1", 0)
    files = certificates.ensure(keys, (), datetime.now(UTC)) if keys else None
    host = f"localhost:{listener.getsockname()[1]}"
    url = f"https://{host}" if files else f"http://{host}"
    server.serve(
        answer,
        listener,
        (files.certificate, files.key) if files else None,
        lambda: print(url, flush=True),
    )


@dataclass(frozen=True)
class Proxied:
    """A running proxy: its address, and where its certificate and its record are."""

    url: str
    folder: Path

    @property
    def exchanges(self) -> list[Exchange]:
        """What has passed through it."""
        text = (self.folder / "exchanges.jsonl").read_text(encoding="utf-8")
        return [Exchange(**json.loads(line)) for line in text.splitlines()]

    def environment(self, scope: Scope = SCOPE) -> dict[str, str]:
        """The variables that lead a process of mlctl to it."""
        return {
            "MLCTL_BACKEND": "azure",
            "MLCTL_SUBSCRIPTION": scope.subscription,
            "MLCTL_RESOURCE_GROUP": scope.resource_group,
            "MLCTL_WORKSPACE": scope.workspace,
            "ARM_CLOUD_METADATA_URL": f"{self.url}/metadata/endpoints?api-version=2022-09-01",
            "REQUESTS_CA_BUNDLE": str(self.folder / "ca.pem"),
            "IDENTITY_ENDPOINT": f"{self.url}/msi/token",
            "IDENTITY_HEADER": "emulator",
            "NO_PROXY": "localhost",
        }


@contextmanager
def proxied(folder: Path, *flags: str) -> Iterator[Proxied]:
    """A stub with these flags and a proxy before it, until the block ends."""
    folder.mkdir()
    with _running("stub", *flags) as stub, _running("proxy", stub, str(folder)) as url:
        yield Proxied(url, folder)


@contextmanager
def _running(*words: str) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.builders.proxy", *words]
    process = Popen(command, cwd=ROOT, env=shell.environment(ROOT), stdout=PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        assert line, f"it ended with {process.wait()}"
        yield line
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    main()
