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
    settings, work = scenario.settings, scenario.job.workload
    yield _scaled(
        "allocation_s",
        settings.allocation_s,
        lambda to: replace(scenario, settings=replace(settings, allocation_s=to)),
    )
    yield _scaled(
        "preparation_s",
        settings.preparation_s,
        lambda to: replace(scenario, settings=replace(settings, preparation_s=to)),
    )
    cv = work.cv
    low, high = (_HALF * cv, _TWICE * cv) if cv else (0.0, _SOME_CV)
    yield Factor("cv", cv, (low, _with_cv(scenario, low)), (high, _with_cv(scenario, high)))
    yield _of_price(scenario)
    yield _choice(
        "release_idle_nodes",
        settings.release_idle_nodes,
        (False, True),
        lambda to: replace(scenario, settings=replace(settings, release_idle_nodes=to)),
    )
    yield _choice(
        "single_node",
        settings.single_node.value,
        (SingleNode.CLUSTER.value, SingleNode.JOB.value),
        lambda to: replace(scenario, settings=replace(settings, single_node=SingleNode(to))),
    )


def _of_price(scenario: Scenario) -> Factor:
    """Vary the low-priority price up to the dedicated one, or between its stated ends."""
    price, most = scenario.low_priority_price, scenario.price_of(Tier.DEDICATED)
    ends = scenario.spot_rate.ends if scenario.spot_rate else None
    low, high = ends or (min(scale * price, most) for scale in (_HALF, _TWICE))
    sides = [(to, replace(scenario, low_priority_price=to)) for to in (low, high)]
    return Factor("low_priority_price", price, sides[0], sides[1])


def _of_weather(scenario: Scenario, weather: Weather) -> Iterator[Factor]:
    """Vary the weather; what is absent is added last, so that the rest keeps its draws."""

    def under(changed: Weather) -> Scenario:
        return scenario.under(changed.processes())

    def beside(added: Weather) -> Scenario:
        return scenario.under((*scenario.processes, *added.processes()))

    if weather.rate:
        yield _scaled("rate", weather.rate, lambda to: under(replace(weather, rate=to)))
    else:
        windy = beside(Weather("", _SOME_RATE))
        yield Factor("rate", 0.0, (0.0, scenario), (_SOME_RATE, windy))
    shocks, outages = weather.shocks, weather.outages
    if shocks is None or not shocks.per_hour:
        bad = beside(Weather("", shocks=_SOME_SHOCKS))
        yield Factor("shocks", 0.0, (0.0, scenario), (_SOME_SHOCKS.per_hour, bad))
    else:
        yield _scaled(
            "shocks",
            shocks.per_hour,
            lambda to: under(replace(weather, shocks=replace(shocks, per_hour=to))),
        )
        sides = [
            (to, under(replace(weather, shocks=replace(shocks, fraction=to))))
            for to in (_HALF * shocks.fraction, min(1.0, _TWICE * shocks.fraction))
        ]
        yield Factor("fraction", shocks.fraction, sides[0], sides[1])
    if outages is None or not outages.per_hour:
        bad = beside(Weather("", outages=_SOME_OUTAGES))
        yield Factor("outages", 0.0, (0.0, scenario), (_SOME_OUTAGES.per_hour, bad))
    else:
        yield _scaled(
            "outages",
            outages.per_hour,
            lambda to: under(replace(weather, outages=replace(outages, per_hour=to))),
        )


def _with_cv(scenario: Scenario, cv: float) -> Scenario:
    job = scenario.job
    return replace(scenario, job=replace(job, workload=replace(job.workload, cv=cv)))


def _scaled(name: str, value: float, change: Callable[[float], Scenario]) -> Factor:
    low, high = _HALF * value, _TWICE * value
    return Factor(name, value, (low, change(low)), (high, change(high)))


def _choice(
    name: str, value: Data, sides: tuple[Data, Data], change: Callable[[Data], Scenario]
) -> Factor:
    low, high = sides
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
