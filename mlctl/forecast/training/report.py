"""The forecast of a training job as data: rows, checkpoint intervals, and assumptions.

`schemas/output/training-forecast.schema.json` is the shape; `render` prints it for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass
from mlctl.forecast import assumptions, statistics
from mlctl.forecast.gather import Gathered, gather, growing
from mlctl.forecast.statistics import Estimate
from mlctl.forecast.training import study as training
from mlctl.forecast.training.reading import TrainingSubject
from mlctl.forecast.training.study import (
    TrainingHistory,
    TrainingScenario,
    TrainingStudy,
)
from mlctl.forecast.weather.models import Weather
from mlctl.pointer import Data
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import HOUR, Tier

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mlctl.forecast.shape import EstimateData

SCHEMA = "https://mlctl.dev/schemas/output/training-forecast.schema.json"
_DEDICATED = "dedicated"
# The settings that affect a training job.
_SETTINGS = (
    "allocation_s",
    "preparation_s",
    "replacement_s",
    "delay_cv",
    "replace",
    "leave_s",
    "p_unusable",
    "unusable_recycle_s",
    "restore_window_h",
    "training_auto_restart",
    "bill_allocating",
    "min_bill_s",
    "billing_granularity_s",
)


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row: a weather (None: on dedicated nodes) and a checkpoint interval."""

    name: str
    scenario: TrainingScenario
    weather: Weather | None = None


def rows(
    scenario: TrainingScenario,
    every: Sequence[int],
    weathers: Sequence[Weather],
    tiers: Sequence[Tier],
) -> Iterator[RunRow]:
    """Yield low priority in each weather with each interval, then dedicated."""
    if Tier.LOW_PRIORITY in tiers:
        for weather in weathers:
            low_priority = scenario.on(Tier.LOW_PRIORITY, weather.processes())
            for steps in every:
                yield RunRow(weather.name, low_priority.every(steps), weather)
    if Tier.DEDICATED in tiers:
        for steps in every:
            yield RunRow(_DEDICATED, scenario.on(Tier.DEDICATED).every(steps))


def gathered(
    rows_: Iterable[RunRow],
    seed: str,
    runs: int,
    executor: Executor | None = None,
    note: Callable[[int], None] = lambda _: None,
) -> Gathered[RunRow, TrainingHistory]:
    """Run the histories of each row. Raises what the event engine raises."""
    rows = [(row, TrainingStudy(row.scenario, seed)) for row in rows_]
    return gather(rows, lambda _, histories: growing(len(histories), runs), executor, note)


def document(
    subject: TrainingSubject,
    results: Gathered[RunRow, TrainingHistory],
    seed: str,
    runs: int,
    weather: str,
    executor: Executor | None = None,
) -> dict[str, Data]:
    """Return the forecast as data, with intervals in a weather except after Ctrl-C."""
    known = [row for row, _ in results.rows]
    main = next((row for row in known if row.name == weather and row.weather), None)
    intervals = None
    ends = any(
        history.status is JobStatus.COMPLETED
        for row, histories in results.rows
        for history in (histories if row is main else ())
    )
    if main is not None and results.complete and ends:  # otherwise no interval helps
        with results.stoppable():
            intervals = _intervals(TrainingStudy(main.scenario, seed), main.name, runs, executor)
    return {
        "$schema": SCHEMA,
        "seed": int(seed),
        "scenario": _scenario(subject),
        "rows": [_row(row, histories) for row, histories in results.rows],
        "main": main.name if main is not None else None,
        "intervals": intervals,
        "assumptions": [
            *assumptions.of_weathers(row.weather for row in known if row.weather is not None),
            *assumptions.of_prices(subject.scenario),
            *assumptions.of_settings(subject.scenario.settings, _SETTINGS),
        ],
    }


def _scenario(subject: TrainingSubject) -> dict[str, Data]:
    scenario = subject.scenario
    job, cluster = scenario.job, scenario.cluster
    return {
        "job": subject.job.document.source.name,
        "cluster": str(subject.cluster.address) if subject.cluster is not None else "serverless",
        "size": subject.size,
        "nodes": scenario.nodes,
        "steps": job.steps,
        "seconds_per_step": job.step_s,
        "seconds_per_checkpoint": job.checkpoint_s,
        "seconds_to_restore": job.restore_s,
        "timeout_s": job.max_runtime_s,
        "price": cluster.price,
        "low_priority_price": scenario.low_priority_price,
    }


def _row(row: RunRow, histories: Sequence[TrainingHistory]) -> dict[str, Data]:
    scenario, count = row.scenario, len(histories)
    done = [run for run in histories if run.status is JobStatus.COMPLETED]
    lost = [run for run in histories if run.status is not JobStatus.COMPLETED]
    times = sorted(run.time_s for run in done)
    price = scenario.price / HOUR

    def chance(hits: int) -> EstimateData:
        certain = histories and scenario.nodes_are_certain
        share = statistics.exactly(hits / count) if certain else statistics.chance(hits, count)
        return statistics.as_data(share)

    def mean(name: str, runs: Sequence[TrainingHistory] = histories) -> Estimate:
        return statistics.mean(float(getattr(run, name)) for run in runs)

    def cost(runs: Sequence[TrainingHistory]) -> EstimateData | None:
        return statistics.known(statistics.mean(run.node_s * price for run in runs))

    return {
        "name": row.name,
        "tier": scenario.cluster.tier.value,
        "weather": row.weather.document() if row.weather is not None else None,
        "checkpoint_every": scenario.job.checkpoint_every,
        "runs": count,
        "cancelled": chance(sum(not run.given_up for run in lost)),
        "not_done": chance(sum(run.given_up for run in histories)),
        "time_s": {
            "mean": statistics.known(mean("time_s", done)),
            "p50": statistics.known(statistics.quantile_interval(times, 0.5)),
            "p95": statistics.known(statistics.quantile_interval(times, 0.95)),
        },
        "cost": cost(done),
        "spent": cost(lost),
        "interruptions": statistics.as_data(mean("interruptions")),
        "points": statistics.as_data(mean("points")),
        "repeated_points": mean("repeated").value,
        "lost_node_hours": mean("lost_node_s").value / HOUR,
        "exact": _exact(scenario),
        "histogram": statistics.histogram(times),
    }


def _exact(scenario: TrainingScenario) -> dict[str, Data] | None:
    exact = training.closed_form(scenario)
    if exact is None:
        return None
    return {
        "time_s": exact.time_s,
        "cost": exact.billed_s * scenario.price / HOUR,
        "points": exact.points,
        "interruptions": exact.interruptions,
    }


def _intervals(
    study: TrainingStudy, weather: str, runs: int, executor: Executor | None
) -> dict[str, Data]:
    why = training.obstacle(training.without_limit(study.scenario))
    intervals = training.intervals(study, min(runs, _TRIALS), executor)
    return {
        "weather": weather,
        "exact": not why,
        "why_not": why or None,
        "losses_per_hour": study.scenario.rate * HOUR,
        "rows": [
            {
                "name": interval.name,
                "checkpoint_every": interval.every,
                "time_s": statistics.known(interval.time_s),
                "saves_s": interval.saves_s and statistics.known(interval.saves_s),
            }
            for interval in intervals
        ],
    }


_TRIALS = 300  # histories of each interval that is tried
