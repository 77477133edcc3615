"""The forecast of a Batch Pool as data: a row for each place that its jobs could run in.

`schemas/output/pool-forecast.schema.json` is the shape; `render` prints it for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from mlctl import catalog
from mlctl.catalog import prices
from mlctl.forecast import pools, queues, statistics
from mlctl.forecast.batch.summary import estimate, histogram
from mlctl.forecast.gather import Gathered, gather, growing
from mlctl.forecast.pools import Place, PoolHistory, PoolScenario, PoolStudy
from mlctl.forecast.weather.models import Weather
from mlctl.pointer import Data

if TYPE_CHECKING:
    from concurrent.futures import Executor

SCHEMA = "https://mlctl.dev/schemas/output/pool-forecast.schema.json"
MONTH = 730  # hours
_CLUSTERS = (Place.DEDICATED, Place.LOW_PRIORITY)
_TRIALS, _TRIAL_JOBS = 4, 150  # histories of each load that is tried for the break-even


@dataclass(frozen=True, slots=True)
class Asked:
    """The seed, how many histories of how many jobs, and the weather of low priority."""

    seed: str
    runs: int
    jobs: int
    weather: Weather


def gathered(
    scenario: PoolScenario, asked: Asked, executor: Executor | None = None
) -> Gathered[Place, PoolHistory]:
    """The histories of each place, of which each is of many jobs."""
    rows = [(place, PoolStudy(scenario, place, asked.jobs, asked.seed)) for place in Place]
    return gather(rows, lambda _, found: growing(len(found), asked.runs, 1), executor)


def document(
    name: str,
    scenario: PoolScenario,
    asked: Asked,
    found: Gathered[Place, PoolHistory],
    executor: Executor | None = None,
) -> dict[str, Data]:
    """The forecast as data; `name` is the pool's. Amounts are USD, null is unknown.

    Without a break-even where Ctrl-C came before.
    """
    even = None
    if found.complete:
        with found.stoppable():
            even = {place.value: _even(scenario, place, asked, executor) for place in _CLUSTERS}
    return {
        "$schema": SCHEMA,
        "pool": name,
        "seed": int(asked.seed),
        "vms": scenario.vms,
        "jobs_per_day": scenario.jobs_per_day,
        "most_jobs_per_day": scenario.most_jobs_per_day,
        "seconds_per_job": scenario.job_s,
        "exponential": scenario.exponential,
        "weather": asked.weather.document(),
        "rows": [_row(scenario, place, done) for place, done in found.rows],
        "break_even_jobs_per_day": even,
        "assumptions": list(_assumptions(scenario, asked)),
    }


def _row(scenario: PoolScenario, place: Place, done: Sequence[PoolHistory]) -> dict[str, Data]:
    queue, ended = scenario.queue(place), [one for one in done if one.waits]
    costs = [one.cost_per_hour for one in ended if one.cost_per_hour is not None]
    month = statistics.mean(cost * MONTH for cost in costs) if costs else None
    all_waits = sorted(wait for one in done for wait in one.waits)
    jobs_a_month = scenario.jobs_per_day * MONTH / 24
    return {
        "name": place.value,
        "runs": len(done),
        "not_done": sum(one.not_done for one in done),
        "wait_s": estimate(statistics.mean(one.wait_s for one in ended)) if ended else None,
        "wait_p95_s": statistics.quantile(all_waits, 0.95) if ended else None,
        "time_s": estimate(statistics.mean(one.time_s for one in ended)) if ended else None,
        "cost_per_month": None if month is None else estimate(month),
        "cost_per_job": None if month is None else month.value / jobs_a_month,
        "exact_wait_s": None if queue is None else queues.wait(queue),
        "exact_wait_p95_s": None if queue is None else queues.wait_at(queue, 0.95),
        "waits": histogram(all_waits),
    }


def _even(
    scenario: PoolScenario, place: Place, asked: Asked, executor: Executor | None
) -> float | None:
    study = PoolStudy(scenario, place, _TRIAL_JOBS, asked.seed)
    found = pools.break_even(study, _TRIALS, executor)
    return found if isfinite(found) else None


def _assumptions(scenario: PoolScenario, asked: Asked) -> Iterator[dict[str, Data]]:
    shared, settings, weather = scenario.shared, scenario.settings, asked.weather
    when = f"the catalog's are of {catalog.PRICES_AS_OF}, {prices.OF}"
    for name, value, source, why in (
        ("price", scenario.price, "A", f"USD for an hour of a VM of the pool; {when}"),
        ("node_price", scenario.node_price, "D", "USD for an hour of a dedicated node"),
        ("low_priority_price_ratio", scenario.price_ratio, "S", prices.LOW_PRIORITY_SOURCE),
        (f"weather {weather.name}", weather.document(), "A", weather.source),
        ("arrivals", "at random", "A", "a Poisson process, the same at all hours"),
        ("shared_slots", shared.slots, "A", "jobs that the shared queue runs at once"),
        ("shared_arrivals", shared.arrivals, "A", "jobs of other users an hour; none published"),
        ("shared_mean_s", shared.mean_s, "A", "how long those take, exponential"),
        ("allocation_s", settings.allocation_s, "A", "from asking for a node to having it"),
        ("preparation_s", settings.preparation_s, "A", "from having a node to its being ready"),
        ("idle_s", scenario.idle_s, "D", "idle time before a node of the cluster is given back"),
    ):
        yield {"name": name, "value": value, "source": source, "why": why}
