"""Flags that `mlctl simulate` and `mlctl advise` share: job, weather, workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlctl.cli.local.flags import AVAILABLE, MOMENTS, DelayArgs, pair, start_of
from mlctl.cli.shell import InvalidValue, UsageError, flag
from mlctl.cli.shell.command import duration
from mlctl.dataclasses import asdict, dataclass, replace
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mlctl.forecast.weather.models import Weather
    from mlctl.simulator.engine.model import SimulationSettings

WEATHER = DEFAULT_WEATHER
_ALWAYS = ("calm", "stress")
RUNS, MOST_RUNS = 1000, 1_000_000


class TierChoice(StrEnum):
    """Which rows to show."""

    LOW_PRIORITY = "low_priority"
    DEDICATED = "dedicated"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudArgs:
    """How the simulated cloud behaves, besides its delays."""

    delay_cv: float | None = flag("Coefficient of variation of node times.", min=0, metavar="X")
    setting: list[str] | None = flag(
        "A setting of the simulated cloud; see `mlctl local settings list` (repeatable).",
        metavar="NAME=VALUE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileArgs:
    """What replaces or completes the files: values, and prices."""

    override: list[str] | None = flag(
        "Override a value of the files: compute.max_instances=8 (repeatable).",
        metavar="KIND.FIELD=VALUE",
    )
    price: float | None = flag(
        "Hourly price of a dedicated node; from the price list by default.", min=0, metavar="USD"
    )
    low_priority_ratio: float | None = flag(
        "Low-priority price as a fraction of the dedicated price; the Spot price by default.",
        min=0,
        max=1,
        metavar="R",
    )
    spot_price: str | None = flag(
        "Hourly price of a low-priority node: now (queries Azure), a price list (FILE), or a "
        "range in USD (0.03..0.12) for a range of costs.",
        metavar="RATE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitArgs:
    """What a job must keep; one that does not is refused."""

    deadline: str | None = flag(
        "The deadline, such as 4h; at most 1 run in 20 may miss it.", metavar="DURATION"
    )
    max_cost: float | None = flag(
        "The most that the job may cost on average until it is done.", min=0, metavar="USD"
    )

    @property
    def deadline_s(self) -> float | None:
        """Return the deadline in seconds."""
        return None if self.deadline is None else duration(self.deadline)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginArgs:
    """Where in its weather a history begins."""

    start: list[str] | None = flag(
        "Where each simulated run starts in its weather: at any moment (the default), when "
        "nodes are available (available), or at a time of day, HH:MM, for weather that "
        "follows the hours (midnight by default; repeatable).",
        metavar="WHEN",
        suggest=MOMENTS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryArgs(BeginArgs):
    """How many histories to simulate, and in what weather."""

    weather: list[str] | None = flag(
        "The preemption pattern: calm, stress, aws-v100-2023, band:5-10, or a FILE written by "
        "`mlctl local preemption fit` or with a trace of node counts (repeatable). calm and "
        "stress are always included.",
        metavar="NAME",
    )
    tier: TierChoice = flag("Which rows to show.", default=TierChoice.BOTH)
    runs: int | None = flag(
        "Simulated runs per row; 1000 by default. For batch jobs, more if few of them "
        "dominate the mean, and fewer if each takes long.",
        min=1,
        max=MOST_RUNS,
        metavar="N",
    )
    seed: int = flag("The random seed.", default=0, metavar="N")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectArgs(FileArgs):
    """The job to forecast, unless the files describe it."""

    deployment: str | None = flag(
        "The deployment that runs the job, in the files or the workspace: ENDPOINT/NAME, or "
        "ENDPOINT for its default; may be omitted if there is only one.",
        metavar="ADDRESS",
    )
    mini_batches: int | None = flag(
        "Number of full mini-batches, instead of --files.", min=1, metavar="N"
    )
    input: str | None = flag("A folder to count files in.", metavar="DIR")


def settings_of(delays: DelayArgs, cloud: CloudArgs) -> SimulationSettings:
    """Return the settings of the simulated cloud from flags."""
    from mlctl.simulator.engine.model import SimulationSettings

    texts: dict[str, str | None] = asdict(delays)
    changes: dict[str, object] = {
        f"{name}_s": duration(text) for name, text in texts.items() if text is not None
    }
    if cloud.delay_cv is not None:
        changes["delay_cv"] = cloud.delay_cv
    changes |= dict(map(pair, cloud.setting or ()))
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


def weather_of(text: str) -> Weather:
    """The weather of a name or a file."""
    from mlctl.cli.local.flags import read_text
    from mlctl.forecast.weather import models as known

    try:
        weather = known.by_name(text)
        return (
            weather if weather is not None else known.parse(read_text(Path(text)), Path(text).stem)
        )
    except known.WeatherError as error:
        raise InvalidValue(str(error), flag="--weather") from None


def tiers_of(choice: TierChoice) -> list[Any]:
    """Return the tiers that have rows."""
    from mlctl.simulator.engine.model import Tier

    return [*Tier] if choice is TierChoice.BOTH else [Tier(choice.value)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerArgs:
    """Who does the work; the results are the same."""

    workers: int = flag("Number of processes.", default=1, min=1, max=256, metavar="N")
    scheduler: str | None = flag(
        "Use the workers of a Dask cluster instead: tcp://HOST:PORT.", metavar="ADDRESS"
    )


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
