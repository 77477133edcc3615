"""What the pages show of a workspace, simulated or on Azure, as plain values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from mlctl.backends.ports.backend import Backend, Live, SupportsNodes, SupportsScoring
from mlctl.backends.ports.jobs import (
    Job,
    JobEvent,
    JobListView,
    Jobs,
    SupportsJobs,
    SupportsOutputs,
)
from mlctl.kinds import Address
from mlctl.pointer import Data
from mlctl.render.cloud import jobs as job_text
from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane import command_log, control, disruptions, metrics, replay
from mlctl.simulator.control_plane.jobs import job_events
from mlctl.simulator.engine import ended_jobs
from mlctl.simulator.engine.jobs import GroupJob
from mlctl.simulator.engine.state import NodeState
from mlctl.studio.watch import MOST_POINTS, Watch

T = TypeVar("T")
STATES = ("running", "preparing", "idle", "allocating", "preempted", "leaving", "unusable")
PAGE = 50  # rows of a table
_JOBS_READ, _MOST_TIMES = 200, 50  # of a workspace on Azure at once, and how many times that
_MOST_LINES = 400  # of a job's events
_MOST_FILES, _MOST_TEXT = 40, 20_000  # outputs of a job, and characters of each
_ENDPOINTS = {"online-endpoint": "online-deployment", "batch-endpoint": "batch-deployment"}
_QUIET = ("MB_START", "MB_DONE")  # too many to print


def clusters(watch: Watch) -> list[dict[str, Any]]:
    """Return the clusters by name: nodes by state, and the cost (None: unknown)."""
    costs = {row.name: row.cost for row in _usage(watch) if row.kind == "cluster"}
    return [
        _cluster(live, costs.get(live.address.name))
        for live in watch.backend.list("compute")
        if live.body["properties"].get("computeType") == "AmlCompute"
    ]


def _cluster(live: Live, cost: float | None) -> dict[str, Any]:
    inner: Mapping[str, Any] = live.body["properties"].get("properties") or {}
    counts = inner.get("nodeStateCounts") or {}
    scale = inner.get("scaleSettings") or {}
    states = {state: int(counts.get(f"{state}NodeCount") or 0) for state in STATES}
    current = int(inner.get("currentNodeCount") or 0)
    states["allocating"] = max(int(inner.get("targetNodeCount") or 0) - current, 0)
    return {
        "name": live.address.name,
        "size": str(inner.get("vmSize", "")),
        "tier": "low priority" if inner.get("vmPriority") == "LowPriority" else "dedicated",
        "minimum": int(scale.get("minNodeCount") or 0),
        "maximum": int(scale.get("maxNodeCount") or 0),
        "states": states,
        "nodes": sum(states.values()),  # including those on their way
        "resizing": inner.get("allocationState") == "Resizing",
        "cost": cost,
    }


def nodes(backend: Backend, cluster: str) -> list[dict[str, object]]:
    """Return the nodes of a cluster; none if the backend does not know them."""
    if not isinstance(backend, SupportsNodes):
        return []
    return [
        {"id": node.id, "state": node.state, "job": node.job, "ip": node.private_ip}
        for node in backend.nodes(Address("compute", cluster))
    ]


def _jobs(backend: Backend) -> Jobs | None:
    return backend.jobs if isinstance(backend, SupportsJobs) else None


def _job_row(job: Job) -> dict[str, Any]:
    properties: Mapping[str, Any] = job.body["properties"]
    run: Mapping[str, Any] = properties.get("run") or {}
    cost = run.get("cost")
    return {
        "name": job.name,
        "title": properties.get("displayName") or job.name,
        "status": job.status,
        "type": properties.get("jobType", ""),
        "endpoint": properties.get("endpointName"),
        "created": str(job.body.get("systemData", {}).get("createdAt", ""))[:19].replace("T", " "),
        "done": job_text.work_done(run),
        "share": _share(run),
        "preempted": run.get("preempted_nodes"),
        "cost": cost if isinstance(cost, int | float) else None,
        "makespan": run.get("makespan_s"),
        "waits_for": run.get("waits_for"),
    }


def _share(run: Mapping[str, Any]) -> float | None:
    """Return the share of the work that is done, from 0 to 1; None if unknown."""
    for key, done in (("mini_batches", "completed"), ("steps", "done"), ("children", "completed")):
        counts = run.get(key)
        if counts and counts.get("total"):
            return float(counts[done]) / float(counts["total"])
    return None


def jobs(watch: Watch, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of jobs, newest first, filtered by `status` and `q`, and their number.

    On Azure the newest are read, and `read` times as many if the query asks for older ones: each
    page of them is a request.
    """
    backend_jobs = _jobs(watch.backend)
    read = _whole_number(query, "read", _MOST_TIMES)
    limit = None if watch.local is not None else _JOBS_READ * read
    every = [] if backend_jobs is None else backend_jobs.list(view=JobListView.ACTIVE, limit=limit)
    statuses = Counter(job.status for job in every)
    text, status = query.get("q", "").casefold(), query.get("status", "")
    chosen = []
    for job in every:
        properties = job.body["properties"]
        words = f"{job.name} {properties.get('displayName')} {properties.get('endpointName')}"
        if status in ("", job.status) and text in words.casefold():
            chosen.append(job)
    page = paginate(chosen, query)
    return {
        **page,
        "rows": [_job_row(job) for job in page["rows"]],
        "statuses": statuses,
        "read": read + 1 if len(every) == limit and read < _MOST_TIMES else None,
    }


