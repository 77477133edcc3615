"""`mlctl simulate training`: how long a training job takes, and how often to write checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlctl.cli.files.validate import Paths
from mlctl.cli.forecast.args import (
    RUNS,
    CloudArgs,
    FileArgs,
    HistoryArgs,
    WorkerArgs,
    executor_of,
    settings_of,
    tiers_of,
    weathers,
)
from mlctl.cli.forecast.output import ForecastFormat, Output, Progress, ended, refusals, write
from mlctl.cli.forecast.subject import read_graph, stated_prices
from mlctl.cli.local.flag_text import DelayArgs
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.rule_choice import Ignore
from mlctl.dataclasses import dataclass
from mlctl.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class StepArgs:
    """The work: its steps, and what checkpoints take."""

    steps: int | None = flag("Steps to train.", min=1, metavar="N")
    seconds_per_step: float | None = flag("Time of a step.", min=0, metavar="S")
    checkpoint_every: list[int] | None = flag(
        "Steps between checkpoints; 0 for none (repeatable; one row each).", min=0, metavar="N"
    )
    seconds_per_checkpoint: float | None = flag("Time to write a checkpoint.", min=0, metavar="S")
    seconds_to_restore: float | None = flag("Time to resume from a checkpoint.", min=0, metavar="S")


def training(
    session: Session,
    paths: Paths,
    *,
    declared: FileArgs,
    work: StepArgs,
    delays: DelayArgs,
    cloud: CloudArgs,
    study: HistoryArgs,
    workers: WorkerArgs,
    ignore: Ignore = None,
    output: Output = ForecastFormat.HUMAN,
) -> Exit:
    """Forecast a training job: its duration, its cost, and the best interval between checkpoints.

    Works for command jobs on a cluster or serverless. The best interval is shown next to those of
    Young and Daly; it is exact if the losses of one node are a Poisson process.
    """
    from mlctl.forecast.training import report as training_report
    from mlctl.forecast.training.reading import TrainingWanted, read
    from mlctl.render.forecast import training as training_forecast

    graph = read_graph(session, paths, declared.override, ignore)
    if graph is None:
        return Exit.ERROR
    wanted = TrainingWanted(
        _workload(work), settings_of(delays, cloud), stated_prices(session, declared)
    )
    weathers_, main = weathers(study.weather, study)
    with refusals():
        subject = read(graph, wanted)
        every = list(dict.fromkeys(work.checkpoint_every or [0]))
        rows = training_report.rows(subject.scenario, every, weathers_, tiers_of(study.tier))
        options = training_report.Options(str(study.seed), study.runs or RUNS, main)
        with executor_of(workers) as executor:
            with Progress(session) as progress:
                gathered = training_report.gathered(rows, options, executor, progress.add)
            data = training_report.document(subject, gathered, options, executor)
    write(session, data, output, training_forecast.human, _page)
    return ended(session, complete=gathered.complete)


def _workload(args: StepArgs) -> Workload:
    """The work that flags describe; see `workloads.check` for what it raises."""
    from mlctl.simulator.control_plane.jobs import workloads

    workload = Workload(
        steps=args.steps,
        seconds_per_step=args.seconds_per_step,
        seconds_per_checkpoint=args.seconds_per_checkpoint,
        seconds_to_restore=args.seconds_to_restore,
    )
    workloads.check(workload)
    return workload


def _page(data: Mapping[str, Any]) -> str:
    from mlctl.render.forecast import page as forecast_page

    return forecast_page.training(data)
