"""`mlctl local delays | settings | tenancy | workload | fault`: how the simulated cloud behaves."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal, TypeAlias

from mlctl.cli.local import flags as workload_flags
from mlctl.cli.local.cloud import open_cloud
from mlctl.cli.local.flags import BatchFlags, DelayArgs, TrainingFlags, pair
from mlctl.cli.shell import InvalidValue, Session, UsageError, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.dataclasses import asdict, dataclass
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control, faults
from mlctl.simulator.control_plane.faults import HttpFault, OperationStyle, RetryAfter
from mlctl.workload import DEFAULT_NAME


def delays_set(session: Session, delays: DelayArgs, cv: float | None = flag(metavar="X")) -> None:
    """Set how long nodes take to start and stop: seconds, or 90s, 15m, 1h30m."""
    from mlctl.simulator.control_plane import disruptions

    changes = delays.changes(cv)
    if not changes:
        names = ", ".join(f"--{name}" for name in delays.__slots__)
        raise UsageError(f"give at least one of: {names} or --cv.")
    with open_cloud(session) as cloud:
        disruptions.configure(cloud.handle, changes)


def delays_show(session: Session, output: Output = "table", query: Query = None) -> None:
    """Show how long nodes take to start and stop, in seconds."""
    from mlctl.simulator.control_plane import disruptions

    names = {**{f"{name}_s": name for name in DelayArgs.__annotations__}, "delay_cv": "cv"}
    with open_cloud(session) as cloud:
        data: list[Data] = [
            {"delay": names[delay.name], "value": delay.value, "meaning": delay.why}
            for delay in disruptions.parameters(cloud.handle)
            if delay.name in names
        ]
        print_data(session, data, output, query)


def settings_set(session: Session, pairs: list[str] = argument(metavar="NAME=VALUE")) -> None:
    """Set defaults for the behaviour of the simulated cloud."""
    from mlctl.simulator.control_plane import disruptions

    changes: dict[str, object] = dict(pair(text) for text in pairs)
    with open_cloud(session) as cloud:
        disruptions.configure(cloud.handle, changes)


def settings_list(session: Session, output: Output = "table", query: Query = None) -> None:
    """List the settings of the simulated cloud, and the source of each value."""
    from mlctl.simulator.control_plane import disruptions

    with open_cloud(session) as cloud:
        data: list[Data] = [
            {
                "setting": setting.name,
                "value": setting.value.value if isinstance(setting.value, Enum) else setting.value,
                "source": setting.source,
                "meaning": setting.why,
            }
            for setting in disruptions.parameters(cloud.handle)
        ]
        print_data(session, data, output, query)


def tenancy_set(
    session: Session,
    slots: int = flag(default=4, min=1, metavar="N"),
    arrivals: float = flag(default=0.0, min=0, metavar="PER_HOUR"),
    mean: str = flag(default="1h", metavar="DURATION"),
) -> None:
    """Set the behaviour of the shared queue for classic jobs without a pool."""
    from mlctl.simulator.control_plane.jobs import creation
    from mlctl.simulator.engine.model import SharedQueueSettings

    length = duration(mean)
    with open_cloud(session) as cloud:
        creation.set_shared_queue(cloud.handle, SharedQueueSettings(slots, arrivals, length))


def workload_set(
    session: Session,
    batch: BatchFlags,
    training: TrainingFlags,
    name: str = flag("-n", default=DEFAULT_NAME, metavar="NAME"),
) -> None:
    """Set the amount and duration of work for future jobs."""
    from mlctl.simulator.control_plane import disruptions

    workload = workload_flags.workload_of(batch, training)
    if all(value is None for value in asdict(workload).values()):
        raise UsageError("describe the work: --seconds-per-file, --steps, ...")
    with open_cloud(session) as cloud:
        disruptions.set_workload(cloud.handle, name, workload)


def workload_list(session: Session, output: Output = "json", query: Query = None) -> None:
    """List the workloads: the amount and duration of work for jobs that name them."""
    from mlctl.simulator.control_plane import disruptions

    with open_cloud(session) as cloud:
        data: list[Data] = [
            {
                "name": name,
                **{key: value for key, value in asdict(workload).items() if value is not None},
            }
            for name, workload in disruptions.workloads(cloud.handle).items()
        ]
        print_data(session, data, output, query)


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


def fault_add(
    session: Session, trouble: Annotated[FaultName, argument()], fault_args: FaultArgs
) -> None:
    """Make future calls fail, in the cloud or on the network to its emulator."""
    fault = fault_args.fault(trouble)
    with open_cloud(session) as local:
        session.out(str(control.add_fault(local.handle, fault)))
    if isinstance(fault, HttpFault) and not _is_emulated():
        session.note(
            "it strikes requests to the emulator only, and none was started in this folder:"
            " `mlctl emulator start`"
        )


def fault_list(session: Session, output: Output = "table", query: Query = None) -> None:
    """List the faults and how many calls each has matched."""
    with open_cloud(session) as local:
        data = [fault.to_json() for fault in control.status(local.handle).faults]
        print_data(session, data, output, query)


def fault_clear(
    session: Session, numbers: list[int] | None = argument(default=None, metavar="NUMBER")
) -> None:
    """Remove faults of the cloud and of the network."""
    with open_cloud(session) as local:
        session.note(f"{control.clear_faults(local.handle, numbers or ())} removed")


def _is_emulated() -> bool:
    """Whether an emulator runs in this folder."""
    from mlctl.emulator import instance_file

    return instance_file.find_running(instance_file.FILE) is not None
