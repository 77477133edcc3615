"""Jobs that have left the engine's state: rows, read when somebody asks for one.

A row is written with the checkpoint that leaves its job out, so that the two are one. It can be
derived from the commands as all of the engine can, and serves what was computed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from sqlite3 import Connection
from typing import Any

from mlctl.simulator.engine import snapshot
from mlctl.simulator.engine.jobs import AnyJob


class EndedJobs(Mapping[str, AnyJob]):
    """The jobs that had left at the checkpoint after the engine's event number `event`, by name.

    Later ones are not among them: an engine that is not there yet has them still to come.
    """

    def __init__(self, db: Connection, event: int) -> None:
        self._db, self._event = db, event

    def __getitem__(self, name: str) -> AnyJob:
        query = "SELECT state FROM ended_jobs WHERE name = ? AND event <= ?"
        row = self._db.execute(query, (name, self._event)).fetchone()
        if row is None:
            raise KeyError(name)
        return snapshot.load_job(json.loads(row[0]))

    def __iter__(self) -> Iterator[str]:
        query = "SELECT name FROM ended_jobs WHERE event <= ?"
        return (str(name) for (name,) in self._db.execute(query, (self._event,)).fetchall())

    def __len__(self) -> int:
        query = "SELECT count(*) FROM ended_jobs WHERE event <= ?"
        return int(self._db.execute(query, (self._event,)).fetchone()[0])


def add(db: Connection, event: int, jobs: Iterable[tuple[str, Any]]) -> None:
    """Store the states of jobs, as `snapshot.dump` has them, that leave after an event.

    Another process may have stored some already: they are as they were.
    """
    db.executemany(
        "INSERT INTO ended_jobs VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET event = min(event, excluded.event)",
        ((name, event, _encode(state)) for name, state in jobs),
    )


def check(db: Connection) -> None:
    """Read all rows.

    Raises:
        Exception: one is damaged.
    """
    for (text,) in db.execute("SELECT state FROM ended_jobs").fetchall():
        snapshot.load_job(json.loads(text))


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
