"""`mlctl simulate`: how long a batch job takes and what it costs, before anything is paid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl.cli.files.validate import Paths, SomePaths
from mlctl.cli.forecast import args as shared
from mlctl.cli.forecast.subject import read_graph, read_subject, stated_prices
from mlctl.cli.local.flags import BatchFlags, DelayArgs
from mlctl.cli.shell import Exit, Group, InvalidValue, Session, UsageError, flag
from mlctl.cli.shell.rule_choice import Ignore
from mlctl.dataclasses import asdict, dataclass, replace
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import Permanent
from mlctl.workload import Workload

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mlctl.forecast.batch.policy import History, RecoveryPolicy
    from mlctl.forecast.batch.reading import Subject
    from mlctl.forecast.batch.report import Row
    from mlctl.forecast.batch.summary import Summary
    from mlctl.forecast.gather import Gathered
    from mlctl.forecast.shape import Forecast, SwingData


_BATCH = 1000  # runs between two looks at the precision


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyArgs(shared.HistoryArgs):
    """How many histories to simulate, of what kind, and who does it."""

    policy: list[str] | None = flag(metavar="POLICY")
    shards: int | None = flag(min=1, max=10_000, metavar="N")
    precision: float | None = flag(min=0.0001, max=0.5, metavar="P")


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailArgs:
    """What to show besides the rows."""

    sensitivity: bool = flag(default=False)
    events: Path | None = flag(metavar="FILE")
    run: int = flag(default=0, min=0, metavar="N")
    explain_path: bool = flag(default=False)


def simulate(
    session: Session,
    paths: SomePaths = None,
    *,
    subject: shared.SubjectArgs,
    work: BatchFlags,
    delays: DelayArgs,
    cloud: shared.CloudArgs,
    study: StudyArgs,
    limits: shared.LimitArgs,
    workers: shared.WorkerArgs,
    ignore: Ignore = None,
    details: DetailArgs,
    output: shared.Output = "human",
) -> Exit:
    """Forecast a batch job: how long it takes, what it costs, how likely it is to be cancelled."""
    from mlctl.forecast.batch.summary import misses

    with shared.refusals():
        settings = shared.settings_of(delays, cloud)
        read = read_subject(session, paths or (), subject, work, settings, ignore)
        if read is None:
            return Exit.ERROR
        _note_shortage(session, read)
        data, complete = _forecast(session, read, study, limits.deadline_s, details, workers)
    shared.write(session, data, output, "batch")
    if details.explain_path:
        for row in data["rows"]:
            why = f": {row['path_reason']}" if row["path_reason"] else ", which is exact here"
            session.note(clean(f"{row['name']}: by the {_PATHS[row['path']]}{why}"))
    if complete:
        name = data["sentence"]["row"]
        main = next((row for row in data["rows"] if row["name"] == name), data["rows"][-1])
        reasons = [f"{main['name']}: {why}" for why in misses(main, limits.max_cost)]
        if shared.is_refused(session, *reasons):
            return Exit.REFUSED
    return shared.report_end(session, complete=complete)


def _forecast(
    session: Session,
    subject: Subject,
    study: StudyArgs,
    deadline: float | None,
    details: DetailArgs,
    workers: shared.WorkerArgs,
) -> tuple[Forecast, bool]:
    """Return the forecast as data, and whether it completed."""
    from mlctl.forecast.batch import report
    from mlctl.forecast.batch.reading import check_deadline

    weathers_, main = shared.weathers(study.weather, study)
    policies = _policies(study, deadline)
    check_deadline(deadline, subject.scenario.settings)
    tiers, seed = shared.tiers_of(study.tier), str(study.seed)
    rows = list(report.rows(subject.scenario, weathers_, tiers, policies, seed, main))
    if details.events is not None:
        _write_events(session, rows, main, details.run, details.events)
    with shared.executor_of(workers) as executor:
        gathered = _gather(session, rows, study, deadline, executor)
        summaries = [
            (row, row.study.summary(histories, deadline)) for row, histories in gathered.rows
        ]
        tornado = None
        if details.sensitivity and gathered.complete:
            with gathered.stoppable():
                tornado = _tornado(summaries, main, executor)
    forecast = report.document(subject, summaries, main, study.seed, deadline, tornado)
    return forecast, gathered.complete


def _note_shortage(session: Session, read: Subject) -> None:
    """Note if documented quotas are too small for the cluster: the forecast ignores quotas."""
    from mlctl.forecast import quotas

    documented = quotas.documented(read)
    short = documented.shortage(read.scenario.cluster)
    if short is not None:
        session.note(clean(f"note: {short}; by {documented.source}. The forecast ignores quotas."))


_PATHS = {"skip": "shortcut", "engine": "event engine"}


def _gather(
    session: Session,
    rows: Sequence[Row],
    study: StudyArgs,
    deadline: float | None,
    executor: Executor | None,
) -> Gathered[Row, History]:
    """Return the rows with their histories."""
    from mlctl.forecast.batch.study import is_hopeless, runs_of, with_deadline
    from mlctl.forecast.gather import gather, growing

    def following(row: Row, histories: list[History]) -> list[range]:
        if is_hopeless(histories):
            return []
        if study.precision is None:
            return growing(len(histories), runs_of(row.study, histories, study.runs))
        cancelled = row.study.summary(histories).cancelled
        if (
            max(cancelled.high - cancelled.value, cancelled.value - cancelled.low)
            <= study.precision
        ):
            return []
        return growing(
            len(histories), min(len(histories) + max(_BATCH, len(histories) // 4), shared.MOST_RUNS)
        )

    studies = with_deadline([row.study for row in rows], deadline, executor)
    updated = [
        (replace(row, study=study_), study_) for row, study_ in zip(rows, studies, strict=True)
    ]
    with shared.ProgressLine(session) as progress:
        gathered = gather(updated, following, executor, progress.add)
    for row, histories in gathered.rows:
        if is_hopeless(histories):
            count = len(histories)
            session.note(clean(f"{row.name}: never done in {count} histories; no more were tried"))
    return gathered


def _policies(study: StudyArgs, deadline: float | None) -> list[RecoveryPolicy]:
    from mlctl.forecast.batch.policy import WATCHFUL, parse

    try:
        policies = [
            replace(parse(text), shards=study.shards) for text in study.policy or ["resubmit"]
        ]
    except ValueError as error:
        raise InvalidValue(str(error), flag="--policy") from None
    for policy in policies:
        if deadline is None and policy.way in WATCHFUL:
            raise UsageError(f"--policy {policy} needs a --deadline.")
    return policies


def _tornado(
    summaries: Sequence[tuple[Row, Summary]], main: str, executor: Executor | None
) -> list[SwingData] | None:
    """Return what the main row depends on; None if there is no such row."""
    from mlctl.forecast.advice.sensitivity import tornado

    for row, summary in summaries:
        if row.name == main and row.weather is not None:
            return tornado(row.study, row.weather, list(summary.histories), executor)
    return None


def _write_events(session: Session, rows: Sequence[Row], main: str, run: int, file: Path) -> None:
    """Write the events of the first run of a history, as `job stream --events` does.

    Reports where in a trace the history begins: `--offset` repeats that in a simulated cloud.
    """
    from mlctl import files
    from mlctl.forecast.batch import report
    from mlctl.forecast.weather import models as weather
    from mlctl.simulator.control_plane.jobs.job_events import line_since

    row = next((item for item in rows if item.name == main), rows[-1])
    seed = row.study.seed_of(run)
    log = report.events(row.study.scenario, seed)
    for item in weather.placed(row.study.scenario.processes, seed):
        if isinstance(item, weather.Replay):
            session.note(f"history {run} begins the trace at --offset {item.offset}")
    lines = "".join(line_since(0.0, event) + "\n" for event in log)
    try:
        files.write(files.expanded(file), lines.encode())
    except OSError as error:
        raise Permanent("CannotWrite", f"cannot write `{file}`: {error.strerror}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepArgs:
    """The work: its steps, and what checkpoints take."""

    steps: int | None = flag(min=1, metavar="N")
    seconds_per_step: float | None = flag(min=0, metavar="S")
    checkpoint_every: list[int] | None = flag(min=0, metavar="N")
    seconds_per_checkpoint: float | None = flag(min=0, metavar="S")
    seconds_to_restore: float | None = flag(min=0, metavar="S")


def training(
    session: Session,
    paths: Paths,
    *,
    declared: shared.FileArgs,
    work: StepArgs,
    delays: DelayArgs,
    cloud: shared.CloudArgs,
    study: shared.HistoryArgs,
    workers: shared.WorkerArgs,
    ignore: Ignore = None,
    output: shared.Output = "human",
) -> Exit:
    """Forecast a training job: its duration, cost, and the best interval between checkpoints."""
    from mlctl.forecast.batch.reading import Wanted
    from mlctl.forecast.training import report as training_report
    from mlctl.forecast.training.reading import read

    graph = read_graph(session, paths, declared.override, ignore)
    if graph is None:
        return Exit.ERROR
    request = Wanted(
        _workload(work),
        prices=stated_prices(session, declared),
        settings=shared.settings_of(delays, cloud),
    )
    weathers_, main = shared.weathers(study.weather, study)
    with shared.refusals():
        subject = read(graph, request)
        every = list(dict.fromkeys(work.checkpoint_every or [0]))
        rows = training_report.rows(subject.scenario, every, weathers_, shared.tiers_of(study.tier))
        seed, runs = str(study.seed), study.runs or shared.RUNS
        with shared.executor_of(workers) as executor:
            with shared.ProgressLine(session) as progress:
                gathered = training_report.gathered(rows, seed, runs, executor, progress.add)
            data = training_report.document(subject, gathered, seed, runs, main, executor)
    shared.write(session, data, output, "training")
    return shared.report_end(session, complete=gathered.complete)


def _workload(args: StepArgs) -> Workload:
    """The work that flags describe; see `workloads.check` for what it raises."""
    from mlctl.simulator.control_plane.jobs import workloads

    workload = Workload(**{**asdict(args), "checkpoint_every": None})
    workloads.check(workload)
    return workload


COMMANDS = {"simulate": Group("", {"training": training}, simulate)}
