"""Checkpoints of the engine's state, for processes that do not have it in memory.

A checkpoint is a cache: it can be computed from the commands. It pays where storing it is faster
than computing it again. Jobs that have ended for good become rows of their own: else each command
would read a thousand of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from sqlite3 import Connection
from typing import Any

from mlctl.dataclasses import dataclass
from mlctl.simulator.control_plane.state.store import START_AGAIN, LocalStateError, Store
from mlctl.simulator.engine import snapshot
from mlctl.simulator.engine.ended_jobs import may_leave
from mlctl.simulator.engine.jobs import AnyJob
from mlctl.simulator.engine.model import SimulationSettings
from mlctl.simulator.engine.state import World

# The VMs of a pool come when the control plane's operation ends, which has its own duration.
ENGINE_SETTINGS = SimulationSettings(provisioning_s=0.0)
_EVENTS_PER_CHECKPOINT = 20_000  # on a long way
_EVENTS_TO_REPLAY = 500  # at the end of it, and as many as there is to store


@dataclass(slots=True)
class EngineCache:
    """The engine in memory, valid as long as the database has the same `generation` (no reset).

    `last` is the time and number of the last command applied, `saved` the engine's event count when
    a checkpoint was stored last.
    """

    generation: int
    world: World
    last: tuple[float, int]
    saved: int


def load(store: Store, db: Connection) -> EngineCache:
    """The engine in memory, or else the stored checkpoint; a new one where that is of another
    version, for the commands make the same of it."""
    cache = store.engine_cache
    generation, at = db.execute("SELECT generation, now FROM engine").fetchone()
    if isinstance(cache, EngineCache) and cache.generation == generation and at <= cache.world.now:
        return cache
    row = db.execute("SELECT generation, last_at, last_command, state FROM engine").fetchone()
    generation, last_at, last_command, text = row
    try:
        world = snapshot.load(json.loads(text)) if text else new_world(db)
    except snapshot.OtherVersionError:
        world, last_at, last_command = new_world(db), -1.0, 0
    world.ended_jobs = EndedJobs(db, world.number)
    cache = store.engine_cache = EngineCache(
        generation, world, (last_at, last_command), world.number
    )
    return cache


@contextmanager
def explain_other_versions() -> Iterator[None]:
    """Raise a LocalStateError in the block if data is of another version of mlctl."""
    try:
        yield
    except snapshot.OtherVersionError:
        text = "another version of mlctl wrote the local state, and this one cannot read its jobs"
        raise LocalStateError(f"{text}: use that version, or {START_AGAIN}.") from None


def new_world(db: Connection) -> World:
    (seed,) = db.execute("SELECT seed FROM world").fetchone()
    return World(str(seed), settings=ENGINE_SETTINGS)


def is_due(cache: EngineCache, *, arrived: bool) -> bool:
    """Whether to store a checkpoint: on a long way against a kill, at its end for other processes.

    Storing a node or a running job takes about as long as replaying an event.
    """
    world = cache.world
    limit = _EVENTS_PER_CHECKPOINT
    if arrived:
        node_count = sum(len(cluster.nodes) for cluster in world.clusters.values())
        limit = min(limit, _EVENTS_TO_REPLAY + node_count + len(world.queue))
    return world.number - cache.saved > limit


def save(db: Connection, cache: EngineCache) -> None:
    """Store a checkpoint, unless another process has a later one or the cloud was reset.

    Jobs that have ended for good leave the engine's state.
    """
    world = cache.world
    cache.saved = world.number
    data, leaving = snapshot.dump(world), may_leave(world)
    jobs = data.get("jobs", [])
    data["jobs"] = [job for job in jobs if job[0] not in leaving]
    stored = db.execute(
        "UPDATE engine SET now = ?, last_at = ?, last_command = ?, state = ?"
        " WHERE generation = ? AND now <= ?",
        (world.now, *cache.last, _encode(data), cache.generation, world.now),
    )
    if stored.rowcount:
        _add_ended_jobs(db, world.number, (job for job in jobs if job[0] in leaving))
        world.ended_jobs = EndedJobs(db, world.number)
        for name in leaving:
            del world.jobs[name]


class EndedJobs(Mapping[str, AnyJob]):
    """Jobs that left the engine's state up to the event number `event`, by name; read on demand.

    Later ones are left out: an engine at `event` still has them.
    """

    def __init__(self, db: Connection, event: int) -> None:
        self._db, self._event = db, event

    def __getitem__(self, name: str) -> AnyJob:
        query = "SELECT state FROM ended_jobs WHERE name = ? AND event <= ?"
        row = self._db.execute(query, (name, self._event)).fetchone()
        if row is None:
            raise KeyError(name)
        with explain_other_versions():
            return snapshot.load_job(json.loads(row[0]))

    def __iter__(self) -> Iterator[str]:
        query = "SELECT name FROM ended_jobs WHERE event <= ?"
        return (str(name) for (name,) in self._db.execute(query, (self._event,)).fetchall())

    def __len__(self) -> int:
        query = "SELECT count(*) FROM ended_jobs WHERE event <= ?"
        return int(self._db.execute(query, (self._event,)).fetchone()[0])


def _add_ended_jobs(db: Connection, event: int, jobs: Iterable[tuple[str, Any]]) -> None:
    """Store the states of jobs, as `snapshot.dump` has them, that leave after an event.

    Another process may have stored some already: the same, unless it was of another version.
    """
    db.executemany(
        "INSERT INTO ended_jobs VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET event = min(event, excluded.event), state = excluded.state",
        ((name, event, _encode(state)) for name, state in jobs),
    )


_encode = json.JSONEncoder(separators=(",", ":")).encode
