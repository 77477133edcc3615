"""Builders: a workspace whose leases go by a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.lease import Holder, Leases
from mlctl.kinds.address import Scope
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.azure import azure, emulated
from tests.builders.azurite import Azurite
from tests.builders.emulator import Wall

SCOPE = Scope("00000000-0000-0000-0000-000000000001", "rg", "ws")
LOCAL = Scope("00000000-0000-0000-0000-000000000000", "local", "local")  # that of the command line
ANA = Holder("ana@laptop", 4711, "mlctl apply infra")
CI = Holder("runner@agent", 7, "mlctl apply plan.json", "https://ci.example/runs/9")


@dataclass
class Leased:
    """The leases of a workspace as two processes see them, and the clock that both go by.

    `backend` is the one of the first, where there is a workspace.
    """

    mine: Leases
    theirs: Leases
    later: Callable[[float], object]
    backend: Any = None


def local() -> tuple[LocalBackend, Wall]:
    """A simulated workspace in memory, and the clock by which its leases last."""
    clock = Wall()
    return LocalBackend(Store(":memory:"), SCOPE, wall=clock), clock


def on_local(file: Path) -> Leased:
    """Leases in the state file of a simulated workspace, which two connections have open."""
    clock = Wall()
    mine, theirs = (LocalBackend(file, SCOPE, wall=clock) for _ in range(2))

    def later(seconds: float) -> None:
        clock.time += seconds

    return Leased(mine.leases, theirs.leases, later, mine)


def on_emulator() -> Leased:
    """Leases of blobs of the emulator, which two clients ask for."""
    wall = Wall()
    emulator = emulated(now=wall)
    mine, theirs = (azure(emulator, SCOPE, wall=wall) for _ in range(2))

    def later(seconds: float) -> None:
        wall.time += seconds
        for one in (mine, theirs):
            one.clock.moment += seconds

    return Leased(mine.backend.leases, theirs.backend.leases, later, mine.backend)


@dataclass(frozen=True)
class Standing:
    """A datastore whose container is known."""

    client: Any

    def container(self) -> Any:
        return self.client

    own_container = container


def on_azurite(azurite: Azurite) -> Leased:
    """Leases of blobs of Azurite, which two clients ask for."""
    from mlctl.backends.azure.leases import BlobLeases

    wall, moment, container = Wall(), Wall(), azurite.container()

    def store() -> Any:
        return Standing(container)

    def later(seconds: float) -> None:
        azurite.advance(seconds)
        wall.time += seconds
        moment.time += seconds

    mine, theirs = (BlobLeases(store, moment, wall) for _ in range(2))
    return Leased(mine, theirs, later)