def paginate(rows: Sequence[Any], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the rows of the requested page, and the numbers of the pages."""
    pages = max(-(-len(rows) // PAGE), 1)
    page = _whole_number(query, "page", pages)
    return {
        "rows": rows[(page - 1) * PAGE : page * PAGE],
        "page": page,
        "pages": pages,
        "count": len(rows),
        "query": {
            key: value for key, value in query.items() if key not in ("page", "part") and value
        },
    }


def _whole_number(query: Mapping[str, str], key: str, most: int) -> int:
    """Return a number of a query from 1 to `most`; 1 if absent."""
    text = query.get(key, "")[:8]
    return min(max(int(text) if text.isdecimal() else 1, 1), most)


def job(watch: Watch, name: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a job, its parts in order, its events, and what it has logged.

    Raises:
        NotFound: there is no such job.
    """
    backend_jobs = _jobs(watch.backend)
    if backend_jobs is None:
        raise ServiceError("NoJobs", "This backend has no jobs.", status=404)
    shown = backend_jobs.show(name)
    properties: Mapping[str, Any] = shown.body["properties"]
    run: Mapping[str, Any] = properties.get("run") or {}
    children = [] if properties["jobType"] == "Batch" else backend_jobs.children(shown.name)
    parts = [_job_row(part) for part in children]
    return {
        **_job_row(shown),
        "name": shown.name,
        "ended": shown.ended,
        "run": {key: value for key, value in run.items() if not isinstance(value, dict)},
        "counts": run.get("mini_batches"),
        "tags": properties.get("tags") or {},
        "reason": run.get("reason"),
        "warning": run.get("warning"),
        "parts": paginate(parts, query),
        "stages": _stages(parts, _needs(watch, shown, parts)) if 0 < len(parts) <= PAGE else [],
        "compute": str(properties.get("computeId") or "").rpartition("/")[2],
        "deployment": properties.get("deploymentName"),
        "studio_url": ((properties.get("services") or {}).get("Studio") or {}).get("endpoint"),
        "has_steps": "steps" in run,
    }


_AFTER = re.compile(r"parent\.jobs\.([\w-]+)")


def _stages(parts: Sequence[dict[str, Any]], needs: Mapping[str, Sequence[str]]) -> list[Any]:
    """Group the steps of a pipeline by the longest path to each, with what each needs.

    `needs` has the names of the parts that each part needs.
    """
    titles = {part["name"]: part["title"] for part in parts}
    needs = {name: [at for at in needs.get(name, ()) if at in titles] for name in titles}
    depth = dict.fromkeys(titles, 0)
    for _ in titles:  # no path is longer than the number of steps
        for name, earlier in needs.items():
            depth[name] = max((depth[at] + 1 for at in earlier if at != name), default=0)
    stages: dict[int, list[Any]] = {}
    for part in parts:
        earlier = [titles[at] for at in needs[part["name"]]]
        stages.setdefault(depth[part["name"]], []).append({**part, "after": earlier})
    return [stages[at] for at in sorted(stages)] if any(needs.values()) else []


def _needs(watch: Watch, job: Job, parts: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Return which parts each part of a job needs, from the engine or the job on Azure."""
    if watch.local is not None:
        handle = watch.local.handle
        with handle.store.read() as db:
            engine_name = command_log.engine_name(handle.state(db).id, job.name)
        with replay.current(handle.store) as world:
            group = ended_jobs.find(world, engine_name)
        members = group.spec.members if isinstance(group, GroupJob) else ()
        return {
            command_log.resource_name(member.spec.name): [
                command_log.resource_name(name) for name in member.after
            ]
            for member in members
        }
    names = {str(part["title"]): part["name"] for part in parts}
    declared: Mapping[str, Any] = job.body["properties"].get("jobs") or {}
    return {
        names[step]: [names[at] for at in _AFTER.findall(str(body)) if at in names]
        for step, body in declared.items()
        if step in names
    }


def job_lines(watch: Watch, name: str) -> list[str]:
    """Return the last events of a simulated job, newest first, as in `job stream`."""
    handle = watch.cloud.handle
    update = next(job_events.follow(handle, name, 0.0, detail=True))
    events = [event for event in update.events if event.event not in _QUIET]
    return [_line(event.at, event.event, event.facts) for event in events[:-_MOST_LINES:-1]]


def outputs(backend: Backend, name: str) -> list[dict[str, Any]]:
    """Return the files of a job, logs first, each with its beginning; none if they are gone."""
    jobs: object = _jobs(backend)
    files = jobs.outputs(name) if isinstance(jobs, SupportsOutputs) else iter(())
    texts = [
        (str(path), text.encode("utf-8", "replace").decode())
        for path, text in islice(files, _MOST_FILES)
    ]
    return [
        {"path": path, "text": text[:_MOST_TEXT], "size": len(text), "cut": len(text) > _MOST_TEXT}
        for path, text in sorted(texts, key=lambda file: ("logs" not in file[0], file[0]))
    ]


def event_lines(watch: Watch, count: int) -> list[str]:
    """Return the last events of the simulated workspace, newest first."""
    events = list(watch.follow().events)[-count:]
    return [_line(event.at, event.event, event.facts) for event in reversed(events)]


def _line(at: float, event: str, facts: Mapping[str, object]) -> str:
    return job_text.line(JobEvent(at, event, facts), whose=True)


def metric_points(watch: Watch, name: str) -> list[tuple[float, int]]:
    """Return what a training job has logged, thinned: seconds since submission, and the step."""
    backend_jobs = _jobs(watch.backend)
    assert backend_jobs is not None
    return [(point.at, point.step) for point in _thin(backend_jobs.metrics(name))]


def _thin(points: Sequence[T]) -> list[T]:
    """Choose evenly at most twice as many points as a chart shows, including the last."""
    step = max(len(points) // MOST_POINTS, 1)
    return [*points[:-1:step], *points[-1:]]


def endpoints(backend: Backend, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of endpoints, online ones first, with their deployments and traffic."""
    every = [(kind, live) for kind in _ENDPOINTS for live in backend.list(kind)]
    page = paginate(every, query)
    rows = [
        {
            "name": live.address.name,
            "kind": kind.partition("-")[0],
            "state": live.body["properties"].get("provisioningState"),
            "auth": live.body["properties"].get("authMode"),
            "uri": live.body["properties"].get("scoringUri"),
            "deployments": list(_deployments(backend, live, _ENDPOINTS[kind])),
        }
        for kind, live in page["rows"]
    ]
    return {**page, "rows": rows}


def _deployments(backend: Backend, endpoint: Live, kind: str) -> Iterator[dict[str, Any]]:
    properties: Mapping[str, Any] = endpoint.body["properties"]
    traffic, default = properties.get("traffic"), properties.get("defaults") or {}
    for live in backend.list(kind, endpoint.address.name):
        settings: Mapping[str, Any] = live.body["properties"]
        sku = live.body.get("sku") or {}
        name = live.address.name
        yield {
            "name": name,
            "share": None if traffic is None else traffic.get(name, 0),  # for online endpoints only
            "default": default.get("deploymentName") == name,
            "state": settings.get("provisioningState"),
            "model": _short(settings.get("model")),
            "runs_on": settings.get("instanceType") or _short(settings.get("compute")),
            "instances": sku.get("capacity")
            or (settings.get("resources") or {}).get("instanceCount"),
        }


def _short(reference: Data) -> str:
    """Return the name of a reference's target, with its version."""
    if isinstance(reference, dict):
        reference = reference.get("assetId") or reference.get("path") or ""
    path, _, version = str(reference or "").strip("/").partition("/versions/")
    return path.rpartition("/")[2] + (f":{version}" if version else "")


def logs(backend: Backend, endpoint: str, deployment: str) -> str:
    """Return the last lines that an online deployment has logged."""
    if not isinstance(backend, SupportsScoring):
        return ""
    address = Address("online-deployment", deployment, endpoint)
    return backend.logs(address, 100, "InferenceServer")


def _usage(watch: Watch) -> list[metrics.UsageRow]:
    return [] if watch.local is None else metrics.summarize_usage(watch.local.handle)


def bill(watch: Watch) -> dict[str, Any] | None:
    """Return node-hours and cost by tier, and their sum; None on Azure, which has its own bill."""
    if watch.local is None:
        return None
    totals = [row for row in _usage(watch) if row.kind == "total"]
    complete = all(row.cost is not None for row in totals)
    return {
        "tiers": totals,
        "sum": sum(row.cost or 0.0 for row in totals),
        "known": complete,
        "hours": sum(row.node_hours for row in totals),
    }


def weather(watch: Watch) -> dict[str, Any]:
    """Return what takes nodes away, the region's capacity, and the faults that are set."""
    handle = watch.cloud.handle
    status = control.status(handle)
    return {
        "preemption": disruptions.preemption(handle),
        "capacity": {tier.value: text for tier, text in disruptions.capacity(handle).items()},
        "faults": [fault.to_json() for fault in status.faults],
        "locks": [lock.scope.rpartition("/")[2] for lock in status.locks],
        "settings": disruptions.parameters(handle),
    }


def series(watch: Watch, cluster: str) -> dict[str, Any]:
    """Return the nodes of a cluster, or of all (""), over time: seconds, then one per state."""
    history = watch.follow()
    now = control.now(watch.cloud.handle)
    chosen = [cluster] if cluster else list(history.nodes)
    points = [history.nodes[name] for name in chosen if name in history.nodes]
    times = _thin(sorted({at for series_ in points for at in series_.times} | {now}))
    rows: list[list[float]] = [[] for _ in STATES]
    places = [0] * len(points)
    for at in times:
        totals = [0.0] * len(NodeState)
        for number, series_ in enumerate(points):
            while places[number] < len(series_.times) and series_.times[places[number]] <= at:
                places[number] += 1
            if places[number]:
                for state, count in enumerate(series_.rows[places[number] - 1]):
                    totals[state] += count
        for row, state_name in zip(rows, STATES, strict=True):
            row.append(totals[NodeState[state_name.upper()]])
    return {"names": list(STATES), "data": [times, *rows]}
