"""`mlctl advise`: which settings finish a batch job most cheaply, and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlctl.cli.change.planning import load_and_plan, show_plan
from mlctl.cli.files.validate import SomePaths
from mlctl.cli.forecast import args as shared
from mlctl.cli.forecast.subject import read_subject, stated_prices
from mlctl.cli.local.flags import BatchFlags, DelayArgs, weather_of
from mlctl.cli.shell import Exit, InvalidValue, Session, UsageError, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.cli.shell.scope import ScopeError
from mlctl.dataclasses import dataclass
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import Permanent, ServiceError

if TYPE_CHECKING:
    from mlctl.forecast.advice.search import Candidate
    from mlctl.forecast.batch.reading import Subject
    from mlctl.forecast.fields import StatedPrices
    from mlctl.forecast.quotas import Quotas
    from mlctl.pointer import Data

_MOST_CONFIGURATIONS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArgs(shared.BeginArgs):
    """What is tried, and in what weather."""

    weather: str = flag(default=shared.WEATHER, metavar="NAME")
    vary: list[str] | None = flag(metavar="FIELD=VALUES")
    regions: str | None = flag(metavar="NAMES")
    sizes: str | None = flag(metavar="NAMES")
    runs: int = flag(default=1000, min=10, max=100_000, metavar="N")
    seed: int = flag(default=0, metavar="N")


@dataclass(frozen=True, slots=True, kw_only=True)
class WishArgs:
    """What a recommended configuration must satisfy."""

    deadline: str | None = flag(metavar="DURATION")
    max_cost: float | None = flag(min=0, metavar="USD")
    max_cancel: float | None = flag(min=0, max=1, metavar="P")
    jobs_per_month: float = flag(default=30, min=0.01, metavar="N")


def advise(
    session: Session,
    paths: SomePaths = None,
    *,
    subject: shared.SubjectArgs,
    work: BatchFlags,
    delays: DelayArgs,
    cloud: shared.CloudArgs,
    workers: shared.WorkerArgs,
    search: SearchArgs,
    wishes: WishArgs,
    patch: bool = flag(default=False),
    ignore: Ignore = None,
    output: shared.Output = "human",
) -> Exit:
    """Find the cheapest settings for a batch job, and show what to change."""
    if patch and subject.override:
        raise UsageError("--override reads the files otherwise, --patch writes them: give one.")
    with shared.refusals():
        settings = shared.settings_of(delays, cloud)
        read = read_subject(session, paths or (), subject, work, settings, ignore, grows=True)
        if read is None:
            return Exit.ERROR
        stated = stated_prices(session, subject)
        data, complete = _advice(session, read, search, wishes, workers, stated)
    shared.write(session, data, output, "advice")
    if patch and complete and data["recommended"] is not None:
        values = data["rows"][data["recommended"]]["settings"]
        write_settings(session, read, values, paths or (), output)
    return shared.report_end(session, complete=complete)


def _advice(
    session: Session,
    subject: Subject,
    args: SearchArgs,
    wishes: WishArgs,
    workers: shared.WorkerArgs,
    stated: StatedPrices,
) -> tuple[dict[str, Any], bool]:
    """Return the advice as data, and whether the search completed."""
    from mlctl.forecast.advice import advice, search
    from mlctl.forecast.advice.search import MONTH_S, Wishes
    from mlctl.forecast.advice.search import places as known_places
    from mlctl.forecast.batch.policy import RecoveryPolicy
    from mlctl.forecast.batch.reading import check_deadline

    deadline = duration(wishes.deadline) if wishes.deadline is not None else None
    check_deadline(deadline, subject.scenario.settings)
    wished = Wishes(deadline, wishes.max_cost, wishes.max_cancel, MONTH_S / wishes.jobs_per_month)
    [weather] = shared.with_beginning([weather_of(args.weather)], args)
    quota = quotas(session, subject)
    vary, seed = parse_vary(args.vary or USUAL), str(args.seed)
    if wished.deadline_s is None and "deadline" in vary.get("policy", ()):
        raise UsageError("--vary policy=deadline needs a --deadline.")
    regions, sizes = (text.split(",") if text else [] for text in (args.regions, args.sizes))
    if (regions or sizes) and (stated.price is not None or stated.ratio is not None):
        raise UsageError("--price and --low-priority-ratio apply to one size in one region.")
    places, without_price = known_places(subject, stated, regions, sizes)
    candidates = search.candidates(
        places, weather.processes(), vary, RecoveryPolicy(), seed, wished
    )
    tried, over = _within_quota(candidates, subject, quota)
    with shared.executor_of(workers) as executor, shared.ProgressLine(session) as progress:
        ranked, complete = search.halve(tried, executor, args.runs, progress.add)
    searched = advice.Searched(tried, ranked, over, quota.source, without_price)
    return advice.document(subject, weather, searched, wished, args.seed), complete


def _within_quota(
    candidates: Iterable[Candidate], subject: Subject, quota: Quotas
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the configurations to try, the current one first, and those over the quota."""
    from mlctl.forecast.fields import ForecastError

    tried: list[Candidate] = []
    over: list[Candidate] = []
    for candidate in candidates:
        candidate.over_quota = quota.shortage(candidate.study.scenario.cluster, candidate.settings)
        (over if tried and candidate.over_quota else tried).append(candidate)
        if len(tried) + len(over) > _MOST_CONFIGURATIONS:
            limit = f"{_MOST_CONFIGURATIONS} configurations at most"
            raise InvalidValue(f"these are too many: {limit}", flag="--vary")
    if len(tried) == 1 and tried[0].over_quota is not None:
        message = f"no configuration fits the quota of {quota.source}: {tried[0].over_quota}"
        raise ForecastError(message, subject.label("max_instances"))
    return tried, over


