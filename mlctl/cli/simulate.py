"""`mlctl simulate`: how long a batch job takes and what it costs, before anything is paid."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlctl.catalog import prices
from mlctl.cli.durations import duration
from mlctl.cli.exits import Exit
from mlctl.cli.local import workload_flags
from mlctl.cli.local.settings import DelayArgs, pair
from mlctl.cli.local.workload_flags import BatchFlags
from mlctl.cli.parser.arguments import InvalidValue, UsageError
from mlctl.cli.parser.command import command
from mlctl.cli.rule_choice import Ignore, new_report
from mlctl.cli.session import Session
from mlctl.cli.validate import Paths
from mlctl.config.loader import Loader
from mlctl.kinds.address import Address
from mlctl.render.terminal import clean
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.forecast.policy import Policy
    from mlctl.forecast.reading import Subject
    from mlctl.forecast.report import Row
    from mlctl.forecast.study import Study
    from mlctl.forecast.summary import Summary
    from mlctl.forecast.weather import Weather

_WEATHER = "aws-v100-2023"
_ALWAYS = ("calm", "stress")
_MOST_RUNS = 1_000_000
_BATCH = 1000  # runs between two looks at the precision


class ForecastFormat(StrEnum):
    """How a forecast is written."""

    HUMAN = "human"
    JSON = "json"
    CSV = "csv"
    HTML = "html"


class TierChoice(StrEnum):
    """Which rows there are."""

    LOW_PRIORITY = "low_priority"
    DEDICATED = "dedicated"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectArgs:
    """What is forecast: the job, as far as the files do not say."""

    deployment: Annotated[
        str | None,
        typer.Option(
            "--deployment",
            metavar="ADDRESS",
            help="The deployment that takes the job: batch-deployment/ENDPOINT/NAME; the only one"
            " unless given.",
        ),
    ] = None
    mini_batches: Annotated[
        int | None,
        typer.Option("--mini-batches", min=1, metavar="N", help="So many full ones, not --files."),
    ] = None
    input: Annotated[
        str | None,
        typer.Option("--input", metavar="DIR", help="A folder whose files are counted."),
    ] = None
    override: Annotated[
        list[str] | None,
        typer.Option(
            "--override",
            metavar="KIND.FIELD=VALUE",
            help="As if the files said so: compute.max_instances=8 (repeatable).",
        ),
    ] = None
    price: Annotated[
        float | None,
        typer.Option(
            "--price",
            min=0,
            metavar="USD",
            help="Of an hour of a dedicated node; the catalog's unless given.",
        ),
    ] = None
    low_priority_ratio: Annotated[
        float,
        typer.Option(
            "--low-priority-ratio",
            min=0,
            max=1,
            metavar="R",
            help="What a low-priority node costs of a dedicated one.",
        ),
    ] = prices.LOW_PRIORITY_RATIO


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyArgs:
    """How many histories there are, of what kind, and who makes them."""

    weather: Annotated[
        list[str] | None,
        typer.Option(
            "--weather",
            metavar="NAME",
            help="What takes nodes away: calm, stress, aws-v100-2023, band:5-10 or a FILE"
            " (repeatable). calm and stress are always there.",
        ),
    ] = None
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="What follows a cancelled run: resubmit, once, dedicated, fallback:K, deadline or"
            " remaining.",
        ),
    ] = "resubmit"
    deadline: Annotated[
        str | None,
        typer.Option("--deadline", metavar="DURATION", help="When the job has to be done: 4h."),
    ] = None
    tier: Annotated[TierChoice, typer.Option("--tier", help="Which rows to show.")] = (
        TierChoice.BOTH
    )
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=_MOST_RUNS, metavar="N", help="Histories a row.")
    ] = 1000
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            min=0.0001,
            max=0.5,
            metavar="P",
            help="As many histories as P(cancelled) needs to be known to plus or minus this.",
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Where all chance is from.")] = 0
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=256, metavar="N", help="Processes at work.")
    ] = 1


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(simulate)


def simulate(
    session: Session,
    paths: Paths,
    *,
    subject: SubjectArgs,
    work: BatchFlags,
    delays: DelayArgs,
    delay_cv: Annotated[
        float | None,
        typer.Option("--delay-cv", min=0, metavar="X", help="Spread of the times of nodes."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            metavar="NAME=VALUE",
            help="How the cloud behaves; see `mlctl local settings list` (repeatable).",
        ),
    ] = None,
    study: StudyArgs,
    ignore: Ignore = None,
    explain_path: Annotated[
        bool, typer.Option("--explain-path", help="Say which rows took the exact shortcut.")
    ] = False,
    output: Annotated[
        ForecastFormat, typer.Option("--output", "-o", help="How the forecast is written.")
    ] = ForecastFormat.HUMAN,
) -> Exit:
    """Forecast a batch job: how long it takes, what it costs, and how likely it is cancelled.

    From the files that will be applied, on low priority in calm, in some weather and under stress,
    and on dedicated nodes. Nothing is written, and no cloud is asked.
    """
    from mlctl.forecast import report
    from mlctl.forecast.reading import ForecastError
    from mlctl.simulator.engine.commands import EngineError

    try:
        settings = _settings(delays, delay_cv, setting)
        read = _subject(session, paths, subject, work, settings, ignore)
        if read is None:
            return Exit.ERROR
        deadline = duration(study.deadline) if study.deadline is not None else None
        weathers, main = _weathers(study)
        tiers = _tiers(study.tier)
        found = report.rows(
            read.scenario, weathers, tiers, _policy(study, deadline), str(study.seed)
        )
        done, complete = _carried_out(list(found), study, deadline)
    except (ForecastError, EngineError) as error:
        raise Permanent("NoForecast", str(error)) from None
    if not complete:
        least = min((len(summary.histories) for _, summary in done), default=0)
        session.note(f"stopped: what {least} runs and more have shown so far")
    asked = {"seed": study.seed, "deadline_s": deadline}
    data = report.document(read, done, main, asked)
    _print(session, data, output)
    if explain_path:
        for row in data["rows"]:
            why = f": {row['path_reason']}" if row["path_reason"] else ", which is exact here"
            session.note(clean(f"{row['name']}: by the {_PATHS[row['path']]}{why}"))
    return Exit.OK if complete else Exit.ERROR


_PATHS = {"skip": "shortcut", "engine": "event engine"}


def _print(session: Session, data: dict[str, Any], output: ForecastFormat) -> None:
    from mlctl.render import forecast as render

    match output:
        case ForecastFormat.JSON:
            session.out_data(render.as_json(data))
        case ForecastFormat.CSV:
            session.out_data(render.csv(data))
        case ForecastFormat.HTML:
            from mlctl.render import forecast_page

            session.out_data(forecast_page.html(data))
        case ForecastFormat.HUMAN:
            color = session.color(sys.stdout)
            session.out(render.human(data, width=session.width, color=color))


def _carried_out(
    rows: Sequence[Row], study: StudyArgs, deadline: float | None
) -> tuple[list[tuple[Row, Summary]], bool]:
    """The rows with their histories, and whether all of them were carried out.

    Ctrl-C ends the study: what has been learned so far is told.
    """
    from mlctl.forecast.study import with_deadline
    from mlctl.forecast.summary import Summary

    done: list[tuple[Row, Summary]] = []
    with _executor(study.workers) as executor:
        for row in rows:
            own = row.study if deadline is None else with_deadline(row.study, deadline)
            found: list[Any] = []
            done.append((replace(row, study=own), Summary(own.scenario, found, deadline)))
            try:
                for chunk in _chunks(own, study, executor, found):
                    found.extend(chunk)
            except KeyboardInterrupt:
                kept = done if found else done[:-1]
                if not kept:
                    raise
                return kept, False
    return done, True


def _chunks(own: Study, study: StudyArgs, executor: Any, found: list[Any]) -> Iterator[list[Any]]:
    from mlctl.forecast import statistics
    from mlctl.forecast.study import histories
    from mlctl.forecast.summary import Summary

    if study.precision is None:
        yield from histories(own, range(study.runs), executor)
        return
    while len(found) < _MOST_RUNS:
        yield from histories(own, range(len(found), len(found) + _BATCH), executor)
        known: statistics.Estimate = Summary(own.scenario, found).cancelled
        if max(known.high - known.value, known.value - known.low) <= study.precision:
            return


@contextmanager
def _executor(workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """Processes that carry histories out; none for one worker."""
    if workers == 1:
        yield None
        return
    pool = ProcessPoolExecutor(workers)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _subject(
    session: Session,
    paths: Sequence[str],
    args: SubjectArgs,
    work: BatchFlags,
    settings: Any,
    ignore: Ignore,
) -> Subject | None:
    """What files and flags describe; None where the files are not valid, which is said."""
    from mlctl.forecast.reading import Wanted, read

    report = new_report(session, ignore)
    loaded = Loader(report, session.today, edit=_edit(args.override)).load([*paths])
    if report.failed:
        from mlctl.render import diagnostics

        color = session.color(sys.stdout)
        session.out(diagnostics.report(report, color=color, width=session.width))
        return None
    workload = workload_flags.workload_of(work)
    counts = [workload.files is not None, args.mini_batches is not None, args.input is not None]
    if sum(counts) > 1:
        raise UsageError("--files, --mini-batches and --input say the same: give one of them.")
    if args.input is not None:
        workload = replace(workload, files=_counted(args.input))
    _check_work(workload)
    try:
        deployment = Address.parse(args.deployment) if args.deployment else None
    except ValueError as error:
        raise InvalidValue(str(error), flag="--deployment") from None
    ratio = args.low_priority_ratio
    wanted = Wanted(workload, args.mini_batches, deployment, args.price, ratio, settings)
    return read(loaded.graph, wanted)


def _check_work(workload: Any) -> None:
    from mlctl.simulator.control_plane.jobs import workloads

    workloads.check(workload)


def _counted(folder: str) -> int:
    from mlctl.cli.az import invocation

    count = invocation.files({"inputs": {"input": {"path": folder}}})
    if count is None:
        raise InvalidValue(f"the files of `{folder}` cannot be counted from here", flag="--input")
    return count


def _edit(overrides: Sequence[str] | None) -> Any:
    """The edit of documents that `--override` asks for; None without any."""
    if not overrides:
        return None
    from mlctl import source
    from mlctl.cli.az.overlay import FlagValue, overlay
    from mlctl.kinds import KINDS

    wanted: dict[str, list[FlagValue]] = {}
    for text in overrides:
        path, equals, value = text.partition("=")
        kind, *at = path.split(".")
        if kind not in KINDS or not at or not equals:
            raise InvalidValue(
                f"`{text}`: write KIND.FIELD=VALUE, as compute.max_instances=8", flag="--override"
            )
        found = FlagValue(tuple(at), source.plain(value), "--override", text)
        wanted.setdefault(kind, []).append(found)

    def edit(document: Any, kind: Any) -> Any:
        values = wanted.get(kind.name)
        return overlay(values, document) if values else document

    return edit


def _settings(delays: DelayArgs, cv: float | None, pairs: Sequence[str] | None) -> Any:
    from mlctl.simulator.control_plane.disruptions import with_changes
    from mlctl.simulator.engine.model import SimulationSettings

    texts: dict[str, str | None] = asdict(delays)
    changes: dict[str, object] = {
        f"{name}_s": duration(text) for name, text in texts.items() if text is not None
    }
    if cv is not None:
        changes["delay_cv"] = cv
    return with_changes(SimulationSettings(), {**changes, **dict(map(pair, pairs or ()))})


def _policy(study: StudyArgs, deadline: float | None) -> Policy:
    from mlctl.forecast.policy import Way, parse

    try:
        found = parse(study.policy)
    except ValueError as error:
        raise InvalidValue(str(error), flag="--policy") from None
    if found.way is Way.DEADLINE and deadline is None:
        raise UsageError("--policy deadline needs a --deadline.")
    return found


def _weathers(study: StudyArgs) -> tuple[list[Weather], str]:
    """The weather of each row, and the name of the one that the forecast is about."""
    from mlctl.forecast import weather as known

    found = [_weather(text) for text in study.weather or [_WEATHER]]
    main = found[0].name
    names = {one.name for one in found}
    calm, stress = (known.by_name(name) for name in _ALWAYS)
    assert calm is not None
    assert stress is not None
    before = [] if calm.name in names else [calm]
    after = [] if stress.name in names else [stress]
    return [*before, *found, *after], main


def _weather(text: str) -> Weather:
    from mlctl.cli.local.flag_text import read_text
    from mlctl.forecast import weather as known

    try:
        named = known.by_name(text)
        return named if named is not None else known.parse(read_text(Path(text)), Path(text).stem)
    except known.WeatherError as error:
        raise InvalidValue(str(error), flag="--weather") from None


def _tiers(choice: TierChoice) -> list[Any]:
    from mlctl.simulator.engine.model import Tier

    return [*Tier] if choice is TierChoice.BOTH else [Tier(choice.value)]
