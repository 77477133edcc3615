"""MLflow's file store, to which a local job logs: the run that it is started with, and others.

STORE/EXPERIMENT/RUN/{metrics,params,tags}/NAME     a file for each; of a metric a line per value
STORE/EXPERIMENT/models/ID/{meta.yaml,artifacts}    the models that MLflow 3 keeps by themselves
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.blob_store import BlobStore, ItemKind
from mlctl.simulator.control_plane.state.errors import bad

FOLDER = "mlruns"  # of the store, in that of a job
_EXPERIMENT = "0"
_PARENT = "mlflow.parentRunId"
_FIELD = re.compile(r"^(\w+): '?(.*?)'?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A logged value: `at` in milliseconds of the wall clock."""

    name: str
    value: float
    at: int
    step: int


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run of a store; `meta` is what MLflow has written of it, as text."""

    id: str
    folder: Path
    meta: Mapping[str, str]

    @property
    def began(self) -> int:
        """Return when it began, in milliseconds; 0 if unknown."""
        return int(text) if (text := self.meta.get("start_time", "")).isdecimal() else 0

    @property
    def parent(self) -> str | None:
        """Return the run in which it was started."""
        return self.tags.get(_PARENT)

    @property
    def metrics(self) -> list[MetricValue]:
        """Return the values of all metrics, each in the order in which they were logged."""
        files = _files(self.folder / "metrics")
        return [value for name, file in files for value in metric_values(name, file)]

    @property
    def params(self) -> dict[str, str]:
        """Return the parameters by name."""
        return {name: _text(file) for name, file in _files(self.folder / "params")}

    @property
    def tags(self) -> dict[str, str]:
        """Return the tags by name."""
        return {name: _text(file) for name, file in _files(self.folder / "tags")}


def begin_run(store: Path, run: str, artifacts: Path | None = None, began: int = 0) -> None:
    """Make a store with a run, as the service has one for each job.

    What the run logs as artifacts goes to the folder `artifacts`, else to one of the run itself.
    """
    experiment = store / _EXPERIMENT
    for name in ("metrics", "params", "tags", "artifacts"):
        (experiment / run / name).mkdir(parents=True)
    text = _template("mlflow_experiment.yml").format(at=experiment.as_uri())
    (experiment / "meta.yaml").write_text(text, encoding="utf-8")
    at = (artifacts or experiment / run / "artifacts").as_uri()
    text = _template("mlflow_run.yml").format(at=at, run=run, began=began)
    (experiment / run / "meta.yaml").write_text(text, encoding="utf-8")


def sets_experiment(code: Path) -> bool:
    """Whether code names an experiment: MLflow takes no run of another one then."""
    scripts = (path for path in code.rglob("*.py") if path.is_file())
    return any(b"set_experiment" in script.read_bytes() for script in scripts)


def runs(folder: Path) -> Iterator[StoredRun]:
    """Return the runs in the store of a job's folder, in the order in which they began."""
    places = [path.parent for path in (folder / FOLDER).glob("*/*/metrics")]
    stored = [StoredRun(place.name, place, _meta(place)) for place in places]
    yield from sorted(stored, key=lambda run: (run.began, run.id))


def gather(folder: Path, artifacts: Path) -> None:
    """Link other logged files into the `artifacts` folder of a job, unless names are taken.

    That is what MLflow 3 keeps as models, and the artifacts of runs that the job has begun itself.
    """
    places = {}
    for model in sorted((folder / FOLDER).glob("*/models/*/artifacts")):
        places[_meta(model.parent).get("name") or model.parent.name] = model
    for run in runs(folder):
        if run.parent is None:
            places |= {path.name: path for path in (run.folder / "artifacts").glob("*")}
    for name, place in places.items():
        target = artifacts / name
        if not target.exists() and target.parent == artifacts:
            with suppress(OSError):  # such names are none of files here
                target.symlink_to(place)


def metric_values(name: str, file: Path) -> Iterator[MetricValue]:
    """Read the values in a metric's file: a time, a value and a step on each line."""
    for line in _text(file).splitlines():
        words = line.split()
        with suppress(ValueError, IndexError):  # half a line
            yield MetricValue(name, float(words[1]), int(words[0]), int(words[2]))


def _template(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _meta(folder: Path) -> dict[str, str]:
    file = folder / "meta.yaml"
    return dict(_FIELD.findall(_text(file))) if file.is_file() else {}


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Return the files in a folder by name, in which MLflow uses folders for slashes."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


# What clients have logged by HTTP: a run has the name of a job, where it is one, and this is then
# beside what the job's code has left in its file store.
_NEW: Mapping[str, Data] = {"info": {}, "params": {}, "tags": {}, "batches": 0}


def log_run(
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


def find_run(items: BlobStore, scope: Scope, run: str) -> dict[str, Data] | None:
    """Return the `info`, `params` and `tags` of a run; None if nothing was logged to it."""
    item = items.find(ItemKind.RUN, f"{scope}/{run}")
    return None if item is None else dict(item.note)


def run_names(items: BlobStore, scope: Scope) -> list[str]:
    """Return the names of the workspace's runs."""
    return [item.name.rpartition("/")[2] for item in items.list(ItemKind.RUN, f"{scope}/")]


def run_metrics(items: BlobStore, scope: Scope, run: str) -> Iterator[MetricValue]:
    """Return the values of the metrics of a run, in the order in which they were logged."""
    for item in items.list(ItemKind.METRICS, f"{scope}/{run}/"):
        for name, value, at, step in item.note:
            yield MetricValue(name, float(value), at, step)
