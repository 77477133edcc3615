"""The workloads of a simulated cloud: named, checked and stored.

Nothing here is published by the service: each figure of `USUAL` is an assumption, there so that a
job can be invoked by az's flags alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from math import inf, isfinite
from sqlite3 import Connection

from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.workload import DEFAULT_NAME, Workload

DEFAULT_WORKLOAD = Workload(files=100, seconds_per_file=1.0, steps=100, seconds_per_step=60.0)


def check(load: Workload) -> None:
    """See that every figure makes sense.

    Raises:
        ServiceError: one does not.
    """
    for slot in fields(load):
        value = getattr(load, slot.name)
        numbers = value if isinstance(value, tuple) else () if value is None else (value,)
        most = 1 if slot.name == "fail_probability" else inf
        if not all(isfinite(number) and 0 <= number <= most for number in numbers):
            bounds = "not be negative" if most == inf else "be between 0 and 1"
            raise bad(f"`{slot.name}` must {bounds}, not {value}.")


def save(db: Connection, name: str, load: Workload) -> None:
    """Write a workload down, over what it was."""
    said = {slot.name: getattr(load, slot.name) for slot in fields(load)}
    text = json.dumps({key: value for key, value in said.items() if value is not None})
    db.execute("INSERT OR REPLACE INTO workloads VALUES (?, ?)", (name, text))


def find(db: Connection, name: str) -> Workload | None:
    """The workload of that name, with the usual figures where it says nothing."""
    row = db.execute("SELECT spec FROM workloads WHERE name = ?", (name,)).fetchone()
    if row is None:
        return DEFAULT_WORKLOAD if name == DEFAULT_NAME else None
    return _read(json.loads(row[0])).over(DEFAULT_WORKLOAD)


def get(db: Connection, name: str) -> Workload:
    """`find`, where there must be one.

    Raises:
        ServiceError: there is none (404); says which there are.
    """
    found = find(db, name)
    if found is None:
        known = ", ".join(f"`{one}`" for one in names(db))
        text = f"There is no workload `{name}`; there is: {known}."
        raise NotFound("WorkloadNotFound", text)
    return found


def names(db: Connection) -> list[str]:
    """The workloads that there are."""
    rows = db.execute("SELECT name FROM workloads WHERE name <> ? ORDER BY name", (DEFAULT_NAME,))
    return [DEFAULT_NAME, *(str(name) for (name,) in rows)]


def _read(data: Mapping[str, object]) -> Workload:
    times = data.get("times")
    given = {**data, "times": tuple(times)} if isinstance(times, list) else data
    return Workload(**given)  # type: ignore[arg-type]  # what `save` wrote
