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
from mlctl.simulator.control_plane.faults import HttpFault, OperationStyle, RetryAfter

_KEYS = {"length": "bytes"}  # fields with another key in JSON


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
    """Which calls or requests fail, when, and how."""

    operation: FaultOperation | None = flag("The calls to affect; any by default.")
    target: str | None = flag("The resource; * and ? are wildcards.", metavar="ADDRESS")
    method: str | None = flag(
        "The HTTP method of requests to the emulator, such as GET.", metavar="METHOD"
    )
    path: str | None = flag(
        "The path of requests to the emulator, such as '*/computes/*'.", metavar="PATTERN"
    )
    nth: int = flag("The first call to affect.", default=1, min=1)
    times: int = flag("How many calls in a row; 0 for all that follow.", default=1, min=0)
    every: bool = flag("Affect every n-th call instead.", default=False)
    seconds: str = flag("The delay, or the Retry-After.", default="1", metavar="DURATION")
    code: str | None = flag("The service's error code.")
    status: int | None = flag("The HTTP status.", min=200, max=599)
    message: str | None = flag("The service's error message.")
    retry_after: RetryAfter | None = flag("The form of Retry-After in a refusal; none by default.")
    length: int | None = flag(
        "The byte at which a truncated response ends; 0 by default.", "--bytes", min=0
    )
    style: OperationStyle | None = flag("How the emulator reports a long-running operation.")

    def fault(self, name: FaultName) -> faults.AnyFault:
        """Return the fault that the flags describe."""
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
    """Make future calls fail, in the cloud or on the network to its emulator.

    For calls selected by --operation and --target: fail and throttle refuse the call, delay slows
    it down, drop loses the response after the work was done, fail-operation accepts the call and
    fails later, ignore does not apply a change to a create-only field. For requests to the emulator
    selected by --method and --path: refuse responds with --status, hang-up closes the connection,
    slow delays the response by --seconds, truncate cuts it after --bytes, style reports a write in
    another --style.
    """
    fault = flags.fault(trouble)
    with opened(session) as local:
        session.out(str(control.add_fault(local.handle, fault)))
    if isinstance(fault, HttpFault) and not _is_emulated():
        session.note(
            "it strikes requests to the emulator only, and none was started in this folder:"
            " `mlctl emulator start`"
        )
    return Exit.OK


def list_(session: Session, output: Output = OutputFormat.TABLE, query: Query = None) -> Exit:
    """List the faults and how many calls each has matched."""
    with opened(session) as local:
        data = [fault.to_json() for fault in control.status(local.handle).faults]
        print_data(session, data, output, query)
    return Exit.OK


def clear(
    session: Session,
    numbers: list[int] | None = argument(
        "The numbers of the faults; all by default.", default=None, metavar="NUMBER"
    ),
) -> Exit:
    """Remove faults of the cloud and of the network."""
    with opened(session) as local:
        session.note(f"{control.clear_faults(local.handle, numbers or ())} removed")
    return Exit.OK


def _is_emulated() -> bool:
    """Whether an emulator runs in this folder."""
    from mlctl.emulator import instance_file

    return instance_file.find_running(instance_file.FILE) is not None
