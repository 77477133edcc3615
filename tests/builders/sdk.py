"""Builders: the real SDK, unmodified, on an emulator in this process."""

from __future__ import annotations

import base64
import itertools
import json
import time
from dataclasses import dataclass
from typing import Any

import pytest

from mlctl.emulator import Emulator
from mlctl.pointer import Data
from tests.builders.emulator import World, world

SUBSCRIPTION, GROUP, WORKSPACE = "00000000-0000-0000-0000-0000000000aa", "rg", "ws"
_numbers = itertools.count()


@dataclass(frozen=True)
class Sdk:
    """An MLClient, the emulator that it talks to, and what it has asked."""

    ml: Any
    world: World
    transport: Any

    @property
    def asked(self) -> list[str]:
        """The methods and last parts of the paths of all requests so far."""
        return [f"{one.method} {one.path.rsplit('/', 1)[-1]}" for one in self.transport.seen]

    def fault(self, **fields: object) -> None:
        """Set a fault."""
        assert self.world.ask("POST", "/mlctl/faults", fields).status == 201


class Login:
    """Tokens of no issuer for whoever asks, each for the audience that is asked for.

    The SDK looks at the audience of the token that goes with a pipeline job.
    """

    def get_token(self, *scopes: str, **_: Any) -> Any:
        from azure.core.credentials import AccessToken

        claims = {"aud": scopes[0].removesuffix("/.default").rstrip("/"), "tid": "tenant"}
        token = f"{_part({'alg': 'none'})}.{_part(claims)}.{_part({})}"
        return AccessToken(token, int(time.time()) + 3600)


def _part(data: Data) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


def sdk(**settings: Any) -> Sdk:
    """The SDK on a new emulator; skips where it is not installed."""
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    here = world(**settings)
    ml, transport = client(here.emulator)
    return Sdk(ml, here, transport)


def client(
    emulator: Emulator, scope: tuple[str, str, str] = (SUBSCRIPTION, GROUP, WORKSPACE)
) -> Any:
    """An MLClient on an emulator, and the transport between them."""
    return _client(emulator, *scope)


def registry_client(emulator: Emulator, registry: str) -> Any:
    """An MLClient for a registry of an emulator."""
    return _client(emulator, registry_name=registry)[0]


def _client(emulator: Emulator, *scope: str, **more: str) -> Any:
    from azure.ai.ml import MLClient

    from tests.builders.transport import InProcess

    number = next(_numbers)  # the SDK keeps the first URL of a cloud's name
    base = f"https://emulator-{number}.test"
    transport = TRANSPORTS[base] = InProcess(emulator)
    urls = ("azure_portal", "resource_manager", "active_directory", "aml_resource_id")
    metadata = dict.fromkeys(urls, base)
    metadata |= {
        "storage_endpoint": "core.windows.net",
        "registry_discovery_endpoint": f"{base}/",
    }
    made = MLClient(
        Login(),
        *scope,
        cloud=f"Emulator{number}",
        cloud_metadata=metadata,
        show_progress=False,
        enable_telemetry=False,
        **more,
    )
    return made, transport


TRANSPORTS: dict[str, Any] = {}  # by the URLs that `lead_here` leads to them


def lead_here(patch: pytest.MonkeyPatch) -> None:
    """Let every session of `requests` find the emulators, also those that the SDK makes."""
    requests = pytest.importorskip("requests", reason="the azure extra is not installed")
    usual = requests.Session.get_adapter

    def get_adapter(session: Any, url: str) -> Any:
        found = (held for base, held in TRANSPORTS.items() if url.startswith(f"{base}/"))
        return next(found, None) or usual(session, url)

    patch.setattr(requests.Session, "get_adapter", get_adapter)
    patch.setenv("AZUREML_CURRENT_CLOUD", "")  # MLClient writes the name of its cloud there
    patch.delenv("AZUREML_CURRENT_CLOUD")
