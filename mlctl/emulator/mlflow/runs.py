"""The runs of a workspace in MLflow's form, of jobs and of clients, and MLflow's search of them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlctl.dataclasses import dataclass
from mlctl.emulator.requests.call import Call
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane.jobs import artifacts, mlflow_store, records
from mlctl.simulator.control_plane.jobs.mlflow_store import MetricValue, StoredRun
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.state import clock

DEFAULT = "Default"
_STATUSES = {"Completed": "FINISHED", "Failed": "FAILED", "Canceled": "KILLED"}
_CODES = {"3": "FINISHED", "4": "FAILED", "5": "KILLED"}  # of MLflow's file store
_PARENT = "mlflow.parentRunId"


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run: its description, and what it has logged."""

    id: str
    info: Mapping[str, Data]
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: tuple[MetricValue, ...]

    @property
    def last(self) -> dict[str, MetricValue]:
        """Return the last value of each metric: that of the highest step."""
        ordered = sorted(self.metrics, key=lambda metric: (metric.step, metric.at))
        return {metric.name: metric for metric in ordered}

    def body(self) -> dict[str, Data]:
        """Return the run in MLflow's shape."""
        data = {
            "metrics": [metric_body(metric) for metric in self.last.values()],
            "params": [{"key": key, "value": value} for key, value in self.params.items()],
            "tags": [{"key": key, "value": value} for key, value in self.tags.items()],
        }
        return {"info": dict(self.info), "data": data}


def metric_body(metric: MetricValue) -> dict[str, Data]:
    """Return a value in MLflow's shape; numbers that JSON lacks become texts."""
    value = metric.value if math.isfinite(metric.value) else str(metric.value)
    texts = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    text = texts.get(value, value) if isinstance(value, str) else value
    return {"key": metric.name, "value": text, "timestamp": metric.at, "step": metric.step}


def experiment_id(call: Call, name: str) -> str:
    """Return the id of an experiment, which its runs also have in the run history."""
    return "0" if name == DEFAULT else call.guid(f"experiment/{name}")


def text(call: Call, *names: str) -> str:
    """Return a value of the request, under the first of its names that is present.

    Raises:
        Permanent: there is none.
    """
    sent_values = (call.data.get(name) or call.request.query_value(name) for name in names)
    value = next((str(sent) for sent in sent_values if sent), None)
    if value is None:
        raise Permanent("INVALID_PARAMETER_VALUE", f"The request lacks `{names[0]}`.")
    return value


def find(call: Call, name: str) -> TrackedRun:
    """A run of the workspace.

    Raises:
        NotFound: there is none of this id.
    """
    run = next(every(call, name), None)
    if run is None:
        raise NotFound("RESOURCE_DOES_NOT_EXIST", f"Run '{name}' not found", status=404)
    return run


def every(call: Call, name: str | None = None) -> Iterator[TrackedRun]:
    """Return the runs of the workspace, or those with a name."""
    jobs = {job.row.name: job for job in _jobs(call, None)}
    for job in jobs.values():
        if name in (None, job.row.name):
            yield _run_of_job(call, job)
        for stored in _stored(job):
            if stored.parent is not None and name in (None, stored.id):
                yield _run_within(call, job, stored)
    for run in mlflow_store.run_names(call.blob_store, call.scope):
        if run not in jobs and name in (None, run):
            yield _run(call, run, {}, {}, {}, ())


def _jobs(call: Call, parent: str | None) -> Iterator[JobRecord]:
    """Return the jobs of a workspace, or those below one, each with those below it."""
    listed = records.children(call.handle, parent) if parent else records.list_jobs(call.handle)
    for job in listed:
        yield job
        if job.view.members is not None:
            yield from _jobs(call, job.row.name)


def _stored(job: JobRecord) -> list[StoredRun]:
    folder = job.row.note.get("results")
    has_begun = folder and job.view.started is not None
    return list(mlflow_store.runs(Path(str(folder)))) if has_begun else []


def _run_of_job(call: Call, job: JobRecord) -> TrackedRun:
    row, view = job.row, job.view
    own_runs = [run for run in _stored(job) if run.parent is None]
    running = "RUNNING" if view.started is not None else "SCHEDULED"
    info = {
        "run_name": row.note.get("displayName") or row.name,
        "experiment_id": experiment_id(call, str(row.note.get("experimentName") or DEFAULT)),
        "status": _STATUSES.get(view.status.value, running),
        "start_time": _milliseconds(view.submitted if view.started is None else view.started),
        **({} if view.ended is None else {"end_time": _milliseconds(view.ended)}),
    }
    params = {key: value for run in own_runs for key, value in run.params.items()}
    drawn = {key: str(value) for key, value in (row.note.get("parameters") or {}).items()}
    tags = {key: str(value) for key, value in (row.note.get("tags") or {}).items()}
    tags |= {key: value for run in own_runs for key, value in run.tags.items()}
    tags |= {_PARENT: row.parent} if row.parent else {}
    values = tuple(
        MetricValue(metric.name, metric.value, _milliseconds(view.submitted + at), metric.step)
        for at, metric in artifacts.logged_metrics(job, call.state.now)
    )
    return _run(call, row.name, info, {**drawn, **params}, tags, values)


