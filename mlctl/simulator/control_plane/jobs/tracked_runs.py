"""What MLflow's clients have logged to a workspace by HTTP: runs, and batches of metrics.

A run has the name of a job, where it is one: what is here is then beside what the job's code has
left in its file store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlctl.kinds.address import Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane.jobs.mlflow_store import MetricValue
from mlctl.simulator.control_plane.state.blob_store import BlobStore, ItemKind
from mlctl.simulator.control_plane.state.errors import bad

_NEW: Mapping[str, Data] = {"info": {}, "params": {}, "tags": {}, "batches": 0}


def log(
    items: BlobStore,
    scope: Scope,
    run: str,
    changes: Mapping[str, Mapping[str, Data]],
    metrics: Sequence[MetricValue] = (),
) -> None:
    """Log to a run, created if new: `changes` of its `info`, `params` and `tags` by name.

    Raises:
        ServiceError: 400, a parameter has another value already.
    """
    name = f"{scope}/{run}"

    def change(old: Data) -> dict[str, Data]:
        note: dict[str, Data] = {**_NEW, **(old or {})}
        for key, value in changes.get("params", {}).items():
            if note["params"].get(key, value) != value:
                text = f"The parameter `{key}` is `{note['params'][key]}`: it cannot be changed."
                raise bad(text, "INVALID_PARAMETER_VALUE")
        for part, values in changes.items():
            merged = {**note[part], **values}
            note[part] = {key: value for key, value in merged.items() if value is not None}
        note["batches"] += bool(metrics)
        return note

    note = items.update(ItemKind.RUN, name, change)
    if metrics:
        batch = [[metric.name, metric.value, metric.at, metric.step] for metric in metrics]
        items.put(ItemKind.METRICS, f"{name}/{note['batches']:09}", batch)


def find(items: BlobStore, scope: Scope, run: str) -> dict[str, Data] | None:
    """Return the `info`, `params` and `tags` of a run; None if nothing was logged to it."""
    item = items.find(ItemKind.RUN, f"{scope}/{run}")
    return None if item is None else dict(item.note)


def forget(items: BlobStore, scope: Scope, run: str) -> None:
    """Delete a run."""
    items.delete(ItemKind.RUN, f"{scope}/{run}")


def names(items: BlobStore, scope: Scope) -> list[str]:
    """Return the names of the workspace's runs."""
    return [item.name.rpartition("/")[2] for item in items.list(ItemKind.RUN, f"{scope}/")]


def metrics(items: BlobStore, scope: Scope, run: str) -> Iterator[MetricValue]:
    """Return the values of the metrics of a run, in the order in which they were logged."""
    for item in items.list(ItemKind.METRICS, f"{scope}/{run}/"):
        for name, value, at, step in item.note:
            yield MetricValue(name, float(value), at, step)
