"""The metrics of a training: MLflow's file store, and logs of steps in `outputs`."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from mlctl.rehearsal.training.model import Metrics
from mlctl.simulator.control_plane.jobs.mlflow_store import metric_values

_STEPS = ("step", "epoch", "global_step", "iteration")
_LOGS = (".jsonl", ".ndjson", ".csv", ".tsv")


def read_metrics(folder: Path) -> tuple[Metrics, frozenset[str]]:
    """How often each step of each metric was logged, and the files in `outputs` that say so."""
    metrics: Metrics = Counter()
    for file in sorted((folder / "mlruns").glob("*/*/metrics/**/*")):
        if file.is_file():
            metrics.update((file.name, value.step) for value in metric_values(file.name, file))
    names = set()
    for file in sorted(path for path in (folder / "outputs").rglob("*") if path.suffix in _LOGS):
        steps = list(_of_log(file))
        if steps:
            metrics.update((file.name, step) for step in steps)
            names.add(file.relative_to(folder).as_posix())
    return metrics, frozenset(names)


def _of_log(file: Path) -> Iterator[int]:
    """The steps of a table that has a column of them, or of JSON lines."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    entries: Iterator[Any] = _rows(lines, file.suffix) if "sv" in file.suffix else _objects(lines)
    for entry in entries:
        step = _step(entry)
        if step is not None:
            yield step


def _rows(lines: list[str], suffix: str) -> Iterator[dict[Any, Any]]:
    with suppress(csv.Error):
        yield from csv.DictReader(lines, delimiter="\t" if suffix == ".tsv" else ",")


def _objects(lines: list[str]) -> Iterator[dict[Any, Any]]:
    for line in lines:
        with suppress(ValueError):  # half a line, too
            entry = json.loads(line)
            if isinstance(entry, dict):
                yield entry


def _step(entry: dict[Any, Any]) -> int | None:
    """The step of an entry; the first of the names that it has."""
    for key in _STEPS:
        value = entry.get(key)
        with suppress(TypeError, ValueError):
            if not isinstance(value, bool):
                return int(value)  # type: ignore[arg-type]
    return None