def quotas(session: Session, subject: Subject) -> Quotas:
    """Return the workspace's quotas, or the documented ones with a note."""
    from mlctl.forecast import quotas as known

    why = "it returns none"
    try:
        with session.backend() as backend:
            live = known.live(subject, backend)
        if live is not None:
            return live
    except (ServiceError, ScopeError) as error:
        why = str(error)
    session.note(clean(f"the quotas of the workspace are not known: {why}"))
    return known.documented(subject)


def write_settings(
    session: Session,
    subject: Subject,
    settings: Mapping[str, Data],
    paths: Sequence[str],
    output: shared.ForecastFormat,
) -> None:
    """Write settings into the files that set them, and show the resulting plan."""
    from mlctl import files
    from mlctl.forecast.advice.advice import patch_files

    changed, unwritten = patch_files(subject, settings)
    places = files.places([*(paths or ["."]), *session.settings.project.overlay_folders])
    for rewrite in changed:
        file = rewrite.path
        try:
            rewrite.write(places)
        except OSError as error:
            raise Permanent("CannotWrite", f"cannot write `{file}`: {error.strerror}") from None
        session.note(f"wrote {file}")
    for name, why in unwritten.items():
        session.note(f"{name} is unchanged: {why}; change it where it is set")
    if changed:
        _show_plan(session, paths, output)


def _show_plan(session: Session, paths: Sequence[str], output: shared.ForecastFormat) -> None:
    """Show the plan of the changed files: on stdout after advice for people, else on stderr."""
    try:
        with session.backend() as backend:
            planned = load_and_plan(session, backend, paths, new_report(session, None))
    except (ServiceError, ScopeError) as error:
        why = "the workspace cannot be read"
        session.note(clean(f"the change cannot be planned, because {why}: {error}"))
        return
    if planned is None:
        return
    if output == "human":
        session.out("")
        show_plan(session, planned)
    else:
        session.show_plan(planned.plan)


USUAL = ("max_instances=1..32", "tier=low_priority,dedicated")
_MOST_VALUES = 64  # of a field
_NAMES = {"max_concurrency_per_instance": "concurrency"}  # as the files call it


def parse_vary(texts: Sequence[str]) -> dict[str, list[Data]]:
    """Return the values that `--vary` tries, by field."""
    from mlctl.forecast.advice.search import FIELDS

    values_by_field: dict[str, list[Data]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = _NAMES.get(name, name)
        if name not in FIELDS:
            raise InvalidValue(f"`{name}` is not one of {', '.join(FIELDS)}", flag="--vary")
        values_by_field[name] = _values(text, name, values)
    return values_by_field


def _values(text: str, name: str, values: str) -> list[Data]:
    from mlctl.forecast.batch.policy import parse
    from mlctl.simulator.engine.model import Tier

    if name == "tier":
        tiers = [tier.value for tier in Tier]
        chosen = values.split(",") if values else tiers
        if not set(chosen) <= set(tiers):
            raise InvalidValue(f"`{text}`: a tier is one of {', '.join(tiers)}", flag="--vary")
        return list(chosen)
    if name == "policy":
        chosen = values.split(",") if values else ["resubmit", "fallback:2", "dedicated"]
        try:
            return [str(parse(text_)) for text_ in chosen]
        except ValueError as error:
            raise InvalidValue(str(error), flag="--vary") from None
    least = 0 if name == "min_instances" else 1
    try:
        low, dots, high = values.partition("..")
        numbers = (
            _double(int(low), int(high)) if dots else [int(text_) for text_ in values.split(",")]
        )
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < least or len(numbers) > _MOST_VALUES:
        shape = f"write {name}=1..32 or {name}=1,2,4, whole numbers from {least} on"
        raise InvalidValue(f"`{text}`: {shape}", flag="--vary")
    return list(numbers)


def _double(low: int, high: int) -> list[int]:
    """Return `low` to `high`, both included, doubling each time; 0 is followed by 1."""
    numbers: list[int] = []
    if low < 0 or high < low:
        return numbers
    if low == 0 and high:
        numbers, low = [0], 1
    while low < high:
        numbers.append(low)
        low *= 2
    return [*numbers, high]


COMMANDS = {"advise": advise}
