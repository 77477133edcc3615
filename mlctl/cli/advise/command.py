"""`mlctl advise`: which settings finish a batch job most cheaply, and what to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from mlctl.cli.advise import patch as advise_files
from mlctl.cli.advise.vary import USUAL, varied
from mlctl.cli.files.validate import SomePaths
from mlctl.cli.forecast.args import (
    WEATHER,
    BeginArgs,
    CloudArgs,
    SubjectArgs,
    begun,
    settings_of,
    weather_of,
)
from mlctl.cli.forecast.output import ForecastFormat, Output, ended, refusals, write
from mlctl.cli.forecast.subject import read_subject
from mlctl.cli.forecast.workers import WorkerArgs, executor_of
from mlctl.cli.local.setting_flags import DelayArgs
from mlctl.cli.local.workload_flags import BatchFlags
from mlctl.cli.parser.arguments import InvalidValue, UsageError
from mlctl.cli.shell.command import command
from mlctl.cli.shell.durations import duration
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.rule_choice import Ignore
from mlctl.cli.shell.session import Session

_MOST_CONFIGURATIONS = 2000


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(advise)


def advise(
    session: Session,
    paths: SomePaths = None,
    *,
    subject: SubjectArgs,
    work: BatchFlags,
    delays: DelayArgs,
    begin: BeginArgs,
    cloud: CloudArgs,
    workers: WorkerArgs,
    weather: Annotated[
        str,
        typer.Option(
            "--weather",
            metavar="NAME",
            help="What takes nodes away: stress, band:5-10, or a FILE of weather or a trace.",
        ),
    ] = WEATHER,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="FIELD=VALUES",
            help="What to try: max_instances=1..32 (doubling), mini_batch_size=10,20,50, tier,"
            " policy, concurrency, instance_count, min_instances, timeout (repeatable).",
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option("--deadline", metavar="DURATION", help="Late in one case of 20 at most."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", min=0, metavar="USD", help="What it may cost until it is done."),
    ] = None,
    max_cancel: Annotated[
        float | None,
        typer.Option(
            "--max-cancel", min=0, max=1, metavar="P", help="How likely the first run may fail so."
        ),
    ] = None,
    jobs_per_month: Annotated[
        float,
        typer.Option(
            "--jobs-per-month",
            min=0.01,
            metavar="N",
            help="How often such a job runs: the nodes of min_instances are paid in between.",
        ),
    ] = 30,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", min=10, max=100_000, metavar="N", help="Histories of the best ones."
        ),
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Where all chance is from.")] = 0,
    patch: Annotated[
        bool,
        typer.Option(
            "--patch",
            help="Write the recommended values into the files, and show the plan of them.",
        ),
    ] = False,
    ignore: Ignore = None,
    output: Output = ForecastFormat.HUMAN,
) -> Exit:
    """Find the settings that finish a batch job most cheaply, and say what to change.

    Ranked is what it costs until the job is done, with the runs that follow a cancelled one. All
    configurations have the same luck, so that differences are known better than the numbers.
    """
    from mlctl.forecast.advice import advice, search
    from mlctl.forecast.batch.policy import Policy
    from mlctl.forecast.batch.reading import check_deadline
    from mlctl.forecast.fields import ForecastError
    from mlctl.render.forecast import advice as render

    if patch and subject.override:
        raise UsageError("--override reads the files otherwise, --patch writes them: give one.")
    with refusals():
        read = read_subject(
            session, paths or (), subject, work, settings_of(delays, cloud), ignore, grows=True
        )
        if read is None:
            return Exit.ERROR
        limit = duration(deadline) if deadline is not None else None
        check_deadline(limit, read.scenario.settings)
        wishes = search.Wishes(
            limit,
            budget,
            max_cancel,
            search.MONTH_S / jobs_per_month,
        )
        [there] = begun([weather_of(weather)], begin)
        quota = advise_files.quotas(session, read)
        tried: list[search.Candidate] = []
        over: list[search.Candidate] = []
        for one in search.candidates(
            read.scenario, there.processes(), varied(vary or USUAL), Policy(), str(seed)
        ):
            one.wishes, one.over_quota = wishes, quota.shortage(one.study.scenario.cluster)
            (over if tried and one.over_quota else tried).append(one)
            if len(tried) + len(over) > _MOST_CONFIGURATIONS:
                most = f"{_MOST_CONFIGURATIONS} configurations at most"
                raise InvalidValue(f"these are too many: {most}", flag="--vary")
        if len(tried) == 1 and tried[0].over_quota is not None:
            told = f"no configuration fits the quota of {quota.source}: {tried[0].over_quota}"
            raise ForecastError(told, read.label("max_instances"))
        with executor_of(workers) as executor:
            ranked, complete = search.halve(tried, executor, runs)
    data = advice.document(
        read, there, advice.Searched(tried, ranked, over, quota.source), wishes, seed
    )
    write(session, data, output, render.human, _page)
    if patch and complete and data["recommended"] is not None:
        settings = data["rows"][data["recommended"]]["settings"]
        advise_files.patch(session, read, settings, paths or (), output)
    return ended(session, complete=complete)


def _page(data: Mapping[str, Any]) -> str:
    from mlctl.render.forecast import page as forecast_page

    return forecast_page.advice(data)
