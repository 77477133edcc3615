"""Trouble on the wire, on order; trouble in the cloud itself is `mlctl.cloud.faults`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from mlctl import catalog
from mlctl.backends.local import LOCATION
from mlctl.cloud import control
from mlctl.cloud.faults import Fault
from mlctl.cloud.faults import Trouble as CloudTrouble
from mlctl.cloud.service import Place
from mlctl.emulator.call import Call
from mlctl.emulator.http import LOST, ArmError, Request, Response, reply
from mlctl.emulator.settings import Style
from mlctl.emulator.shelf import Shelf, Sort
from mlctl.pointer import Data

_FIRST_ERROR, _LAST_ERROR = 200, 599


class Trouble(Enum):
    """What happens to a request, or to its answer."""

    REFUSE = "refuse"  # answered with `status`; nothing is done
    HANG_UP = "hang-up"  # the connection breaks; nothing is done
    SLOW = "slow"  # the answer is sent `seconds` late
    TRUNCATE = "truncate"  # the connection breaks after `bytes` of the answer's body
    STYLE = "style"  # a write goes on in another `style` of long-running operations


class RetryAfter(Enum):
    """How an answer says when to ask again."""

    NONE = "none"
    SECONDS = "seconds"
    DATE = "date"
    MILLISECONDS = "ms"


@dataclass(frozen=True, slots=True)
class WireFault:
    """The `nth` matching request (from 1) meets trouble, and so do the next: `times` in all.

    With `every`, it is each nth one; with `times` 0 there is no end. `method` and `path` are
    patterns (`*/computes/*`).
    """

    trouble: Trouble
    method: str = "*"
    path: str = "*"
    nth: int = 1
    times: int = 1
    every: bool = False
    status: int = 503
    code: str = "ServiceUnavailable"
    message: str = "The request was refused, because a fault was set."
    retry_after: RetryAfter = RetryAfter.NONE
    seconds: float = 1.0
    bytes: int = 0
    style: Style = Style.ASYNC

    def __post_init__(self) -> None:
        """Refuse what can never strike.

        Raises:
            ValueError: a number is out of its range.
        """
        if self.seconds < 0 or self.bytes < 0 or not _FIRST_ERROR <= self.status <= _LAST_ERROR:
            raise ValueError("a delay, a length or a status is out of range")
        self.strikes(1)

    def matches(self, request: Request) -> bool:
        """Whether a request counts for this fault."""
        return fnmatchcase(request.method, self.method.upper()) and fnmatchcase(
            request.path.casefold(), self.path.casefold()
        )

    def strikes(self, seen: int) -> bool:
        """Whether the matching request number `seen` meets the trouble, as the cloud's faults."""
        count = Fault(CloudTrouble.FAIL, nth=self.nth, times=self.times or None, every=self.every)
        return count.strikes(seen)


def meet(shelf: Shelf, request: Request) -> list[WireFault]:
    """Count a request for every fault that it matches; those that strike it."""
    struck = []
    for item in shelf.list(Sort.FAULT):
        fault = _load(item.note["fault"])
        if fault.matches(request) and fault.strikes(shelf.count(Sort.FAULT, item.name)):
            struck.append(fault)
    return struck


def refuse(struck: Sequence[WireFault], now: float) -> None:
    """What keeps a request from being carried out.

    Raises:
        ArmError: a fault refuses it, or hangs up.
    """
    for each in struck:
        if each.trouble is Trouble.REFUSE:
            raise ArmError(each.status, each.code, each.message, headers=_retry(each, now))
        if each.trouble is Trouble.HANG_UP:
            raise ArmError(503, "ConnectionLost", each.message, cut=LOST)


def style(struck: Sequence[WireFault], usual: Style) -> Style:
    """The style of long-running operations that this request gets."""
    return next((each.style for each in struck if each.trouble is Trouble.STYLE), usual)


