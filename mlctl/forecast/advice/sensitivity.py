"""What a forecast depends on: each assumption from low to high, on the same draws.

Random numbers are keyed by purpose, so a history under another assumption has the same luck, and
differences are more precise than the numbers themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass, replace
from mlctl.forecast import statistics
from mlctl.forecast.batch.policy import History
from mlctl.forecast.batch.study import Study
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.gather import histories_of
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.weather.models import Outages, Shocks, Weather
from mlctl.pointer import Data
from mlctl.simulator.engine.model import SingleNode, Tier

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mlctl.forecast.shape import SideData, SwingData

_MOST_RUNS = 500
_HALF, _TWICE = 0.5, 2.0
# The low end of what is absent: Azure's band 5-10, a shock a day, an outage a day.
_SOME_RATE = 0.078
_SOME_SHOCKS, _SOME_OUTAGES = Shocks(1 / 24, 0.6), Outages(1 / 24, 1.0)
_SOME_CV = 0.5


@dataclass(frozen=True, slots=True)
class Factor:
    """An assumption: its current value, and two others with their effects."""

    name: str
    value: Data
    low: tuple[Data, Scenario]
    high: tuple[Data, Scenario]


def factors(scenario: Scenario, weather: Weather) -> Iterator[Factor]:
    """Yield the assumptions that cannot be looked up, each halved and doubled."""
    yield from _of_weather(scenario, weather)
    settings, job = scenario.settings, scenario.job

    def setting(name: str) -> Callable[[Data], Scenario]:
        return lambda to: replace(scenario, settings=replace(settings, **{name: to}))

    def with_cv(to: float) -> Scenario:
        return replace(scenario, job=replace(job, workload=replace(job.workload, cv=to)))

    for name in ("allocation_s", "preparation_s"):
        value = getattr(settings, name)
        yield _factor(name, value, _around(value), setting(name))
    cv = job.workload.cv
    yield _factor("cv", cv, _around(cv) if cv else (0.0, _SOME_CV), with_cv)
    # Up to the dedicated price, or between the stated ends.
    price, most = scenario.low_priority_price, scenario.price_of(Tier.DEDICATED)
    stated = scenario.spot_rate.ends if scenario.spot_rate else None
    low, high = stated or (min(end, most) for end in _around(price))
    name = "low_priority_price"
    yield _factor(name, price, (low, high), lambda to: replace(scenario, low_priority_price=to))
    name = "release_idle_nodes"
    yield _factor(name, settings.release_idle_nodes, (False, True), setting(name))
    ends = (SingleNode.CLUSTER.value, SingleNode.JOB.value)
    change = setting("single_node")
    yield _factor(
        "single_node", settings.single_node.value, ends, lambda to: change(SingleNode(to))
    )


def _of_weather(scenario: Scenario, weather: Weather) -> Iterator[Factor]:
    """Vary the weather; what is absent is added last, so that the rest keeps its draws."""

    def varied(
        name: str, value: float, change: Callable[[float], Weather], most: float = inf
    ) -> Factor:
        low, high = _around(value)
        ends = (low, min(high, most))
        return _factor(name, value, ends, lambda to: scenario.under(change(to).processes()))

    def absent(name: str, some: float, added: Weather) -> Factor:
        windy = scenario.under((*scenario.processes, *added.processes()))
        return Factor(name, 0.0, (0.0, scenario), (some, windy))

    if weather.rate:
        yield varied("rate", weather.rate, lambda to: replace(weather, rate=to))
    else:
        yield absent("rate", _SOME_RATE, Weather("", _SOME_RATE))
    shocks, outages = weather.shocks, weather.outages
    if shocks is None or not shocks.per_hour:
        yield absent("shocks", _SOME_SHOCKS.per_hour, Weather("", shocks=_SOME_SHOCKS))
    else:
        yield varied(
            "shocks",
            shocks.per_hour,
            lambda to: replace(weather, shocks=replace(shocks, per_hour=to)),
        )
        yield varied(
            "fraction",
            shocks.fraction,
            lambda to: replace(weather, shocks=replace(shocks, fraction=to)),
            most=1.0,
        )
    if outages is None or not outages.per_hour:
        yield absent("outages", _SOME_OUTAGES.per_hour, Weather("", outages=_SOME_OUTAGES))
    else:
        yield varied(
            "outages",
            outages.per_hour,
            lambda to: replace(weather, outages=replace(outages, per_hour=to)),
        )


def _around(value: float) -> tuple[float, float]:
    return _HALF * value, _TWICE * value


def _factor(
    name: str, value: Data, ends: tuple[Data, Data], change: Callable[[Data], Scenario]
) -> Factor:
    low, high = ends
    return Factor(name, value, (low, change(low)), (high, change(high)))


def tornado(
    study: Study, weather: Weather, histories: list[History], executor: Executor | None
) -> list[SwingData]:
    """Return every factor with the effects of its low and high values, largest swing first.

    `histories` are the study's own; each is compared with the one of the same number.
    """
    histories = histories[:_MOST_RUNS]
    base = study.summary(histories)
    all_factors = list(factors(study.scenario, weather))
    scenarios = [scenario for factor in all_factors for _, scenario in (factor.low, factor.high)]
    studies = [replace(study, scenario=scenario) for scenario in scenarios]
    results = iter(histories_of(studies, len(histories), executor))
    rows = []
    for factor in all_factors:
        low, high = (
            _side(value, replace(study, scenario=scenario).summary(next(results)), base)
            for value, scenario in (factor.low, factor.high)
        )
        swing: SwingData = {
            "name": factor.name,
            "value": factor.value,
            "low": low,
            "high": high,
        }
        rows.append(swing)
    return sorted(rows, key=_swing, reverse=True)


def _side(value: Data, summary: Summary, base: Summary) -> SideData:
    cost = statistics.difference(summary.costs_until_done, base.costs_until_done)
    time = statistics.difference(summary.times_until_done, base.times_until_done)
    return {
        "value": value,
        "cancelled": statistics.as_data(summary.cancelled),
        "p_not_done": statistics.as_data(summary.p_not_done),
        "cost": _finite_average(summary.costs_until_done),
        "time_s": _finite_average(summary.times_until_done),
        "cost_difference": statistics.known(cost),
        "time_difference_s": statistics.known(time),
    }


def _finite_average(values: Sequence[float]) -> float | None:
    mean = statistics.finite_mean(values)
    return None if mean is None else mean["value"]


def _swing(row: SwingData) -> float:
    """Return the change of the cost; a change between done and never comes first."""
    low, high = row["low"]["cost"], row["high"]["cost"]
    if low is None or high is None:
        return 0.0 if low is high else inf
    return abs(high - low)
