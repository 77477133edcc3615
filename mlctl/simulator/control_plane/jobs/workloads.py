"""Named workloads of a simulated cloud: checked, stored and looked up.

Azure publishes none of these figures: each of `DEFAULT_WORKLOAD` is an assumption, so that a job
can be submitted with az's flags alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from sqlite3 import Connection

from mlctl.dataclasses import dataclass, field, fields, replace
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.engine.model import BatchWork
from mlctl.workload import DEFAULT_NAME, Workload

DEFAULT_WORKLOAD = Workload(files=100, seconds_per_file=1.0, steps=100)
_STEP_S = 60.0  # the time of a step where none is given and the job has no limit
# Which figures are those of a batch job, and which those of a training job.
BATCH = (
    "files",
    "seconds_per_file",
    "seconds_per_mini_batch",
    "seconds_per_start",
    "times",
    "cv",
    "fail_probability",
)
TRAINING = (
    "steps",
    "seconds_per_step",
    "checkpoint_every",
    "seconds_per_checkpoint",
    "seconds_to_restore",
    "fail_probability",
)
_DEFAULT_PART = Workload(steps=10)  # of a pipeline or sweep, whose parts are smaller than a job


@dataclass(frozen=True, slots=True)
class WorkloadSource:
    """The given figures of a job's work (`by`: how), over those of a stored workload."""

    workload: Workload
    name: str
    by: str


@dataclass(frozen=True, slots=True)
class CodeResult:
    """The result of the user's code for a job or step: its measured work, and notes.

    `note` has the folder of its `results`, and the text of a `failure`. `trials` are of a sweep.
    """

    workload: Workload
    note: Mapping[str, Data]
    trials: tuple[CodeResult, ...] = ()


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to submit: its name (None: generated), ARM's properties, and its work.

    A step of a pipeline has the workload that is stored under its name, or else `workload_name`;
    `workload` goes over both. `ran` is what came of the user's own code, where that was run, by the
    path of a step (`prepare.clean`); of the job itself by "".
    """

    name: str | None
    properties: Mapping[str, Data]
    workload: Workload = Workload()
    workload_name: str = DEFAULT_NAME
    ran: Mapping[str, CodeResult] = field(default_factory=dict)

    @property
    def source(self) -> WorkloadSource:
        """Return where the figures of its work are from."""
        return WorkloadSource(self.workload, self.workload_name, "the submission")


def check(workload: Workload) -> None:
    """Check every figure of a workload.

    Raises:
        ServiceError: one is not valid.
    """
    for slot in fields(workload):
        value = getattr(workload, slot.name)
        numbers = value if isinstance(value, tuple) else () if value is None else (value,)
        limit = 1 if slot.name == "fail_probability" else inf
        if not all(isfinite(number) and 0 <= number <= limit for number in numbers):
            bounds = "not be negative" if limit == inf else "be between 0 and 1"
            raise bad(f"`{slot.name}` must {bounds}, not {value}.")


def save(db: Connection, name: str, workload: Workload) -> None:
    """Store a workload, replacing the one of that name."""
    figures = {slot.name: getattr(workload, slot.name) for slot in fields(workload)}
    text = json.dumps({key: value for key, value in figures.items() if value is not None})
    db.execute("INSERT OR REPLACE INTO workloads VALUES (?, ?)", (name, text))


def find_stored(db: Connection, name: str) -> Workload:
    """Return what was set of a workload, without default figures."""
    row = db.execute("SELECT spec FROM workloads WHERE name = ?", (name,)).fetchone()
    return _read(json.loads(row[0])) if row is not None else Workload()


def get(db: Connection, name: str) -> Workload:
    """Return the workload of that name, with default figures for those not set.

    Raises:
        ServiceError: there is none (404); lists those that exist.
    """
    if name not in names(db):
        existing = ", ".join(f"`{existing_name}`" for existing_name in names(db))
        text = f"There is no workload `{name}`; there is: {existing}."
        raise NotFound("WorkloadNotFound", text)
    return find_stored(db, name).over(DEFAULT_WORKLOAD)


def part_workload(db: Connection, part: str, name: str) -> Workload:
    """Return the workload of a step or trial: stored under its name, or else `name`."""
    stored_names = _stored_names(db)
    if part in stored_names:
        return get(db, part)
    workload = get(db, name)
    return workload if name in stored_names else _DEFAULT_PART.over(workload)


def step_time(workload: Workload, limit_s: float | None) -> float:
    """Return the time of a step; an assumed one lets a job end well within its time limit."""
    if workload.seconds_per_step is not None:
        return workload.seconds_per_step
    return _STEP_S if limit_s is None else min(_STEP_S, limit_s / 2 / max(workload.steps or 0, 1))


def describe(
    db: Connection,
    source: WorkloadSource,
    figures: Sequence[str],
    part: str | None = None,
    *,
    limit_s: float | None = None,
) -> dict[str, Data]:
    """Return the work of a job in figures, with the source of each in `said_by`.

    `part` is the name of a step or trial, `limit_s` the time that the job may take.
    """
    stored_name = part if part is not None and part in _stored_names(db) else source.name
    base = get(db, stored_name) if part is None else part_workload(db, part, source.name)
    workload, stored_workload = source.workload.over(base), find_stored(db, stored_name)
    workload = replace(workload, seconds_per_step=step_time(workload, limit_s))
    figures_shown: dict[str, Data] = {}
    sources: dict[str, Data] = {}
    for name in figures:
        value = getattr(workload, name)
        if value is None:
            continue
        figures_shown[name] = f"{len(value)} times" if isinstance(value, tuple) else value
        if getattr(source.workload, name) is not None:
            sources[name] = source.by
        elif getattr(stored_workload, name) is not None:
            sources[name] = f"workload {stored_name}"
        else:
            sources[name] = "assumed"
    return {**figures_shown, "said_by": sources}


def names(db: Connection) -> list[str]:
    """Return the names of all workloads, the default one first."""
    return [DEFAULT_NAME, *(name for name in _stored_names(db) if name != DEFAULT_NAME)]


def _stored_names(db: Connection) -> list[str]:
    rows = db.execute("SELECT name FROM workloads ORDER BY name")
    return [str(name) for (name,) in rows]


def _read(data: Mapping[str, object]) -> Workload:
    times = data.get("times")
    values = {**data, "times": tuple(times)} if isinstance(times, list) else data
    return Workload(**values)  # type: ignore[arg-type]  # what `save` wrote


def batch_work(workload: Workload) -> BatchWork:
    """Return the engine's form of a workload."""
    return BatchWork(
        workload.seconds_per_file or 0.0,
        workload.seconds_per_mini_batch or 0.0,
        workload.cv or 0.0,
        workload.fail_probability or 0.0,
        workload.times or (),
        workload.seconds_per_start or 0.0,
    )
