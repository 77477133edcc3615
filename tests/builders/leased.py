"""Builders: a workspace whose leases go by a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.lease import Holder, Leases
from mlctl.kinds.address import Scope
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.emulator import Wall

SCOPE = Scope("00000000-0000-0000-0000-000000000001", "rg", "ws")
ANA = Holder("ana@laptop", 4711, "mlctl apply infra")
CI = Holder("runner@agent", 7, "mlctl apply plan.json", "https://ci.example/runs/9")


@dataclass
class Leased:
    """The leases of a workspace as two processes see them, and the clock that both go by."""

    mine: Leases
    theirs: Leases
    later: Callable[[float], object]


def local(wall: Wall | None = None) -> tuple[LocalBackend, Wall]:
    """A simulated workspace in memory, and the clock by which its leases last."""
    clock = wall or Wall()
    return LocalBackend(Store(":memory:"), SCOPE, wall=clock), clock


def on_local() -> Leased:
    """Leases in the database of a simulated workspace."""
    backend, clock = local()

    def later(seconds: float) -> None:
        clock.time += seconds

    return Leased(backend.leases, backend.within(SCOPE).leases, later)
