"""Flags of the simulated cloud: delays, texts of files, times of day, and the work of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from mlctl import files
from mlctl.cli.parser.tree import SIMULATED
from mlctl.cli.shell import InvalidValue, UsageError, flag
from mlctl.cli.shell.command import duration
from mlctl.dataclasses import asdict, dataclass
from mlctl.service_errors import Permanent
from mlctl.workload import DEFAULT_NAME, Workload

if TYPE_CHECKING:
    from mlctl.backends.ports.jobs import Jobs
    from mlctl.forecast.weather.models import Weather


_T = TypeVar("_T")
_HOURS, _MINUTES = 24, 60
AVAILABLE = "available"
MOMENTS = ("any", AVAILABLE)  # where in its weather a history begins
_MAX_BYTES = 64 << 20  # a year of a trace by the minute is 20 MB


def read_text(file: Path) -> str:
    """The text of a file that a flag names."""
    try:
        return files.read(files.expanded(file), _MAX_BYTES, pipes=True).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Permanent("CannotRead", f"cannot read `{file}`: {why}") from None


def parse_file(file: str | Path, parse: Callable[[str], _T], *, code: str = "InvalidFile") -> _T:
    """What `parse` makes of a file that a flag names."""
    from mlctl.simulator.engine.commands import EngineError

    text = read_text(Path(file))
    try:
        return parse(text)
    except EngineError as error:
        raise Permanent(code, f"`{file}`: {error}") from None


def weathers() -> list[str]:
    """Return the names of the weathers that mlctl knows."""
    from mlctl.forecast.weather import models

    return [*models.names(), *(models.BAND + band for band in models.BANDS)]


def weather_of(text: str) -> Weather:
    """The weather that `--weather` names: a known one, or that of a file."""
    from mlctl.forecast.weather import models

    place = ""
    try:
        weather = models.by_name(text)
        if weather is not None:
            return weather
        if not files.expanded(Path(text)).exists():
            names = ", ".join(weathers())
            raise InvalidValue(f"`{text}` is neither a file nor one of {names}", flag="--weather")
        place = f"`{text}`: "
        return models.parse(read_text(Path(text)), Path(text).stem)
    except models.WeatherError as error:
        raise InvalidValue(f"{place}{error}", flag="--weather") from None


def parse_numbers(text: str, flag: str, count: int) -> list[float]:
    """The numbers of `0.05,0.6`, which must be `count` many."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        shape = "a number" if count == 1 else f"{count} numbers with a comma between them"
        raise UsageError(f"argument {flag}: `{text}` is not {shape}.")
    return numbers


def start_of(texts: Sequence[str]) -> tuple[float | None, str | None]:
    """Where weather begins: the time of day in seconds, and the moment; None: not said."""
    seconds, moment = None, None
    for text in texts:
        hours, colon, minutes = text.partition(":")
        if text in MOMENTS and moment is None:
            moment = text
        elif text in MOMENTS or (seconds is not None and colon):
            raise UsageError("--start takes one time of day and one moment.")
        elif _is_part(hours, _HOURS) and len(minutes) == len("30") and _is_part(minutes, _MINUTES):
            seconds = float(int(hours) * 3600 + int(minutes) * 60)
        else:
            shape = f"write {' or '.join(MOMENTS)}, or a time of day, HH:MM"
            raise InvalidValue(f"`{text}` is not a moment: {shape}", flag="--start")
    return seconds, moment


def _is_part(text: str, limit: int) -> bool:
    return text.isdecimal() and int(text) < limit


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayArgs:
    """How long nodes take."""

    allocation: str | None = flag(metavar="S")
    preparation: str | None = flag(metavar="S")
    replacement: str | None = flag(metavar="S")
    leave: str | None = flag(metavar="S")

    def changes(self, cv: float | None) -> dict[str, object]:
        """Return the settings of the simulated cloud that flags give, `cv` among them."""
        texts: dict[str, str | None] = asdict(self)
        seconds = {f"{name}_s": duration(text) for name, text in texts.items() if text is not None}
        return {**seconds, **({} if cv is None else {"delay_cv": cv})}


def pair(text: str) -> tuple[str, str]:
    """The name and the value of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"`{text}`: write NAME=VALUE, as cancel_grace_s=60.")
    return name, value


_flag = partial(flag, panel=SIMULATED)


WorkloadName = Annotated[str, flag("--workload", metavar="NAME", panel=SIMULATED)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFlags:
    """The work of a batch job: its mini-batches."""

    files: int | None = _flag(metavar="N")
    seconds_per_file: float | None = _flag(metavar="S")
    seconds_per_mini_batch: float | None = _flag(metavar="S")
    seconds_per_start: float | None = _flag(metavar="S")
    cv: float | None = _flag(metavar="X")
    fail_probability: float | None = _flag(metavar="P")
    trace: Path | None = _flag(metavar="FILE")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFlags:
    """The work of a training job: its steps."""

    steps: int | None = _flag(metavar="N")
    seconds_per_step: float | None = _flag(metavar="S")
    checkpoint_every: int | None = _flag(metavar="N")
    seconds_per_checkpoint: float | None = _flag(metavar="S")
    seconds_to_restore: float | None = _flag(metavar="S")


def workload_of(*flags: BatchFlags | TrainingFlags) -> Workload:
    """The workload that flags describe."""
    values = _given(*flags)
    trace = values.pop("trace", None)
    if trace is not None:
        if {"seconds_per_file", "seconds_per_mini_batch"} & {*values}:
            raise UsageError("--trace has the times: leave the other flags of time out.")
        from mlctl.simulator.engine import traces

        values["times"] = parse_file(trace, traces.times, code="InvalidTrace")
    return Workload(**values)


def check(jobs: Jobs, name: str, flags: BatchFlags | TrainingFlags) -> None:
    """Refuse to describe the work of real jobs, by a workload's name or by flags."""
    if jobs.simulated:
        return
    flags_set = [*_given(flags), *(["workload"] if name != DEFAULT_NAME else [])]
    if flags_set:
        listed = ", ".join("--" + flag.replace("_", "-") for flag in flags_set)
        text = f"{listed}: only the simulated cloud (--backend local) has these flags."
        raise UsageError(text)


def _given(*flags: BatchFlags | TrainingFlags) -> dict[str, Any]:
    values: Mapping[str, Any] = {
        name: value for group in flags for name, value in asdict(group).items()
    }
    return {name: value for name, value in values.items() if value is not None}
