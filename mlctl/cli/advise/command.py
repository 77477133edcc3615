"""`mlctl advise`: which settings finish a batch job most cheaply, and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

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
from mlctl.cli.shell import Exit, InvalidValue, OptionSpec, Session, UsageError
from mlctl.cli.shell.durations import duration
from mlctl.cli.shell.rule_choice import Ignore
from mlctl.dataclasses import dataclass

if TYPE_CHECKING:
    from mlctl.forecast.advice.search import Candidate, Wishes
    from mlctl.forecast.batch.reading import Subject
    from mlctl.forecast.quotas import Quotas

_MOST_CONFIGURATIONS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArgs(BeginArgs):
    """What is tried, and in what weather."""

    weather: Annotated[
        str,
        OptionSpec(
            "--weather",
            metavar="NAME",
            help="What takes nodes away: stress, band:5-10, or a FILE of weather or a trace.",
        ),
    ] = WEATHER
    vary: Annotated[
        list[str] | None,
        OptionSpec(
            "--vary",
            metavar="FIELD=VALUES",
            help="What to try: max_instances=1..32 (doubling), mini_batch_size=10,20,50, tier,"
            " policy, concurrency, instance_count, min_instances, timeout (repeatable).",
        ),
    ] = None
    runs: Annotated[
        int,
        OptionSpec("--runs", min=10, max=100_000, metavar="N", help="Histories of the best ones."),
    ] = 1000
    seed: Annotated[int, OptionSpec("--seed", metavar="N", help="Where all chance is from.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WishArgs:
    """What a recommended configuration has to keep."""

    deadline: Annotated[
        str | None,
        OptionSpec("--deadline", metavar="DURATION", help="Late in one case of 20 at most."),
    ] = None
    budget: Annotated[
        float | None,
        OptionSpec("--budget", min=0, metavar="USD", help="What it may cost until it is done."),
    ] = None
    max_cancel: Annotated[
        float | None,
        OptionSpec(
            "--max-cancel", min=0, max=1, metavar="P", help="How likely the first run may fail so."
        ),
    ] = None
    jobs_per_month: Annotated[
        float,
        OptionSpec(
            "--jobs-per-month",
            min=0.01,
            metavar="N",
            help="How often such a job runs: the nodes of min_instances are paid in between.",
        ),
    ] = 30


def advise(
    session: Session,
    paths: SomePaths = None,
    *,
    subject: SubjectArgs,
    work: BatchFlags,
    delays: DelayArgs,
    cloud: CloudArgs,
    workers: WorkerArgs,
    search: SearchArgs,
    wishes: WishArgs,
    patch: Annotated[
        bool,
        OptionSpec(
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
    from mlctl.render.forecast import advice as render

    if patch and subject.override:
        raise UsageError("--override reads the files otherwise, --patch writes them: give one.")
    with refusals():
        settings = settings_of(delays, cloud)
        read = read_subject(session, paths or (), subject, work, settings, ignore, grows=True)
        if read is None:
            return Exit.ERROR
        data, complete = _advice(session, read, search, wishes, workers)
    write(session, data, output, render.human, _page)
    if patch and complete and data["recommended"] is not None:
        values = data["rows"][data["recommended"]]["settings"]
        advise_files.patch(session, read, values, paths or (), output)
    return ended(session, complete=complete)


def _advice(
    session: Session, subject: Subject, args: SearchArgs, wishes: WishArgs, workers: WorkerArgs
) -> tuple[dict[str, Any], bool]:
    """The advice as data, and whether the search went to its end."""
    from mlctl.forecast.advice import advice, search
    from mlctl.forecast.batch.policy import RecoveryPolicy

    wished = _wishes(wishes, subject)
    [weather] = begun([weather_of(args.weather)], args)
    quota = advise_files.quotas(session, subject)
    vary, seed = varied(args.vary or USUAL), str(args.seed)
    candidates = search.candidates(
        subject.scenario, weather.processes(), vary, RecoveryPolicy(), seed, wished
    )
    tried, over = _within_quota(candidates, subject, quota)
    with executor_of(workers) as executor:
        ranked, complete = search.halve(tried, executor, args.runs)
    searched = advice.Searched(tried, ranked, over, quota.source)
    return advice.document(subject, weather, searched, wished, args.seed), complete


def _wishes(args: WishArgs, subject: Subject) -> Wishes:
    from mlctl.forecast.advice.search import MONTH_S, Wishes
    from mlctl.forecast.batch.reading import check_deadline

    deadline = duration(args.deadline) if args.deadline is not None else None
    check_deadline(deadline, subject.scenario.settings)
    return Wishes(deadline, args.budget, args.max_cancel, MONTH_S / args.jobs_per_month)


def _within_quota(
    candidates: Iterable[Candidate], subject: Subject, quota: Quotas
) -> tuple[list[Candidate], list[Candidate]]:
    """The configurations to try, of which what there is is the first, and those over the quota."""
    from mlctl.forecast.fields import ForecastError

    tried: list[Candidate] = []
    over: list[Candidate] = []
    for candidate in candidates:
        candidate.over_quota = quota.shortage(candidate.study.scenario.cluster)
        (over if tried and candidate.over_quota else tried).append(candidate)
        if len(tried) + len(over) > _MOST_CONFIGURATIONS:
            limit = f"{_MOST_CONFIGURATIONS} configurations at most"
            raise InvalidValue(f"these are too many: {limit}", flag="--vary")
    if len(tried) == 1 and tried[0].over_quota is not None:
        message = f"no configuration fits the quota of {quota.source}: {tried[0].over_quota}"
        raise ForecastError(message, subject.label("max_instances"))
    return tried, over


def _page(data: Mapping[str, Any]) -> str:
    from mlctl.render.forecast import page as forecast_page

    return forecast_page.advice(data)


COMMANDS = {"advise": advise}
