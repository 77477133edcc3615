"""Run the event engine on the stored commands.

The command log contains every command to the engine with its time, and determines the whole
history. A checkpoint of the engine's state is stored now and then. Whoever needs the engine starts
from the checkpoint, or from what this process has in memory, and applies the commands up to the
clock's time. So moving the clock costs nothing, a killed process loses nothing, and the event log
need not be stored: `events` replays it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from sqlite3 import Connection

from mlctl.dataclasses import dataclass, replace
from mlctl.simulator.control_plane import checkpoints, command_log
from mlctl.simulator.control_plane.checkpoints import EngineCache
from mlctl.simulator.control_plane.command_log import CommandData
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.engine import engine, snapshot
from mlctl.simulator.engine.commands import (
    AddCluster,
    AddPool,
    Command,
    DeleteCluster,
    DeletePool,
    EngineError,
    ResizeCluster,
    ResizePool,
    SetLock,
)
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.state import World

COARSE_SLICE, FINE_SLICE = 20_000, 500  # events per time slice, roughly
_FIRST_SLICE_S = 60.0  # seconds; later slices adapt to the number of events


@dataclass(frozen=True, slots=True)
class EngineTransaction:
    """A write transaction with the engine at the clock's time."""

    db: Connection
    cache: EngineCache

    @property
    def world(self) -> World:
        """Return the state of the engine."""
        return self.cache.world


@contextmanager
def current(store: Store) -> Iterator[World]:
    """Return the engine at the clock's time, to read; long replays store checkpoints on the way."""
    with store.read() as db:
        cache = checkpoints.load(store, db)
        try:
            now, arrived = _clock(db), False
            while not arrived:
                arrived = _catch_up(db, cache, now)
                if checkpoints.is_due(cache, arrived=arrived):
                    with store.write() as writing:
                        checkpoints.save(writing, cache)
        except BaseException:
            store.engine_cache = None  # it may have stopped halfway
            raise
        yield cache.world


@contextmanager
def transaction(store: Store) -> Iterator[EngineTransaction]:
    """Begin a write transaction with the engine at the clock's time, for commands."""
    with current(store):
        pass  # stores checkpoints on the way, each in a transaction of its own
    try:
        with store.write() as db:
            cache = checkpoints.load(store, db)
            while not _catch_up(db, cache, _clock(db)):
                pass
            yield EngineTransaction(db, cache)
    except BaseException:
        store.engine_cache = None  # it may contain commands that were rolled back
        raise


def run_command(transaction: EngineTransaction, engine_command: Command) -> list[LoggedEvent]:
    """Carry out a command now and append it to the log; return its events.

    Raises:
        EngineError: the command is not valid now; nothing has changed.
    """
    engine.run(transaction.world, transaction.world.now)
    happened = engine.apply(transaction.world, engine_command)
    now = transaction.world.now
    transaction.cache.last = (
        now,
        command_log.append(transaction.db, now, snapshot.dump_command(engine_command)),
    )
    return happened


def carry_out(transaction: EngineTransaction, data: CommandData) -> None:
    """Carry out a command in JSON form now, and append it to the log."""
    engine.run(transaction.world, transaction.world.now)
    now = transaction.world.now
    transaction.cache.last = (now, command_log.append(transaction.db, now, data))
    _apply(transaction.world, snapshot.load_command(dict(data)))


@dataclass(frozen=True, slots=True)
class TimeSlice:
    """The events up to the time `now`, and whether the job has ended."""

    now: float
    events: tuple[LoggedEvent, ...]
    ended: bool


def run_job(
    store: Store, job: str, limit: float, *, events_per_slice: int, detail: bool
) -> Iterator[TimeSlice]:
    """Move the clock until the job has ended, or to `limit`.

    Each time slice is a transaction of its own, of about `events_per_slice` events. The clock stops
    if no event is scheduled any more.

    Raises:
        EngineError: there is no such job.
    """
    length, finished = _FIRST_SLICE_S, False
    while not finished:
        with transaction(store) as turn:
            now, ahead = turn.world.now, engine.next_event_time(turn.world)
            (next_command,) = turn.db.execute(
                "SELECT min(at) FROM commands WHERE at > ?", (now,)
            ).fetchone()
            stops = [] if ahead is None else [max(ahead, now) + length]
            stops += [] if next_command is None else [float(next_command)]
            slice_end = max(now, min(limit, *stops)) if stops else None
            if slice_end is None:
                return
            events = tuple(engine.wait(turn.world, job, slice_end, detail=detail))
            ended = engine.job_of(turn.world, job).ended is not None
            finished = ended or turn.world.now >= limit
            operations.advance(turn.db, turn.world.now)
            if checkpoints.is_due(turn.cache, arrived=finished):
                checkpoints.save(turn.db, turn.cache)
            time_slice = TimeSlice(turn.world.now, events, ended)
        length *= (
            2
            if len(events) < events_per_slice / 2
            else 0.5
            if len(events) > 2 * events_per_slice
            else 1
        )
        yield time_slice


