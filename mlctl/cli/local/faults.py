"""`mlctl local fault`: faults to inject into the simulated cloud and its emulator."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Annotated

from mlctl.cli.local.cloud import opened
from mlctl.cli.shell import Exit, InvalidValue, Session, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import Output, OutputFormat, Query, print_data
from mlctl.dataclasses import asdict, dataclass
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control, faults
from mlctl.simulator.control_plane.http_faults import HttpFault, OperationStyle, RetryAfter

_KEYS = {"length": "bytes"}  # fields whose key in JSON is another


class FaultName(StrEnum):
    """The faults of calls and requests."""

    FAIL = "fail"
    THROTTLE = "throttle"
    DELAY = "delay"
    DROP = "drop"
    FAIL_OPERATION = "fail-operation"
    IGNORE = "ignore"
    REFUSE = "refuse"
    HANG_UP = "hang-up"
    SLOW = "slow"
    TRUNCATE = "truncate"
    STYLE = "style"


class FaultOperation(StrEnum):
    """The calls that a fault can apply to."""

    ANY = faults.ANY
    PUT = "put"
    GET = "get"
    LIST = "list"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultArgs:
    """Which calls or requests go wrong, when, and how."""

    operation: FaultOperation | None = flag("Which calls of the cloud; any.")
    target: str | None = flag("Calls about this resource; * and ? match any.", metavar="ADDRESS")
    method: str | None = flag("Requests to the emulator: GET.", metavar="METHOD")
    path: str | None = flag("Requests to the emulator: '*/computes/*'.", metavar="PATTERN")
    nth: int = flag("The first call that it strikes.", default=1, min=1)
    times: int = flag("How many calls in a row; 0 for all to come.", default=1, min=0)
    every: bool = flag("Strike each n-th call instead.", default=False)
    seconds: str = flag("The delay, or the Retry-After.", default="1", metavar="DURATION")
    code: str | None = flag("The service's error code.")
    status: int | None = flag("The HTTP status.", min=200, max=599)
    message: str | None = flag("The service's error message.")
    retry_after: RetryAfter | None = flag("How a refusal says when to ask again; none.")
    length: int | None = flag("Where a truncated answer breaks off; at 0.", "--bytes", min=0)
    style: OperationStyle | None = flag("How the emulator reports that a write goes on.")

    def fault(self, name: FaultName) -> faults.AnyFault:
        """The fault that the flags describe."""
        values: dict[str, Data] = {
            _KEYS.get(flag, flag): value.value if isinstance(value, Enum) else value
            for flag, value in asdict(self).items()
            if value is not None
        }
        values |= {"trouble": name.value, "seconds": duration(self.seconds)}
        try:
            return faults.from_json(values)
        except ValueError as error:
            raise InvalidValue(str(error)) from None


def add(
    session: Session,
    trouble: Annotated[FaultName, argument("What happens to the call.")],
    flags: FaultArgs,
) -> Exit:
    """Make calls to come go wrong, in the cloud or on the way to its emulator.

    fail and throttle refuse calls, delay makes them long, drop loses the answer of what was done,
    fail-operation accepts them and fails later, ignore does not apply a changed create-only field:
    of the calls that --operation and --target name. Of the requests to the emulator that --method
    and --path name, refuse answers with --status, hang-up breaks the connection, slow answers
    --seconds late, truncate breaks off after --bytes, style reports a write in another --style.
    """
    fault = flags.fault(trouble)
    with opened(session) as local:
        session.out(str(control.add_fault(local.handle, fault)))
    if isinstance(fault, HttpFault) and not _emulated():
        session.note(
            "it strikes requests to the emulator only, and none was started in this folder:"
            " `mlctl emulator start`"
        )
    return Exit.OK


def list_(session: Session, output: Output = OutputFormat.TABLE, query: Query = None) -> Exit:
    """List the faults, and how many calls each has seen."""
    with opened(session) as local:
        data = [fault.to_json() for fault in control.status(local.handle).faults]
        print_data(session, data, output, query)
    return Exit.OK


def clear(
    session: Session,
    numbers: list[int] | None = argument(
        "Which ones; all of them unless given.", default=None, metavar="NUMBER"
    ),
) -> Exit:
    """Remove faults, those of the cloud and of the wire alike."""
    with opened(session) as local:
        session.note(f"{control.clear_faults(local.handle, numbers or ())} removed")
    return Exit.OK


def _emulated() -> bool:
    """Whether an emulator runs that was started in this folder."""
    from mlctl.emulator import instance_file

    return instance_file.find_running(instance_file.FILE) is not None