def _run_within(call: Call, job: JobRecord, stored: StoredRun) -> TrackedRun:
    """Return a run that the code of a job has started within its own."""
    info = {
        "run_name": stored.meta.get("run_name", stored.id),
        "experiment_id": experiment_id(call, str(job.row.note.get("experimentName") or DEFAULT)),
        "status": _CODES.get(stored.meta.get("status", ""), "RUNNING"),
        "start_time": stored.began,
    }
    tags = {**stored.tags, _PARENT: job.row.name}
    return _run(call, stored.id, info, stored.params, tags, tuple(stored.metrics))


def _run(
    call: Call,
    name: str,
    info: Mapping[str, Data],
    params: Mapping[str, str],
    tags: Mapping[str, str],
    metrics: tuple[MetricValue, ...],
) -> TrackedRun:
    """Return a run with what clients have logged to it; its job's facts take precedence."""
    items, scope = call.blob_store, call.scope
    sent = mlflow_store.find_run(items, scope, name) or {"info": {}, "params": {}, "tags": {}}
    merged = {
        "lifecycle_stage": "active",
        "user_id": "",
        "experiment_id": "0",
        "status": "RUNNING",
        **sent["info"],
        **info,
        "run_id": name,
        "run_uuid": name,
        "artifact_uri": f"mlflow-artifacts:/{name}/artifacts",
    }
    tags = {"mlflow.runName": str(merged.get("run_name") or name), **tags, **sent["tags"]}
    values = (*metrics, *mlflow_store.run_metrics(items, scope, name))
    return TrackedRun(name, merged, {**params, **sent["params"]}, tags, values)


def _milliseconds(now: float) -> int:
    return round((clock.EPOCH.timestamp() + now) * 1000)


Test = Callable[[TrackedRun], bool]
_AND = re.compile(r"\s+and\s+(?=(?:[^'\"]*['\"][^'\"]*['\"])*[^'\"]*$)", re.IGNORECASE)
_MOST = 6000  # characters of a filter: `_AND` looks at the rest for each of them
_FIELD = r"(?:(?P<part>\w+)\.)?(?P<key>`[^`]+`|\"[^\"]+\"|[\w./-]+)"
_CONDITION = re.compile(
    rf"\s*{_FIELD}\s*(?P<sign>!=|>=|<=|=|>|<|i?like\b)\s*(?P<value>.+?)\s*", re.IGNORECASE
)
_ORDER = re.compile(rf"\s*{_FIELD}(?:\s+(?P<way>asc|desc))?\s*", re.IGNORECASE)
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "like": lambda text, form: _like(text, form, 0),
    "ilike": lambda text, form: _like(text, form, re.IGNORECASE),
}


def matching(text: str) -> Test:
    """Parse a filter into a test: `metrics.loss < 0.5 and params.rate = '0.1'`.

    Raises:
        Permanent: it is no filter.
    """
    if len(text) > _MOST:
        raise _bad("filter", f"{text[:40]}...")
    tests = [_test(part) for part in _AND.split(text.strip())] if text.strip() else []
    return lambda run: all(test(run) for test in tests)


def ordered(runs: Sequence[TrackedRun], order: Sequence[str]) -> list[TrackedRun]:
    """Sort runs by an order such as `["metrics.loss DESC"]`; those that lack it come last.

    Raises:
        Permanent: it is no order.
    """
    result = sorted(runs, key=lambda run: (-int(run.info.get("start_time") or 0), run.id))
    for text in reversed(order):
        match = _ORDER.fullmatch(text)
        if match is None:
            raise _bad("order", text)
        part, key, down = match["part"] or "", match["key"], (match["way"] or "").lower() == "desc"
        values = [(_value(run, part, key), run) for run in result]
        lacking = [run for value, run in values if value is None]
        pairs: list[tuple[Any, TrackedRun]] = [pair for pair in values if pair[0] is not None]
        pairs.sort(key=lambda pair: pair[0], reverse=down)
        result = [run for _, run in pairs] + lacking
    return result


def _test(text: str) -> Test:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise _bad("filter", text)
    compare, value, key = _SIGNS[match["sign"].lower()], match["value"], match["key"]
    part = (match["part"] or "attributes").lower()
    expected: str | float = value.strip("'\"")
    if value[0] not in "'\"":
        try:
            expected = float(value)
        except ValueError:
            raise _bad("filter", text) from None

    def test(run: TrackedRun) -> bool:
        actual = _value(run, part, key)
        return type(actual) is type(expected) and compare(actual, expected)

    return test


def _value(run: TrackedRun, part: str, key: str) -> str | float | None:
    """Return a run's value for a name: a number or a text."""
    key = key.strip('`"')
    match part.lower().rstrip("s"):
        case "metric":
            metric = run.last.get(key)
            return None if metric is None else metric.value
        case "param" | "parameter":
            return run.params.get(key)
        case "tag":
            return run.tags.get(key)
        case _:
            value = run.info.get({"created": "start_time", "Created": "start_time"}.get(key, key))
            return float(value) if isinstance(value, int) else value


def _like(text: str, form: str, flags: int) -> bool:
    """Whether a text is of a form with `%` (any text) and `_` (any character), in linear time."""
    first, *parts = (re.escape(part).replace("_", ".") for part in form.split("%"))
    ends = f".*{parts.pop()}" if parts else ""
    pattern = first + "".join(f"(?>.*?{part})" for part in parts) + ends  # as fnmatch does
    return re.fullmatch(pattern, text, flags | re.DOTALL) is not None


def _bad(what: str, text: str) -> Permanent:
    example = "metrics.loss < 0.5 and params.rate = '0.1'" if what == "filter" else "metrics.a DESC"
    return Permanent("INVALID_PARAMETER_VALUE", f"`{text}` is no {what} such as `{example}`.")
