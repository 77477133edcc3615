"""Weather: what takes low-priority nodes away, by name or from a file.

Rates are per hour. Losses of single nodes are independent; a shock takes each running node with the
same probability; in an outage there is no node at all. All three may depend on the hour of the day.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from mlctl import catalog
from mlctl.dataclasses import dataclass
from mlctl.simulator.engine import traces
from mlctl.simulator.engine.commands import EngineError
from mlctl.simulator.engine.model import HOUR
from mlctl.simulator.engine.processes import (
    ByHour,
    OnOff,
    Poisson,
    PreemptionProcess,
    Shock,
    Trace,
    describe,
    eviction_rate,
)

BAND = "band:"
# The bands in which Azure publishes hourly eviction rates (Azure Resource Graph, SpotResources,
# skuspotevictionrate), and the rate in the middle of each; of the last, 25 %.
BANDS: Mapping[str, float] = {
    "0-5": 0.025,
    "5-10": 0.075,
    "10-15": 0.125,
    "15-20": 0.175,
    "20+": 0.25,
}
_SHAPE = (
    'weather is {"rate": losses per node-hour, "shocks": {"per_hour", "fraction"},'
    ' "outages": {"per_hour", "mean_h", "cv"}, "by_hour": [24 factors]}'
)
_HOURS = 24
_MOST = 60.0  # per hour: more than once a minute is a mistake, and no job would ever end
_LONGEST_H = 24 * 90.0


class WeatherError(ValueError):
    """Weather that does not exist; the message is for people."""


@dataclass(frozen=True, slots=True)
class Shocks:
    """Drops of capacity: how many per hour, and the probability that each running node is lost."""

    per_hour: float
    fraction: float = 1.0


@dataclass(frozen=True, slots=True)
class Outages:
    """Times without any node: how many per hour, and their length in hours.

    They are log-normal with the coefficient of variation `cv`, or exponential without one.
    """

    per_hour: float
    mean_h: float
    cv: float | None = None


@dataclass(frozen=True, slots=True)
class Replay(Trace):
    """A trace that each history begins at another place; `available`: one with nodes."""

    available: bool = False


@dataclass(frozen=True, slots=True)
class AnyMoment(OnOff):
    """Outages of which one may be in progress when a history begins."""


@dataclass(frozen=True, slots=True)
class Weather:
    """What takes low-priority nodes away; `rate` is per node-hour.

    `by_hour` are 24 factors of all the rates, from midnight on; empty: constant. It begins at the
    time of day `start_s`, in seconds since midnight. `trace` has the number of nodes. A history
    begins at any moment of it, or at one with nodes (`available`).
    """

    name: str
    rate: float = 0.0
    shocks: Shocks | None = None
    outages: Outages | None = None
    by_hour: tuple[float, ...] = ()
    source: str = ""
    start_s: float = 0.0
    trace: Trace | None = None
    available: bool = False

    @property
    def has_gaps(self) -> bool:
        """Whether there are times without any node."""
        return bool(self.outages and self.outages.per_hour) or self.trace is not None

    def processes(self) -> tuple[PreemptionProcess, ...]:
        """Return the processes of the event engine; a trace is `placed` when they are set."""
        by_hour = ByHour(self.by_hour, self.start_s) if self.by_hour else None
        active: list[PreemptionProcess] = []
        if self.rate:
            active.append(Poisson(self.rate, by_hour))
        if self.shocks is not None and self.shocks.per_hour:
            active.append(Shock(self.shocks.per_hour, self.shocks.fraction, by_hour))
        if self.outages is not None and self.outages.per_hour:
            length = self.outages.mean_h * HOUR
            kind = OnOff if self.available else AnyMoment
            active.append(kind(self.outages.per_hour, length, None, self.outages.cv, by_hour))
        if self.trace is not None:
            active.append(Replay(self.trace.gap_s, self.trace.nodes, available=self.available))
        return tuple(active)

    def document(self) -> dict[str, Any]:
        """Return the weather as `parse` reads it; for a trace, a summary."""
        data: dict[str, Any] = {"name": self.name, "rate": self.rate}
        if self.shocks is not None:
            data["shocks"] = {"per_hour": self.shocks.per_hour, "fraction": self.shocks.fraction}
        if self.outages is not None:
            out = self.outages
            data["outages"] = {"per_hour": out.per_hour, "mean_h": out.mean_h}
            data["outages"] |= {} if out.cv is None else {"cv": out.cv}
        if self.by_hour:
            data["by_hour"] = list(self.by_hour)
        if self.trace is not None:
            data["trace"] = {"gap_seconds": self.trace.gap_s, "points": len(self.trace.nodes)}
        return {**data, "source": self.source}


_BEGIN_BY_SEED = (Replay, AnyMoment)


def placed(processes: tuple[PreemptionProcess, ...], seed: str) -> tuple[PreemptionProcess, ...]:
    """Return the processes of one history, whose seed chooses where traces begin."""
    return tuple(
        traces.begin(process, seed, available=isinstance(process, Replay) and process.available)
        if isinstance(process, _BEGIN_BY_SEED)
        else process
        for process in processes
    )


def begins_by_chance(processes: tuple[PreemptionProcess, ...]) -> bool:
    """Whether some histories begin without a node, and others with some."""
    return any(
        isinstance(process, AnyMoment) or (isinstance(process, Replay) and not process.available)
        for process in processes
    )


def is_out(processes: tuple[PreemptionProcess, ...]) -> bool:
    """Whether no node is available at first."""
    return any(
        process.out_s > 0
        if isinstance(process, OnOff)
        else isinstance(process, Trace) and not process.nodes[process.offset]
        for process in processes
    )


def names() -> tuple[str, ...]:
    """Return the names of weathers, without the bands."""
    return tuple(_named())


def by_name(text: str) -> Weather | None:
    """Return `calm`, `stress`, `aws-v100-2023`, `band:5-10`, `band:7.5%`; None for other names."""
    if text.startswith(BAND):
        chance = band(text.removeprefix(BAND))
        source = "the middle of a band of Azure's eviction rates, for each node on its own"
        return Weather(text, eviction_rate(chance), source=source)
    return _named().get(text)


def band(text: str) -> float:
    """Return the hourly chance that a node is evicted, from a band or a percentage (`7.5%`).

    Raises:
        WeatherError: it is neither.
    """
    if text in BANDS:
        return BANDS[text]
    number = text.removesuffix("%")
    try:
        chance = float(number) / 100 if number != text else -1.0
    except ValueError:
        chance = -1.0
    if not 0 <= chance < 1:
        raise WeatherError(
            f"`{text}` is neither one of {', '.join(BANDS)} nor a percentage such as 7.5%"
        )
    return chance


def parse(text: str, name: str) -> Weather:
    """Parse the text of a weather file, as `mlctl local preemption fit -o` writes it.

    Raises:
        WeatherError: the text has another shape, or a number is impossible.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise WeatherError(f"it is not JSON: {_SHAPE}") from None
    if not isinstance(data, dict):
        raise WeatherError(f"it is not weather: {_SHAPE}")
    if "data" not in data:
        return _weather(name, data)
    try:
        trace = traces.trace(text)
    except EngineError as error:
        raise WeatherError(str(error)) from None
    if not any(trace.nodes):
        raise WeatherError("the trace never has a node: no low-priority job would ever run")
    source = f"{describe(trace)}, from a random point on, repeated"
    return Weather(name, source=source, trace=trace)


