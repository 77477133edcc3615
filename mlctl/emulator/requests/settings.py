"""What can be set about an emulator; time and chance are among it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from uuid import UUID

from mlctl.kinds.address import Scope
from mlctl.simulator.control_plane.http_faults import OperationStyle
from mlctl.simulator.control_plane.state import clock

VIRTUAL = None  # of `Settings.pace`: time passes when somebody waits for something
HOME = Scope("00000000-0000-0000-0000-000000000000", "local", "local")


def _stopped() -> float:
    return clock.EPOCH.timestamp()


def _silent(_: Exception) -> None: ...


def _numbered() -> Callable[[], str]:
    numbers = count(1)
    return lambda: str(UUID(int=next(numbers)))


@dataclass(frozen=True, slots=True)
class EmulatorSettings:
    """How the emulator answers.

    `home` is the workspace that exists from the start; the others are made on first use, unless
    `strict`. `pace` is how many seconds of virtual time pass in a real one, or `VIRTUAL`. With a
    `token`, every request must bear it, or a token that it signed. `now` is the wall clock in Unix
    seconds (unless given, it stands still) and `new_id` names requests (unless given, it counts).
    `bug` is told what went wrong inside the emulator.
    """

    home: Scope = HOME
    style: OperationStyle = OperationStyle.ASYNC
    pace: float | None = VIRTUAL
    page: int = 100
    strict: bool = False
    token: str | None = None
    now: Callable[[], float] = _stopped
    new_id: Callable[[], str] = field(default_factory=_numbered)
    bug: Callable[[Exception], None] = _silent
