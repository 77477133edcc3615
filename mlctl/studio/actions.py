"""The actions of the studio's forms on the simulated cloud; on Azure none is possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from mlctl.backends.local.backend import LocalBackend
from mlctl.dataclasses import replace
from mlctl.durations import elapsed, parse
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.forecast.batch.study import Study
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.statistics import quantile
from mlctl.forecast.training.study import TrainingScenario, TrainingStudy
from mlctl.forecast.weather import models as weather
from mlctl.kinds import Address
from mlctl.render.page import svg
from mlctl.schema.text import counted
from mlctl.service_errors import BAD_REQUEST, NotFound, Permanent
from mlctl.simulator.control_plane import (
    command_log,
    control,
    disruptions,
    faults,
    replay,
)
from mlctl.simulator.engine import ended_jobs, engine, views
from mlctl.simulator.engine.commands import EngineError
from mlctl.simulator.engine.jobs import BatchJob, JobStatus, TrainingJob
from mlctl.simulator.engine.model import HOUR
from mlctl.simulator.engine.processes import Constant
from mlctl.studio.watch import SPEEDS, Watch

Fields = Mapping[str, str]
_ENUMS = {
    "trouble": faults.FaultKind,
    "http_trouble": faults.HttpFaultKind,
    "retry_after": faults.RetryAfter,
    "style": faults.OperationStyle,
}
# The fields and choices of the fault forms.
CHOICES: Mapping[str, tuple[str, ...]] = {
    **{key: tuple(each.value for each in kinds) for key, kinds in _ENUMS.items()},
    "operation": (faults.ANY, *faults.VERBS),
    "method": ("GET", "HEAD", "PUT", "PATCH", "POST", "DELETE"),
}


def carry_out(watch: Watch, name: str, fields: Fields) -> str:
    """Carry out an action; describe what was done.

    Raises:
        ServiceError: there is no such action, it is refused, or the workspace is a real one.
    """
    if name == "play":
        return _play(watch, fields)
    action = _ACTIONS.get(name)
    if action is None:
        raise NotFound("NoAction", "There is no such action.", status=404)
    return watch.act(lambda cloud: action(cloud, fields))


def _play(watch: Watch, fields: Fields) -> str:
    speed = fields.get("speed", "0")
    if watch.cloud and speed not in ("0", *map(str, SPEEDS)):
        raise Permanent("BadSpeed", f"`{speed}` is not a valid speed.", status=BAD_REQUEST)
    watch.speed = int(speed)
    watch.revision += 1
    return f"Playing at {speed}x" if watch.speed else "Paused"


def _step(cloud: LocalBackend, fields: Fields) -> str:
    """Advance to the next event, or by a duration."""
    if fields.get("time"):
        try:
            seconds = parse(fields["time"])
        except ValueError:
            raise _bad(f"`{fields['time']}` is not a duration: write 90s, 15m or 1h") from None
    else:
        with replay.current(cloud.handle.store) as world:
            ahead, now = engine.next_event_time(world), world.now
        if ahead is None:
            return "No events are scheduled"
        seconds = max(ahead - now, 0.0)
    control.wait(cloud.handle, seconds)
    return f"Advanced by {elapsed(seconds)}"


def _weather(cloud: LocalBackend, fields: Fields) -> str:
    name = fields.get("weather", "")
    if name == "none":
        disruptions.set_preemption(cloud.handle, ())
        return "Preemption is off"
    model = _weather_of(name)
    if model.trace is not None:
        raise _bad(f"unknown weather `{name}`")
    disruptions.set_preemption(cloud.handle, replace(model, available=True).processes())
    return f"Weather set to {name}"


def _preempt(cloud: LocalBackend, fields: Fields) -> str:
    text = fields.get("nodes", "1")
    if text != "all" and not (text.isdecimal() and 0 < int(text) < 10**6):
        raise _bad(f"`{text}` is not a number of nodes")
    count = None if text == "all" else int(text)
    lost = disruptions.preempt(cloud.handle, Address("compute", fields.get("cluster", "")), count)
    return f"{counted(lost, 'node')} preempted"


def _capacity(cloud: LocalBackend, fields: Fields) -> str:
    text = fields.get("nodes", "").strip()
    if text and not text.isdecimal():
        raise _bad(f"`{text}` is not a number of nodes")
    disruptions.set_capacity(cloud.handle, Constant(int(text)) if text else None, None)
    return f"Capacity set to {text} nodes" if text else "Capacity is unlimited"


def _fault(cloud: LocalBackend, fields: Fields) -> str:
    """Set a fault of the cloud or of the wire; empty fields keep their defaults."""
    try:
        fault = faults.from_json({key: _typed(key, text) for key, text in fields.items() if text})
    except ValueError as error:
        raise _bad(str(error)) from None
    return f"Fault {control.add_fault(cloud.handle, fault)} is set"


def _typed(key: str, text: str) -> str | float:
    try:
        return _FAULT_NUMBERS.get(key, str)(text)
    except ValueError:
        raise ValueError(f"`{key}` must be a number, not `{text[:40]}`") from None


_FAULT_NUMBERS: Mapping[str, Callable[[str], str | float]] = {
    **dict.fromkeys(("nth", "times", "status", "bytes"), int),
    "every": bool,  # a checked box
    "seconds": float,
}


def _clear(cloud: LocalBackend, fields: Fields) -> str:
    number = fields.get("number", "")
    count = control.clear_faults(cloud.handle, [int(number)] if number.isdecimal() else [])
    return f"{counted(count, 'fault')} cleared"


def _lock(cloud: LocalBackend, fields: Fields) -> str:
    address = Address("compute", fields.get("cluster", ""))
    locked = fields.get("locked") == "true"
    disruptions.lock(cloud.handle, [address], locked=locked)
    return f"Cluster {address.name} is {'locked' if locked else 'unlocked'}"


def _cancel(cloud: LocalBackend, fields: Fields) -> str:
    job = cloud.jobs.cancel(fields.get("job", ""))
    return f"Job {job.name}: {job.status}"


def _bad(message: str) -> Permanent:
    return Permanent("BadArgument", message, status=BAD_REQUEST)


_ACTIONS: Mapping[str, Callable[[LocalBackend, Fields], str]] = {
    "step": _step,
    "weather": _weather,
    "preempt": _preempt,
    "capacity": _capacity,
    "fault": _fault,
    "clear": _clear,
    "lock": _lock,
    "cancel": _cancel,
}


RUNS = 200
NOW = "current"  # the weather of the cloud
_QUANTILES = {0.1: "p10", 0.5: "p50", 0.9: "p90"}
_Run = tuple[JobStatus, float, float]  # how a history ended, after how long, node-seconds


def weathers() -> tuple[str, ...]:
    """Return the names of weathers for forecasts and clouds."""
    models = ((name, weather.by_name(name)) for name in weather.names())
    return tuple(name for name, model in models if model is not None and model.trace is None)


def forecast_beside(watch: Watch, name: str, weather_name: str) -> dict[str, Any]:
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
        processes = (
            tuple(world.preemption)
            if weather_name == NOW
            else _weather_of(weather_name).processes()
        )
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


def _weather_of(name: str) -> weather.Weather:
    try:
        model = weather.by_name(name)
    except weather.WeatherError as error:
        raise _bad(str(error)) from None
    if model is None:
        raise _bad(f"unknown weather `{name}`")
    return model


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
