"""Builders: the real SDK, unmodified, on an emulator in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mlctl.emulator import Emulator
from mlctl.testing import sdk as testing
from mlctl.testing.sdk import TRANSPORTS
from tests.builders.emulator import World, world

__all__ = ["GROUP", "SUBSCRIPTION", "TRANSPORTS", "WORKSPACE", "Sdk", "client", "lead_here", "sdk"]

SUBSCRIPTION, GROUP, WORKSPACE = "00000000-0000-0000-0000-0000000000aa", "rg", "ws"


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
    return testing.client(emulator, *scope)


def registry_client(emulator: Emulator, registry: str) -> Any:
    """An MLClient for a registry of an emulator."""
    return testing.client(emulator, registry_name=registry)[0]


def lead_here(patch: pytest.MonkeyPatch) -> None:
    """Let every session of `requests` find the emulators; skips where it is not installed."""
    pytest.importorskip("requests", reason="the azure extra is not installed")
    testing.lead_here(patch)
