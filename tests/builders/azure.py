"""Builders: the azure backend on an emulator in this process, with a clock that tests can read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from mlctl.backends.ports.backend import ConnectionOptions
from mlctl.emulator import Emulator, Request, Response
from mlctl.kinds.address import Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.emulator import world

if TYPE_CHECKING:
    from mlctl.backends.azure import AzureBackend
    from tests.builders.served import Served

SCOPE = Scope("00000000-0000-0000-0000-0000000000aa", "rg", "ws")
BASE = "https://azure.test"
TOKEN = "eyJhbGciOiJub25lIn0.eyJzZWNyZXQiOiJ0b2tlbiJ9.c2VjcmV0LXRva2Vu"


class Credential:
    """A secret token for whoever asks."""

    def get_token(self, *_: str, **__: Any) -> Any:
        from azure.core.credentials import AccessToken

        return AccessToken(TOKEN, int(time.time()) + 3600)


@dataclass
class ManualClock:
    """A clock that moves when somebody sleeps, and remembers for how long."""

    slept: list[float] = field(default_factory=list)
    moment: float = 1000.0

    def now(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += seconds


@dataclass(frozen=True)
class Azure:
    """An azure backend, the clock that it waits by, and the transport that knows what it asked."""

    backend: AzureBackend
    clock: ManualClock
    transport: Any

    @property
    def asked(self) -> list[str]:
        """The methods and last parts of the paths of all requests so far."""
        return [f"{one.method} {one.path.rsplit('/', 1)[-1]}" for one in self.transport.seen]


Service = Callable[[Request], Response]


@dataclass
class Between:
    """Stands before a service: to a request that fits a pattern (`GET */computes/*`) it gives an
    answer of its own, each answer once."""

    service: Service
    answers: list[tuple[str, Response]]

    def __call__(self, request: Request) -> Response:
        for number, (pattern, response) in enumerate(self.answers):
            if fnmatchcase(f"{request.method} {request.path}", pattern):
                del self.answers[number]
                return response
        return self.service(request)


def says(
    status: int,
    data: Data = None,
    headers: Mapping[str, str] | None = None,
    *,
    cut: int | None = None,
) -> Response:
    """A response of JSON (or of text); `cut` LOST is one that never arrives."""
    text = "" if data is None else data if isinstance(data, str) else json.dumps(data)
    told = {"content-type": "application/json", **(headers or {})}
    return Response(status, told, text.encode(), cut=cut)


def no(status: int, code: str = "Nope", headers: Mapping[str, str] | None = None) -> Response:
    """ARM's refusal."""
    return says(status, {"error": {"code": code, "message": f"{code} it is"}}, headers)


def azure(
    emulator: Service,
    scope: Scope = SCOPE,
    *,
    base: str = BASE,
    limit: float = 600.0,
    credential: Any = None,
    wall: Callable[[], float] | None = None,
    clock: ManualClock | None = None,
) -> Azure:
    """The backend on an emulator; skips where the extra is not installed."""
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    import requests
    from azure.core.pipeline.transport import RequestsTransport

    from mlctl.backends.azure import ArmClient, AzureBackend, Clock, Cloud
    from mlctl.testing.sdk import InProcess

    session, clock = requests.Session(), clock or ManualClock()
    given: Any = emulator  # it is only called
    transport: Any = InProcess(given)
    session.mount(base, transport)
    steady = Random(0)
    ticking = Clock(clock.sleep, clock.now, steady, limit, clock.now, wall or time.time)
    arm = ArmClient(base, credential or Credential(), RequestsTransport(session=session), ticking)
    return Azure(
        AzureBackend(arm, scope, Cloud("Test", base, base, "core.windows.net")), clock, transport
    )


def emulated(store: Store | None = None, **settings: Any) -> Emulator:
    """An emulator of a cloud, a new one unless given; a bug in it fails the test."""
    return world(store, home=SCOPE, **settings).emulator


def connected(served: Served, scope: Scope, patch: pytest.MonkeyPatch) -> AzureBackend:
    """The backend on a served emulator."""
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    from mlctl.backends.azure import connect

    return connect(scope, led(served, patch), ConnectionOptions(timeout=60))


def led(served: Served, patch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The environment in which all find an emulator, as `mlctl emulator env` prints it."""
    url = str(served.told["url"])
    environment = {
        "ARM_CLOUD_METADATA_URL": f"{url}/metadata/endpoints?api-version=2022-09-01",
        "REQUESTS_CA_BUNDLE": str(served.told["ca_file"]),
        "IDENTITY_ENDPOINT": f"{url}/msi/token",
        "IDENTITY_HEADER": "emulator",
        "NO_PROXY": "127.0.0.1",
    }
    for name in [one for one in os.environ if one.startswith("AZURE_")]:
        patch.delenv(name)
    for name, value in environment.items():
        patch.setenv(name, value)
    return environment
