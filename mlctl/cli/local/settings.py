"""`mlctl local delays | settings | tenancy | workload`: how the simulated cloud behaves."""

from __future__ import annotations

from enum import Enum

from mlctl.cli.local import flags as workload_flags
from mlctl.cli.local.cloud import open_cloud
from mlctl.cli.local.flags import BatchFlags, DelayArgs, TrainingFlags, pair
from mlctl.cli.shell import Session, UsageError, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.dataclasses import asdict
from mlctl.pointer import Data
from mlctl.workload import DEFAULT_NAME


def delays_set(
    session: Session,
    delays: DelayArgs,
    cv: float | None = flag(metavar="X"),
) -> None:
    """Set how long nodes take to start and stop: seconds, or 90s, 15m, 1h30m."""
    from mlctl.simulator.control_plane import disruptions

    texts: dict[str, str | None] = asdict(delays)
    changes: dict[str, object] = {
        f"{name}_s": duration(text) for name, text in texts.items() if text is not None
    }
    if cv is not None:
        changes["delay_cv"] = cv
    if not changes:
        raise UsageError(
            f"give at least one of: {', '.join(f'--{name}' for name in texts)} or --cv."
        )
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


def settings_set(
    session: Session,
    pairs: list[str] = argument(metavar="NAME=VALUE"),
) -> None:
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
