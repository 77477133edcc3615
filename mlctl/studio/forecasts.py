"""Compare a simulated job's forecast time and cost with what it took."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from mlctl.dataclasses import replace
from mlctl.durations import elapsed
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.forecast.batch.study import Study
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.statistics import quantile
from mlctl.forecast.training.study import TrainingScenario, TrainingStudy
from mlctl.forecast.weather import models as weather
from mlctl.render.page import svg
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.engine import ended_jobs, views
from mlctl.simulator.engine.commands import EngineError
from mlctl.simulator.engine.jobs import BatchJob, JobStatus, TrainingJob
from mlctl.simulator.engine.model import HOUR
from mlctl.studio.watch import Watch

RUNS = 200
NOW = "current"  # the weather of the cloud
_QUANTILES = {0.1: "p10", 0.5: "p50", 0.9: "p90"}
_Run = tuple[JobStatus, float, float]  # how a history ended, after how long, node-seconds


def weathers() -> tuple[str, ...]:
    """Return the names of weathers for forecasts and clouds."""
    models = ((name, weather.by_name(name)) for name in weather.names())
    return tuple(name for name, model in models if model is not None and model.trace is None)


def beside(watch: Watch, name: str, weather_name: str) -> dict[str, Any]:
    """Forecast a job as it was submitted, in some weather, beside its progress.

    Raises:
        ServiceError: there is no such job; or the job, or the weather, cannot be forecast.
    """
    handle = watch.cloud.handle
    with handle.store.read() as db:
        engine_name = command_log.engine_name(handle.state(db).id, name)
    with replay.current(handle.store) as world:
        try:
            view = views.job(world, engine_name)
        except EngineError:
            raise Permanent("NoJob", f"There is no job `{name}`.", status=404) from None
        job = ended_jobs.find(world, engine_name)
        cluster = world.clusters.get(view.cluster or "")
        if not isinstance(job, BatchJob | TrainingJob) or cluster is None:
            text = (
                f"There is no forecast for `{name}`: it has child jobs, or its cluster was deleted."
            )
            raise Permanent("NoForecast", text)
        spec = replace(cluster.spec, quotas=())
        processes = tuple(world.preemption) if weather_name == NOW else _processes(weather_name)
        price, settings = spec.price or 0.0, world.settings
        scenario = (
            Scenario(spec, job.spec, settings, price, processes)
            if isinstance(job, BatchJob)
            else TrainingScenario(spec, job.spec, settings, price, processes)
        )
    runs = _runs(scenario)
    so_far = view.makespan_s if view.ended is not None else world.now - view.submitted
    times = sorted(time_s for status, time_s, _ in runs if status is JobStatus.COMPLETED)
    costs = sorted(node_s * price / HOUR for _, _, node_s in runs)
    happened = elapsed(so_far or 0.0) + ("" if view.ended is not None else " so far")
    spent = "unknown" if view.cost is None else f"${view.cost:,.2f}"
    return {
        "weather": weather_name,
        "runs": len(runs),
        "columns": ("time to complete", "cost"),
        "rows": [
            {"name": name, "cells": cells}
            for name, *cells in zip(
                _QUANTILES.values(),
                _cells(times, elapsed),
                _cells(costs, lambda usd: f"${usd:,.2f}"),
                strict=True,
            )
        ],
        "happened": (happened, spent),
        "outcomes": [
            {"name": status.value, "share": sum(run[0] is status for run in runs) / len(runs)}
            for status in dict.fromkeys(run[0] for run in runs)
        ],
        "status": view.status.value,
        "curve": _curve(times, so_far or 0.0, len(runs)),
    }


def _processes(name: str) -> Any:
    try:
        model = weather.by_name(name)
    except weather.WeatherError as error:
        raise Permanent("NoWeather", str(error)) from None
    if model is None:
        raise Permanent("NoWeather", f"Unknown weather `{name}`.")
    return model.processes()


@lru_cache(maxsize=32)
def _runs(scenario: Scenario | TrainingScenario) -> tuple[_Run, ...]:
    """Simulate one run of the job many times; a cancelled one is not submitted again."""
    if isinstance(scenario, TrainingScenario):
        trainings = TrainingStudy(scenario).histories(range(RUNS))
        return tuple((run.status, run.time_s, run.node_s) for run in trainings)
    histories = Study(scenario, RecoveryPolicy(Way.ONCE)).histories(range(RUNS))
    return tuple((run.status, run.time_s, run.node_s) for run in histories)


def _cells(ordered: Sequence[float], words: Any) -> list[str]:
    values = [quantile(ordered, share) for share in _QUANTILES]
    return [words(value) if isfinite(value) else "never" for value in values]


def _curve(times: Sequence[float], happened: float, runs: int) -> str:
    """Draw the share of histories that have completed by each time, and the current time."""
    if not times:
        return ""
    steps = tuple((at, number / runs) for number, at in enumerate(times, 1))
    low, high = min(times[0], happened), max(times[-1], happened)
    axis = svg.Axis("time since submission", elapsed(low), elapsed(high))
    return svg.curves([svg.Curve("forecast", steps)], axis, ("this job", happened))