@cache
def _named() -> Mapping[str, Weather]:
    text = (Path(catalog.__file__).parent / "weather.toml").read_text(encoding="utf-8")
    return {name: _weather(name, data) for name, data in tomllib.loads(text).items()}


def _weather(name: str, data: Mapping[str, Any]) -> Weather:
    keys = {"name", "rate", "shocks", "outages", "by_hour", "source", "as_of", "fit"}
    for key in data.keys() - keys:
        raise WeatherError(f"weather has no `{key}`: {_SHAPE}")
    shocks, outages = _part(data, "shocks"), _part(data, "outages")
    return Weather(
        str(data.get("name", name)),
        _number(data, "rate", 0.0),
        None
        if shocks is None
        else Shocks(
            _number(shocks, "per_hour", positive=True),
            _number(shocks, "fraction", 1.0, highest=1.0, positive=True),
        ),
        None
        if outages is None
        else Outages(
            _number(outages, "per_hour", positive=True),
            _number(outages, "mean_h", highest=_LONGEST_H, positive=True),
            _number(outages, "cv") if "cv" in outages else None,
        ),
        _by_hour(data.get("by_hour", [])),
        str(data.get("source", "")),
    )


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    part = data.get(name)
    if part is not None and not isinstance(part, dict):
        raise WeatherError(f"`{name}` is not an object: {_SHAPE}")
    return part


def _number(
    data: Mapping[str, Any],
    name: str,
    default: float | None = None,
    *,
    highest: float = _MOST,
    positive: bool = False,
) -> float:
    """Return a non-negative number, or a positive one if required."""
    value = data.get(name, default)
    if not _is_number(value) or value < 0 or value > highest or (positive and not value):
        least = "more than 0" if positive else "0 or more"
        raise WeatherError(f"`{name}` must be a number, {least}, at most {highest:g}: {_SHAPE}")
    return float(value)


def _by_hour(value: Any) -> tuple[float, ...]:
    factors = value if isinstance(value, list) else [value]
    if not factors:
        return ()
    right = len(factors) == _HOURS and all(
        _is_number(factor) and 0 <= factor <= _MOST for factor in factors
    )
    if not right or not any(factors):
        raise WeatherError("`by_hour` must be 24 numbers from 0 to 60, and not all of them 0")
    return tuple(map(float, factors))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
