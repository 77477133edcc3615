"""The journals of jobs that are finished, and what they say as data."""

from __future__ import annotations

from typing import Any

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import Journals, SupportsJournals
from mlctl.cli.az.jobs import jobs_of
from mlctl.dataclasses import asdict
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.controller import Look
from mlctl.finishing.progress import Progress, Record
from mlctl.service_errors import NotFound


def journals_of(backend: Backend) -> Journals:
    """The journals of a workspace."""
    assert isinstance(backend, SupportsJournals)  # as every backend
    return backend.journals


def records_of(journals: Journals, name: str) -> list[Record]:
    """The journal of a job.

    Raises:
        NotFound: there is none.
    """
    records = journals.read(name)
    if not records:
        raise NotFound("FinishNotFound", f"there is no `{name}`: see mlctl finish list", status=404)
    return records


def cloud_of(backend: Backend) -> WorkspaceCloud:
    """Where the runs are, by a workspace's backend."""
    return WorkspaceCloud(backend, jobs_of(backend))


def document(records: list[Record], now: float) -> dict[str, Any]:
    """A job as data at a moment; what is still to come is left open."""
    forecast = records[0].get("forecast") or []
    return summary(Progress.of(records)) | {"forecast": forecast, "now": now, "outlook": None}


def summary(progress: Progress, look: Look | None = None) -> dict[str, Any]:
    """A job as data; with a look at the run under way, the steps in its checkpoints count, too."""
    order, left = progress.order, progress.files_left
    if look is not None and look.saved:
        left = min(left, sum(order.sizes) - look.saved)
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
