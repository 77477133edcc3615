"""Flags that `mlctl simulate` and `mlctl advise` share, and how both write their results."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from mlctl.cli.local.flags import AVAILABLE, MOMENTS, DelayArgs, pair, start_of, weather_of
from mlctl.cli.shell import Exit, Session, UsageError, flag
from mlctl.cli.shell.command import duration
from mlctl.dataclasses import dataclass, replace
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mlctl.forecast.weather.models import Weather
    from mlctl.simulator.engine.model import SimulationSettings


WEATHER = DEFAULT_WEATHER
_ALWAYS = ("calm", "stress")
RUNS, MOST_RUNS = 1000, 1_000_000


TierChoice: TypeAlias = Literal["low_priority", "dedicated", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudArgs:
    """How the simulated cloud behaves, besides its delays."""

    delay_cv: float | None = flag(min=0, metavar="X")
    setting: list[str] | None = flag(metavar="NAME=VALUE")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileArgs:
    """What replaces or completes the files: values, and prices."""

    override: list[str] | None = flag(metavar="KIND.FIELD=VALUE")
    price: float | None = flag(min=0, metavar="USD")
    low_priority_ratio: float | None = flag(min=0, max=1, metavar="R")
    spot_price: str | None = flag(metavar="RATE")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitArgs:
    """What a job must keep; one that does not is refused."""

    deadline: str | None = flag(metavar="DURATION")
    max_cost: float | None = flag(min=0, metavar="USD")

    @property
    def deadline_s(self) -> float | None:
        """Return the deadline in seconds."""
        return None if self.deadline is None else duration(self.deadline)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginArgs:
    """Where in its weather a history begins."""

    start: list[str] | None = flag(metavar="WHEN", suggest=MOMENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryArgs(BeginArgs):
    """How many histories to simulate, and in what weather."""

    weather: list[str] | None = flag(metavar="NAME")
    tier: TierChoice = flag(default="both")
    runs: int | None = flag(min=1, max=MOST_RUNS, metavar="N")
    seed: int = flag(default=0, metavar="N")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectArgs(FileArgs):
    """The job to forecast, unless the files describe it."""

    deployment: str | None = flag(metavar="ADDRESS")
    mini_batches: int | None = flag(min=1, metavar="N")
    input: str | None = flag(metavar="DIR")


def settings_of(delays: DelayArgs, cloud: CloudArgs) -> SimulationSettings:
    """Return the settings of the simulated cloud from flags."""
    from mlctl.simulator.engine.model import SimulationSettings

    changes = delays.changes(cloud.delay_cv) | dict(map(pair, cloud.setting or ()))
    if not changes:
        return SimulationSettings()
    from mlctl.simulator.control_plane.disruptions import with_changes

    return with_changes(SimulationSettings(), changes)


def weathers(texts: Sequence[str] | None, begin: BeginArgs) -> tuple[list[Weather], str]:
    """Return the weather of each row, and the name of the one that the forecast is about."""
    from mlctl.forecast.weather import models as known

    chosen = [weather_of(text) for text in texts or [WEATHER]]
    main = chosen[0].name
    names = {weather.name for weather in chosen}
    calm, stress = (known.by_name(name) for name in _ALWAYS)
    assert calm is not None
    assert stress is not None
    first = [] if calm.name in names else [calm]
    last = [] if stress.name in names else [stress]
    return with_beginning([*first, *chosen, *last], begin), main


def with_beginning(weathers_: Sequence[Weather], begin: BeginArgs) -> list[Weather]:
    """Set where the weather begins, by the flags."""
    start_s, start = start_of(begin.start or ())
    if start_s is not None and not any(weather.by_hour for weather in weathers_):
        raise UsageError("--start HH:MM is for weather that follows the hours: give some.")
    return [
        replace(weather, start_s=start_s or 0.0, available=start == AVAILABLE)
        for weather in weathers_
    ]


def tiers_of(choice: TierChoice) -> list[Any]:
    """Return the tiers that have rows."""
    from mlctl.simulator.engine.model import Tier

    return [*Tier] if choice == "both" else [Tier(choice)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerArgs:
    """Who does the work; the results are the same."""

    workers: int = flag(default=1, min=1, max=256, metavar="N")
    scheduler: str | None = flag(metavar="ADDRESS")


@contextmanager
def executor_of(args: WorkerArgs) -> Iterator[Executor | None]:
    """Yield the executor of histories; None means this process."""
    if args.scheduler is not None and args.workers > 1:
        raise UsageError("--workers and --scheduler exclude each other.")
    if args.scheduler is None and args.workers == 1:
        yield None
        return
    from mlctl.forecast import executors

    executors_ = (
        executors.processes(args.workers)
        if args.scheduler is None
        else executors.cluster(args.scheduler)
    )
    try:
        with executors_ as executor:
            yield executor
    except executors.WorkersError as error:
        raise Permanent("NoWorkers", str(error)) from None


ForecastFormat: TypeAlias = Literal["human", "json", "csv", "html"]
Output = Annotated[ForecastFormat, flag("--output", "-o")]


class ProgressLine:
    """A line on a terminal, after a second: how many histories are done."""

    def __init__(self, session: Session) -> None:
        self.shown_at = monotonic() + _QUIET_S if sys.stderr.isatty() and not session.quiet else inf
        self.count = 0
        self.is_shown = False

    def __enter__(self) -> Self:
        return self

    def add(self, count: int) -> None:
        """Count so many more."""
        self.count += count
        if monotonic() >= self.shown_at:
            self.is_shown, self.shown_at = True, monotonic() + _PAUSE_S
            self._write(f"{self.count} histories simulated; Ctrl-C ends with their results")

    def __exit__(self, *_: object) -> None:
        if self.is_shown:
            self._write("")

    def _write(self, words: str) -> None:
        sys.stderr.write(f"\r\x1b[K{words}")
        sys.stderr.flush()


_QUIET_S, _PAUSE_S = 1.0, 0.2


@contextmanager
def refusals() -> Iterator[None]:
    """Convert impossible forecasts to errors of a command."""
    from mlctl.forecast.fields import ForecastError
    from mlctl.simulator.engine.commands import EngineError

    try:
        yield
    except (ForecastError, EngineError) as error:
        raise Permanent("NoForecast", str(error)) from None


def write(
    session: Session,
    data: Mapping[str, Any],
    output: ForecastFormat,
    view: Literal["batch", "training", "advice"],
) -> None:
    """Write a forecast to stdout, by the view of that name; as CSV only its rows."""
    from mlctl.render.forecast import batch as render

    match output:
        case "json":
            session.out_data(render.as_json(data))
        case "csv":
            session.out_data(render.csv(data))
        case "html":
            from mlctl.render.forecast import page

            session.out_data(getattr(page, view)(data))
        case "human":
            human = import_module(f"mlctl.render.forecast.{view}").human
            session.out(human(data, width=session.width, color=session.color(sys.stdout)))


def is_refused(session: Session, *reasons: str) -> bool:
    """Report why a forecast is refused; whether there is a reason."""
    for why in reasons:
        session.say(clean(f"refused: {why}"))
    return bool(reasons)


def report_end(session: Session, *, complete: bool) -> Exit:
    """Return the exit code; report it if Ctrl-C ended the forecast."""
    if complete:
        return Exit.OK
    session.say("stopped: the numbers are those of the histories simulated until then")
    return Exit.ERROR
