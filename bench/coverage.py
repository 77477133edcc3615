"""How often the intervals of forecasts hold the truth: `python -m bench.coverage [STUDIES]`.

Eight questions whose answers are known in closed form, each asked in many small forecasts of seeds
of their own, with 100 and 1000 histories and with as many as a forecast takes by itself. Of
intervals of 95 %, 92 to 98 of a hundred should hold the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from math import expm1

from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.forecast.batch.study import Study, histories_until
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shape import EstimateData, SummaryData
from mlctl.forecast.weather.models import AnyMoment
from mlctl.simulator.engine.model import (
    HOUR,
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.processes import OnOff, Poisson, PreemptionProcess, Shock

STUDIES = 300
RUNS = (100, 1000, None)
AT_ONCE = SimulationSettings(
    allocation_s=0.0,
    preparation_s=0.0,
    replacement_s=0.0,
    billing_granularity_s=0.0,
    progress_update_timeout_s=0.0,
)
Question = tuple[str, Study, Callable[[SummaryData], EstimateData | None], float]


def study(hours: float, process: PreemptionProcess, way: Way = Way.RESUBMIT) -> Study:
    """An hour of work or so on one node that costs a dollar an hour."""
    work = BatchWork(per_mini_batch_s=hours * HOUR)
    job = BatchSpec("1/forecast", "1/c", 1, work, 1, 1, timeout_s=1e9)
    cluster = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, 1, 0.0, price=1.0)
    return Study(Scenario(cluster, job, AT_ONCE, 1.0, (process,)), RecoveryPolicy(way))


def runs_h(rate: float, hours: float) -> float:
    """The hours of all runs of so many hours of work that a loss sends back to the beginning."""
    return expm1(rate * hours) / rate


def _cancelled(row: SummaryData) -> EstimateData:
    return row["cancelled"]


def _first_cost(row: SummaryData) -> EstimateData:
    return row["cost"]["mean"]


def _cost(row: SummaryData) -> EstimateData | None:
    return row["until_done"]["cost"]


def _time(row: SummaryData) -> EstimateData | None:
    return row["until_done"]["time_s"]


def questions() -> Iterator[Question]:
    """Each with its answer, in dollars or seconds or as a chance."""
    yield "P(cancelled)", study(1, Poisson(0.3)), _cancelled, -expm1(-0.3)
    once = study(1, Poisson(0.3), Way.ONCE)
    yield "cost of a run", once, _first_cost, -expm1(-0.3) / 0.3
    yield "cost until done", study(1, Poisson(0.5)), _cost, runs_h(0.5, 1)
    yield "time, rare losses", study(1, Poisson(0.02)), _time, runs_h(0.02, 1) * HOUR
    yield "time, 20 runs each", study(1, Shock(3.0)), _time, runs_h(3, 1) * HOUR
    lost = expm1(0.3)  # outages in which a run is lost, for each job
    time_h = runs_h(0.3, 1) + lost * 0.5
    yield "time, outages", study(1, OnOff(0.3, HOUR / 2)), _time, time_h * HOUR
    waits_h = 0.2 / 1.2 * 2.0
    time_h = waits_h + runs_h(0.1, 0.5) + expm1(0.05) * 2
    yield "time, any start", study(0.5, AnyMoment(0.1, 2 * HOUR)), _time, time_h * HOUR
    waits_h = 0.315 / 1.315 * 2.1 * (1 + 3.4**2) / 2
    time_h = waits_h + runs_h(0.15, 0.5) + expm1(0.15 * 0.5) * 2.1
    skewed = study(0.5, AnyMoment(0.15, 2.1 * HOUR, None, 3.4))
    yield "time, aws-like start", skewed, _time, time_h * HOUR


def held(question: Question, runs: int | None, studies: int) -> float:
    """The share of studies whose interval holds the answer."""
    _, base, answer, truth = question
    hits = 0
    for number in range(studies):
        one_study = Study(base.scenario, base.policy, f"coverage/{number}")
        estimate = answer(one_study.summary(histories_until(one_study, runs)).document())
        assert estimate is not None
        low, high = estimate["low"], estimate["high"]
        hits += (low is None or low <= truth) and (high is None or truth <= high)
    return hits / studies


def main() -> int:
    """Print the table."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    title = f"of {studies} intervals of 95 %"
    print(f"{title:<26}{'100 runs':>10}{'1000':>10}{'usual':>10}")
    for question in questions():
        shares = "".join(f"{held(question, runs, studies):>10.1%}" for runs in RUNS)
        print(f"{question[0]:<26}{shares}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
