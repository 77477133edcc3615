"""What forecasts rest on, as data: by its name, with its source and why.

S is stated by Microsoft or hi-ml, D documented, A assumed; F is of a file, W of the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING

from mlctl import catalog
from mlctl.catalog import prices
from mlctl.forecast.scenario import JobScenario, Spec
from mlctl.forecast.weather.models import Weather
from mlctl.pointer import Data
from mlctl.simulator.engine import model
from mlctl.simulator.engine.model import SimulationSettings, Tier

if TYPE_CHECKING:
    from mlctl.forecast.shape import AssumptionData


def assumption(name: str, value: Data, source: str, why: str) -> AssumptionData:
    """One of them."""
    return {"name": name, "value": value, "source": source, "why": why}


def of_weathers(weathers: Iterable[Weather]) -> Iterator[AssumptionData]:
    """What takes nodes away: each weather once."""
    for weather in dict.fromkeys(weathers):
        yield assumption(f"weather {weather.name}", weather.document(), "A", weather.source)


def of_prices(scenario: JobScenario[Spec]) -> Iterator[AssumptionData]:
    """What nodes cost."""
    why = f"USD for an hour of a dedicated node; the catalog's are of {catalog.PRICES_AS_OF}"
    price = scenario.price_of(Tier.DEDICATED)
    yield assumption("price", price, "D", f"{why}, {prices.OF}")
    name, ratio = "low_priority_price_ratio", scenario.price_ratio
    if ratio == prices.LOW_PRIORITY_RATIO:
        yield assumption(name, ratio, "S", prices.LOW_PRIORITY_SOURCE)
    else:
        yield assumption(name, ratio, "A", "given by --low-priority-ratio")


def of_settings(settings: SimulationSettings, names: Iterable[str]) -> Iterator[AssumptionData]:
    """How the simulated cloud behaves, as far as the job meets it."""
    met = set(names)
    for parameter in model.parameters(settings):
        if parameter.name in met:
            value = parameter.value
            plain = value.value if isinstance(value, Enum) else value
            yield assumption(parameter.name, plain, parameter.source, parameter.why)
