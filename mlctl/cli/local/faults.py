"""`mlctl local fault`: faults to inject into the simulated cloud and its emulator."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal, TypeAlias

from mlctl.cli.local.cloud import open_cloud
from mlctl.cli.shell import InvalidValue, Session, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.dataclasses import asdict, dataclass
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control, faults
from mlctl.simulator.control_plane.faults import HttpFault, OperationStyle, RetryAfter

_KEYS = {"length": "bytes"}  # fields with another key in JSON

CallFault: TypeAlias = Literal["fail", "throttle", "delay", "drop", "fail-operation", "ignore"]
RequestFault: TypeAlias = Literal["refuse", "hang-up", "slow", "truncate", "style"]
FaultName: TypeAlias = Literal[CallFault, RequestFault]
FaultOperation: TypeAlias = Literal["any", "put", "get", "list", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultArgs:
    """Which calls or requests fail, when, and how."""

    operation: FaultOperation | None = flag()
    target: str | None = flag(metavar="ADDRESS")
    method: str | None = flag(metavar="METHOD")
    path: str | None = flag(metavar="PATTERN")
    nth: int = flag(default=1, min=1)
    times: int = flag(default=1, min=0)
    every: bool = flag(default=False)
    seconds: str = flag(default="1", metavar="DURATION")
    code: str | None = flag()
    status: int | None = flag(min=200, max=599)
    message: str | None = flag()
    retry_after: RetryAfter | None = flag()
    length: int | None = flag("--bytes", min=0)
    style: OperationStyle | None = flag()

    def fault(self, name: FaultName) -> faults.AnyFault:
        """Return the fault that the flags describe."""
        values: dict[str, Data] = {
            _KEYS.get(flag, flag): value.value if isinstance(value, Enum) else value
            for flag, value in asdict(self).items()
            if value is not None
        }
        values |= {"trouble": name, "seconds": duration(self.seconds)}
        try:
            return faults.from_json(values)
        except ValueError as error:
            raise InvalidValue(str(error)) from None


def add(
    session: Session,
    trouble: Annotated[FaultName, argument()],
    flags: FaultArgs,
) -> None:
    """Make future calls fail, in the cloud or on the network to its emulator."""
    fault = flags.fault(trouble)
    with open_cloud(session) as local:
        session.out(str(control.add_fault(local.handle, fault)))
    if isinstance(fault, HttpFault) and not _is_emulated():
        session.note(
            "it strikes requests to the emulator only, and none was started in this folder:"
            " `mlctl emulator start`"
        )


def list_(session: Session, output: Output = "table", query: Query = None) -> None:
    """List the faults and how many calls each has matched."""
    with open_cloud(session) as local:
        data = [fault.to_json() for fault in control.status(local.handle).faults]
        print_data(session, data, output, query)


def clear(
    session: Session,
    numbers: list[int] | None = argument(default=None, metavar="NUMBER"),
) -> None:
    """Remove faults of the cloud and of the network."""
    with open_cloud(session) as local:
        session.note(f"{control.clear_faults(local.handle, numbers or ())} removed")


def _is_emulated() -> bool:
    """Whether an emulator runs in this folder."""
    from mlctl.emulator import instance_file

    return instance_file.find_running(instance_file.FILE) is not None