def spoil(response: Response, struck: Sequence[WireFault]) -> Response:
    """What becomes of an answer on its way."""
    for each in struck:
        if each.trouble is Trouble.SLOW:
            response = replace(response, wait=response.wait + each.seconds)
        if each.trouble is Trouble.TRUNCATE and len(response.body) > each.bytes:
            response = replace(response, cut=each.bytes)
    return response


def show(call: Call) -> Response:
    """GET /mlctl/faults: the cloud's and the wire's, and how many calls each has seen."""
    cloud = [
        {"number": each.number, "seen": each.seen, **_plain(each.fault)}
        for each in control.status(_place(call)).faults
    ]
    wire = [
        {"name": each.name, "seen": each.note["seen"], **each.note["fault"]}
        for each in call.shelf.list(Sort.FAULT)
    ]
    return reply({"value": [*cloud, *wire]})


def add(call: Call) -> Response:
    """POST /mlctl/faults: the fields of a `WireFault`, or of a `Fault` of the cloud.

    Raises:
        ArmError: 400, it is neither.
    """
    try:
        fault = _read(call.data)
    except (TypeError, ValueError, KeyError) as error:
        raise ArmError(400, "InvalidFault", f"This is no fault: {error}.") from None
    if isinstance(fault, Fault):
        return reply({"number": control.add_fault(_place(call), fault)}, 201)
    return reply({"name": plant(call.shelf, fault)}, 201)


def plant(shelf: Shelf, fault: WireFault) -> str:
    """Set a fault for requests to come; its name."""
    taken = [int(each.name) for each in shelf.list(Sort.FAULT)]
    name = f"{max(taken, default=0) + 1:06}"
    shelf.put(Sort.FAULT, name, {"fault": _plain(fault), "seen": 0})
    return name


def clear(call: Call) -> Response:
    """DELETE /mlctl/faults: all of them, of both kinds."""
    gone = control.clear_faults(_place(call)) + uproot(call.shelf)
    return reply({"removed": gone})


def uproot(shelf: Shelf) -> int:
    """Remove the faults of the wire; how many there were."""
    return sum(shelf.drop(Sort.FAULT, each.name) for each in list(shelf.list(Sort.FAULT)))


def _place(call: Call) -> Place:
    return Place(call.store, call.settings.home, LOCATION, catalog)


def _retry(fault: WireFault, now: float) -> dict[str, str]:
    match fault.retry_after:
        case RetryAfter.NONE:
            return {}
        case RetryAfter.SECONDS:
            return {"retry-after": f"{fault.seconds:g}"}
        case RetryAfter.MILLISECONDS:
            return {"x-ms-retry-after-ms": f"{fault.seconds * 1000:.0f}"}
        case RetryAfter.DATE:
            then = datetime.fromtimestamp(now, UTC) + timedelta(seconds=fault.seconds)
            return {"retry-after": format_datetime(then, usegmt=True)}


def _plain(fault: WireFault | Fault) -> dict[str, Data]:
    return {
        name: held.value if isinstance(held, Enum) else held for name, held in asdict(fault).items()
    }


def _read(data: dict[str, Data]) -> WireFault | Fault:
    if data.get("trouble") in [each.value for each in CloudTrouble]:
        given = {"verb" if key == "operation" else key: held for key, held in data.items()}
        return Fault(**{**given, "trouble": CloudTrouble(given["trouble"])})
    return _load(data)


def _load(data: dict[str, Data]) -> WireFault:
    kinds: dict[str, type[Enum]] = {"trouble": Trouble, "retry_after": RetryAfter, "style": Style}
    plain = {slot.name: type(slot.default) for slot in fields(WireFault)}
    given: dict[str, Any] = {}
    for key, held in data.items():
        wanted = plain.get(key)
        number = wanted is float and type(held) is int
        if key not in kinds and type(held) is not wanted and not number:
            raise ValueError(f"`{key}` cannot be {held!r}")
        given[key] = kinds[key](held) if key in kinds else held
    return WireFault(**given)
