"""`mlctl simulate pool`: how long jobs wait in a Batch Pool, and what it costs beside a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from mlctl.cli.files.validate import Paths
from mlctl.cli.forecast.args import (
    WEATHER,
    BeginArgs,
    CloudArgs,
    begun,
    settings_of,
    weather_of,
)
from mlctl.cli.forecast.output import ForecastFormat, Output, ended, refusals, write
from mlctl.cli.forecast.subject import read_graph
from mlctl.cli.forecast.workers import WorkerArgs, executor_of
from mlctl.cli.local.setting_flags import DelayArgs
from mlctl.cli.migrate_pool import SIZE
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.rule_choice import Ignore
from mlctl.cli.shell.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArgs:
    """The jobs, and what other users do."""

    jobs_per_day: Annotated[
        float,
        typer.Option("--jobs-per-day", metavar="N", help="Jobs that come, at random times."),
    ]
    seconds_per_job: Annotated[
        float, typer.Option("--seconds-per-job", metavar="S", help="Time of a job.")
    ]
    exponential: Annotated[
        bool, typer.Option("--exponential", help="These times are exponential, not equal.")
    ] = False
    shared_slots: Annotated[
        int,
        typer.Option(
            "--shared-slots", min=1, metavar="N", help="Jobs that the shared queue runs at once."
        ),
    ] = 4
    shared_arrivals: Annotated[
        float,
        typer.Option(
            "--shared-arrivals", min=0, metavar="N", help="Jobs of other users in it, per hour."
        ),
    ] = 0.0
    shared_seconds: Annotated[
        float,
        typer.Option("--shared-seconds", min=1, metavar="S", help="How long those take."),
    ] = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceArgs:
    """What VMs and nodes cost."""

    size: Annotated[
        str, typer.Option("--size", metavar="SIZE", help="The VM size; a pool names none.")
    ] = SIZE
    price: Annotated[
        float | None,
        typer.Option(
            "--price", min=0, metavar="USD", help="Of an hour of a VM of the pool; of --size."
        ),
    ] = None
    node_price: Annotated[
        float | None,
        typer.Option(
            "--node-price", min=0, metavar="USD", help="Of an hour of a dedicated node; of --size."
        ),
    ] = None
    idle_time: Annotated[
        int,
        typer.Option("--idle-time", min=0, metavar="S", help="Of the cluster, before it shrinks."),
    ] = 120


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "pool")(pool)


def pool(
    session: Session,
    paths: Paths,
    *,
    jobs: JobArgs,
    price: PriceArgs,
    delays: DelayArgs,
    begin: BeginArgs,
    workers: WorkerArgs,
    weather: Annotated[
        str,
        typer.Option("--weather", metavar="NAME", help="What takes low-priority nodes away."),
    ] = WEATHER,
    runs: Annotated[
        int, typer.Option("--runs", min=2, max=100_000, metavar="N", help="Histories a row.")
    ] = 20,
    jobs_per_run: Annotated[
        int, typer.Option("--jobs", min=10, max=100_000, metavar="N", help="Jobs of a history.")
    ] = 500,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Where all chance is from.")] = 0,
    ignore: Ignore = None,
    output: Output = ForecastFormat.HUMAN,
) -> Exit:
    """Forecast a Batch Pool: how long jobs wait in it, and what it costs.

    Beside the shared queue of the classic service and a compute cluster that grows and shrinks,
    with the number of jobs a day from which on the pool costs less. Jobs come as a Poisson process.
    """
    from mlctl.forecast import pool_report
    from mlctl.forecast.pool_reading import PoolWanted, read
    from mlctl.render import pool_forecast
    from mlctl.simulator.engine.model import SharedQueueSettings

    graph = read_graph(session, paths, None, ignore)
    if graph is None:
        return Exit.ERROR
    shared = SharedQueueSettings(jobs.shared_slots, jobs.shared_arrivals, jobs.shared_seconds)
    [found] = begun([weather_of(weather)], begin)
    wanted = PoolWanted(
        jobs.jobs_per_day,
        jobs.seconds_per_job,
        jobs.exponential,
        price.size,
        price.price,
        price.node_price,
        float(price.idle_time),
        shared,
        settings_of(delays, CloudArgs()),
        found.processes(),
    )
    with refusals():
        name, scenario = read(graph, wanted)
        asked = pool_report.Asked(str(seed), runs, jobs_per_run, found)
        with executor_of(workers) as executor:
            gathered = pool_report.gathered(scenario, asked, executor)
            data = pool_report.document(name, scenario, asked, gathered, executor)
    write(session, data, output, pool_forecast.human, _page)
    return ended(session, complete=gathered.complete)


def _page(data: Mapping[str, Any]) -> str:
    from mlctl.render.forecast import page as forecast_page

    return forecast_page.pool(data)