def events(store: Store, *, detail: bool, start: float = 0.0) -> Iterator[LoggedEvent]:
    """Replay all events since the cloud was created or reset; some before `start` are left out.

    To leave them out is faster.
    """
    return Follower(store, detail=detail).events(start)


class Follower:
    """A continuous replay: each call returns the events since the last, from its own engine."""

    def __init__(self, store: Store, *, detail: bool) -> None:
        self._store, self._detail = store, detail
        self._world: World | None = None
        self._generation: object = None
        self._last: tuple[float, int] = (-1.0, 0)

    def events(self, start: float = 0.0) -> Iterator[LoggedEvent]:
        """Return the events since the last call; at first, since the cloud was created or reset.

        The iterator must be exhausted. Some before `start` are left out, which is faster.
        """
        with self._store.read() as db:
            world, now = self._begun(db), _clock(db)
            written = _commands_after(db, self._last, now)
        for at, number, logged in written:
            if at < start:
                engine.run(world, at)
                _apply(world, logged)
            else:
                yield from engine.advance(world, at, detail=self._detail)
                yield from _apply(world, logged)
            self._last = (at, number)
        yield from engine.advance(world, now, detail=self._detail)

    @property
    def world(self) -> World | None:
        """Return the state of its engine; None before the first call of `events`."""
        return self._world

    def was_reset(self) -> bool:
        """Whether the cloud was reset since the last call of `events`, which then begins again."""
        with self._store.read() as db:
            return self._world is not None and self._is_other(db)

    def _begun(self, db: Connection) -> World:
        if self._world is None or self._is_other(db):
            (self._generation,) = db.execute("SELECT generation FROM engine").fetchone()
            self._world, self._last = checkpoints.new_world(db), (-1.0, 0)
        return self._world

    def _is_other(self, db: Connection) -> bool:
        (generation,) = db.execute("SELECT generation FROM engine").fetchone()
        return bool(generation != self._generation)


def _clock(db: Connection) -> float:
    (now,) = db.execute("SELECT now FROM world").fetchone()
    return float(now)


def _catch_up(db: Connection, cache: EngineCache, now: float) -> bool:
    """Bring the engine to `now`, or to the next checkpoint; whether it is at `now`."""
    for at, number, logged in _commands_after(db, cache.last, now):
        if not _run_until(cache, at):
            return False
        _apply(cache.world, logged)
        cache.last = (at, number)
    return _run_until(cache, now)


def _run_until(cache: EngineCache, to: float) -> bool:
    """Advance the engine to `to`, or until a checkpoint is due; whether it is at `to`."""
    world, length = cache.world, _FIRST_SLICE_S
    while world.now < to:
        ahead = engine.next_event_time(world)
        near = to if ahead is None else min(to, max(ahead, world.now) + length)
        engine.run(world, near)
        length *= 2
        if checkpoints.is_due(cache, arrived=False) and near < to:
            return False
    engine.run(world, max(to, world.now))  # events due at once come before the next command
    return True


def _commands_after(
    db: Connection, last: tuple[float, int], now: float
) -> list[tuple[float, int, Command]]:
    """Return the commands after the last one applied, up to `now`, in order.

    None is missed: commands are never appended for a time that has passed.
    """
    rows = db.execute(
        "SELECT at, id, command FROM commands WHERE (at, id) > (?, ?) AND at <= ? ORDER BY at, id",
        (*last, now),
    )
    with checkpoints.explain_other_versions():
        return [
            (float(at), int(number), snapshot.load_command(json.loads(text)))
            for at, number, text in rows.fetchall()
        ]


def _apply(world: World, engine_command: Command) -> list[LoggedEvent]:
    """Apply a command; those of the control plane state the desired result, as a PUT does."""
    match engine_command:
        case AddCluster(spec) if spec.name not in world.clusters:
            price = spec.price if spec.tier is Tier.DEDICATED else spec.low_priority_price
            engine_command = AddCluster(replace(spec, price=price, low_priority_price=None))
        case AddCluster(spec):
            bounds = (spec.min_instances, spec.max_instances, spec.idle_s)
            engine_command = ResizeCluster(spec.name, *bounds)
        case DeleteCluster(name) if name in world.clusters and world.clusters[name].locked:
            engine.apply(world, SetLock(name, locked=False))
        case AddPool(spec) if spec.name in world.pools:
            engine_command = ResizePool(spec.name, spec.vms)
        case DeleteCluster(name) if name not in world.clusters:
            return []
        case DeletePool(name) if name not in world.pools:
            return []
    try:
        return engine.apply(world, engine_command)
    except EngineError:
        if isinstance(engine_command, _SCHEDULED):
            return []  # it was appended in advance, and something else has happened since
        raise


_SCHEDULED = (AddCluster, ResizeCluster, DeleteCluster, SetLock, AddPool, ResizePool, DeletePool)
