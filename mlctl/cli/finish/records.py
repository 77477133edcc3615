"""Read the journals of jobs that `mlctl finish` carries out, and summarize them as data."""

from __future__ import annotations

from typing import Any

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import Journals, SupportsJournals
from mlctl.cli.az.jobs import jobs_of
from mlctl.dataclasses import asdict
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.controller import RunState
from mlctl.finishing.progress import Progress, Record
from mlctl.service_errors import NotFound


def get_journals(backend: Backend) -> Journals:
    """Return the journals of a workspace."""
    assert isinstance(backend, SupportsJournals)  # every backend has them
    return backend.journals


def read_records(journals: Journals, name: str) -> list[Record]:
    """Read the journal of a job."""
    records = journals.read(name)
    if not records:
        raise NotFound(
            "FinishNotFound", f"there is no job `{name}`: see mlctl finish list", status=404
        )
    return records


def get_cloud(backend: Backend) -> WorkspaceCloud:
    """Return the cloud of a workspace's backend."""
    return WorkspaceCloud(backend, jobs_of(backend))


def describe(records: list[Record], now: float) -> dict[str, Any]:
    """Return a job as data at a moment; its outlook is left empty."""
    forecast = records[0].get("forecast") or []
    return summarize(Progress.from_records(records)) | {
        "forecast": forecast,
        "now": now,
        "outlook": None,
    }


def summarize(progress: Progress, state: RunState | None = None) -> dict[str, Any]:
    """Return a job as data; `state`, if given, adds the steps in checkpoints of its run."""
    order, left = progress.order, progress.files_left
    if state is not None and state.saved:
        left = min(left, sum(order.sizes) - state.saved)
    return {
        "name": order.name,
        "outcome": progress.outcome.value if progress.outcome else None,
        "reason": progress.reason,
        "policy": order.policy,
        "deadline_s": order.deadline_s,
        "max_cost": order.max_cost,
        "nodes": order.nodes,
        "began": progress.began,
        "shards": {"total": len(order.sizes), "done": progress.shard},
        "files": {"total": sum(order.sizes), "left": left},
        "unit": "step" if order.checkpoint else "run" if order.whole else "shard",
        "spent": progress.spent,
        "switches": progress.switches,
        "runs": [
            {**asdict(run), "tier": run.tier.value, "usd": order.cost(run.node_s, run.tier)}
            for run in progress.runs
        ],
        "made": list(progress.twins),
    }
