"""`mlctl local delays | settings | tenancy | workload`: how the simulated cloud behaves."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum

from mlctl.cli.local import flags as workload_flags
from mlctl.cli.local.cloud import opened
from mlctl.cli.local.flags import BatchFlags, DelayArgs, TrainingFlags, pair
from mlctl.cli.shell import Exit, Session, UsageError, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import Output, OutputFormat, Query, print_data
from mlctl.pointer import Data
from mlctl.workload import DEFAULT_NAME


def delays_set(
    session: Session,
    delays: DelayArgs,
    cv: float | None = flag("Their spread: coefficient of variation.", metavar="X"),
) -> Exit:
    """Set how long nodes take: seconds, or 90s, 15m, 1h30m. What is not given stays as it is."""
    from mlctl.simulator.control_plane import disruptions

    texts: dict[str, str | None] = asdict(delays)
    changes: dict[str, object] = {
        f"{name}_s": duration(text) for name, text in texts.items() if text is not None
    }
    if cv is not None:
        changes["delay_cv"] = cv
    if not changes:
        raise UsageError(f"say which: {', '.join(f'--{name}' for name in texts)} or --cv.")
    with opened(session) as cloud:
        disruptions.configure(cloud.handle, changes)
    return Exit.OK


def delays_show(session: Session, output: Output = OutputFormat.TABLE, query: Query = None) -> Exit:
    """Show how long nodes take to come and to go, in seconds."""
    from mlctl.simulator.control_plane import disruptions

    names = {**{f"{name}_s": name for name in DelayArgs.__annotations__}, "delay_cv": "cv"}
    with opened(session) as cloud:
        data: list[Data] = [
            {"delay": names[delay.name], "value": delay.value, "meaning": delay.why}
            for delay in disruptions.parameters(cloud.handle)
            if delay.name in names
        ]
        print_data(session, data, output, query)
    return Exit.OK


def settings_set(
    session: Session,
    pairs: list[str] = argument("See `mlctl local settings list`.", metavar="NAME=VALUE"),
) -> Exit:
    """Set how the simulated cloud behaves where no resource says so."""
    from mlctl.simulator.control_plane import disruptions

    changes: dict[str, object] = dict(pair(text) for text in pairs)
    with opened(session) as cloud:
        disruptions.configure(cloud.handle, changes)
    return Exit.OK


def settings_list(
    session: Session, output: Output = OutputFormat.TABLE, query: Query = None
) -> Exit:
    """List how the simulated cloud behaves, and where each figure comes from.

    S is stated by Microsoft's or hi-ml's pages on the subject, D by other documentation of Azure, R
    was recorded of Azure, A is an assumption.
    """
    from mlctl.simulator.control_plane import disruptions

    with opened(session) as cloud:
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
    return Exit.OK


def tenancy_set(
    session: Session,
    slots: int = flag("Jobs that run at once.", default=4, min=1, metavar="N"),
    arrivals: float = flag("Jobs of others, at random.", default=0.0, min=0, metavar="PER_HOUR"),
    mean: str = flag("How long those take on average.", default="1h", metavar="DURATION"),
) -> Exit:
    """Set how the queue behaves that classic jobs without a pool share with other people's.

    No figure of it was ever published: all of them are assumptions.
    """
    from mlctl.simulator.control_plane.jobs import creation
    from mlctl.simulator.engine.model import SharedQueueSettings

    length = duration(mean)
    with opened(session) as cloud:
        creation.set_shared_queue(cloud.handle, SharedQueueSettings(slots, arrivals, length))
    return Exit.OK


def workload_set(
    session: Session,
    batch: BatchFlags,
    training: TrainingFlags,
    name: str = flag(
        "The workload, for jobs that name it; that of all others unless given.",
        "-n",
        default=DEFAULT_NAME,
        metavar="NAME",
    ),
) -> Exit:
    """Set how much there is to do in a job, and how long it takes, for the jobs to come.

    What is not given stays as it is, except that one flag about the time of a mini-batch replaces
    all of them. A mini-batch keeps its time: a rerun takes as long.
    """
    from mlctl.simulator.control_plane import disruptions

    workload = workload_flags.workload_of(batch, training)
    if all(value is None for value in asdict(workload).values()):
        raise UsageError("say something of the work: --seconds-per-file, --steps, ...")
    with opened(session) as cloud:
        disruptions.set_workload(cloud.handle, name, workload)
    return Exit.OK


def workload_list(
    session: Session, output: Output = OutputFormat.JSON, query: Query = None
) -> Exit:
    """List the workloads: how much there is to do in jobs that name them, and how long it takes."""
    from mlctl.simulator.control_plane import disruptions

    with opened(session) as cloud:
        data: list[Data] = [
            {
                "name": name,
                **{key: value for key, value in asdict(workload).items() if value is not None},
            }
            for name, workload in disruptions.workloads(cloud.handle).items()
        ]
        print_data(session, data, output, query)
    return Exit.OK
