"""The settings of an emulator, its clock and its request ids among them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from uuid import UUID

from mlctl.dataclasses import dataclass, field
from mlctl.digests import uuid_of
from mlctl.kinds.address import Scope
from mlctl.serving.servers import Servers
from mlctl.simulator.control_plane.faults import OperationStyle
from mlctl.simulator.control_plane.state import clock

VIRTUAL = None  # of `EmulatorSettings.pace`: time passes when somebody waits for something
TENANT = uuid_of("mlctl/tenant")  # of every subscription
HOME = Scope("00000000-0000-0000-0000-000000000000", "local", "local")


def _ignore_bug(_: Exception) -> None: ...


def _count_ids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: str(UUID(int=next(numbers)))


@dataclass(frozen=True, slots=True)
class EmulatorSettings:
    """How the emulator answers.

    `home` is the workspace that exists from the start; others are created on first use, unless
    `strict`. `style` is the default style of long-running operations. `pace` is how many seconds of
    virtual time pass in one real second, or `VIRTUAL`. `page` is the largest number of items on a
    page of a list. With a `token`, every request must carry it, or a token signed with it. `now` is
    the wall clock in Unix seconds (by default it stands still); `new_id` makes request ids (by
    default it counts). `bug` is called with every unexpected exception. `servers` run the code of
    deployments; None: no code is run.
    """

    home: Scope = HOME
    style: OperationStyle = OperationStyle.ASYNC
    pace: float | None = VIRTUAL
    page: int = 100
    strict: bool = False
    token: str | None = None
    now: Callable[[], float] = clock.EPOCH.timestamp
    new_id: Callable[[], str] = field(default_factory=_count_ids)
    bug: Callable[[Exception], None] = _ignore_bug
    servers: Servers | None = None
