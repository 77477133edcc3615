"""What forecasts rest on, as data: by its name, with its source and why.

S is stated by Microsoft or hi-ml, D documented, A assumed; F is of a file, W of the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING

from mlctl.catalog import prices
from mlctl.forecast.scenario import JobScenario, Spec
from mlctl.forecast.weather.models import Weather
from mlctl.pointer import Data
from mlctl.simulator.engine.model import SimulationSettings, Tier
from mlctl.simulator.parameters import assumptions

if TYPE_CHECKING:
    from mlctl.forecast.shape import AssumptionData


def assumption(name: str, value: Data, source: str, why: str) -> AssumptionData:
    """One of them."""
    return {"name": name, "value": value, "source": source, "why": why}


def of_weathers(weathers: Iterable[Weather]) -> Iterator[AssumptionData]:
    """What takes nodes away: each weather once."""
    distinct = list(dict.fromkeys(weathers))
    for weather in distinct:
        yield assumption(f"weather {weather.name}", weather.document(), "A", weather.source)
    for weather in [weather for weather in distinct if weather.has_gaps][:1]:
        moment = (
            "with nodes to be had" if weather.available else "at any moment, with nodes or without"
        )
        start = "available" if weather.available else "any"
        yield assumption("start", start, "A", f"when the job is submitted: {moment}")


def of_prices(scenario: JobScenario[Spec]) -> Iterator[AssumptionData]:
    """What nodes cost."""
    origin = scenario.price_list
    why = f"USD for an hour of a dedicated node; the price list is of {origin}, {prices.OF}"
    yield assumption("price", scenario.price_of(Tier.DEDICATED), "D", why)
    name, price = "low_priority_price", scenario.low_priority_price
    if scenario.price_ratio is None:
        rate, source = scenario.spot_rate, f"the price list is of {origin}"
        if rate and rate.ends:
            source = f"--spot-price {rate.ends[0]:g}..{rate.ends[1]:g}"
        if rate and rate.ends and rate.as_of:
            source = f"known since {rate.as_of}; the price list is of {origin}"
        yield assumption(name, price, "D", f"USD for an hour of a Spot VM, which moves; {source}")
    else:
        stated = f"--low-priority-ratio {scenario.price_ratio:g} of the dedicated price, as given"
        yield assumption(name, price, "A", stated)


def of_settings(settings: SimulationSettings, names: Iterable[str]) -> Iterator[AssumptionData]:
    """How the simulated cloud behaves, as far as the job meets it."""
    met = set(names)
    for parameter in assumptions(settings):
        if parameter.name in met:
            value = parameter.value
            plain = value.value if isinstance(value, Enum) else value
            yield assumption(parameter.name, plain, parameter.source, parameter.why)
