"""The event engine in the store: orders with their moments, which tell the whole story.

An order is a command to the engine, written down in the transaction that caused it. The engine
follows the clock when somebody looks: from the last checkpoint on, through the orders since then.
So moving the clock costs nothing, a process that is killed loses nothing, and the log of events
need not be kept: it is told again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from sqlite3 import Connection

from mlctl.simulator.control_plane import command_log
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
from mlctl.simulator.engine.model import (
    LOW_PRIORITY_PRICE_RATIO,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.state import World

# The control plane's own operations say how long the VMs of a pool take to come.
ENGINE_SETTINGS = SimulationSettings(provisioning_s=0.0)
COARSE_SLICE, FINE_SLICE = 20_000, 500  # events of a stride, about
_FAR = 20_000  # events after which a checkpoint is worth its writing
_STRIDE = 60.0  # seconds: the first stride through a job's time


@dataclass(slots=True)
class _Memo:
    """The engine as this process knows it: valid as long as the cloud lives the same life.

    `done` is the last order that was carried out, by its moment and number; `saved` the count of
    events at the last checkpoint.
    """

    life: int
    world: World
    done: tuple[float, int]
    saved: int


@dataclass(frozen=True, slots=True)
class EngineTransaction:
    """One transaction with the engine at the clock's moment."""

    db: Connection
    memo: _Memo

    @property
    def world(self) -> World:
        """The engine."""
        return self.memo.world


@contextmanager
def current(store: Store) -> Iterator[World]:
    """The engine at the clock's moment, to read; a long way there is saved on the way."""
    with store.look() as db:
        memo = _recalled(store, db)
        now, arrived = _clock(db), False
        while not arrived:
            arrived = _follow(db, memo, now)
            if _is_worth_saving(memo):
                with store.change() as writing:
                    _save(writing, memo)
        yield memo.world


@contextmanager
def transaction(store: Store) -> Iterator[EngineTransaction]:
    """A transaction with the engine at the clock's moment. Give it orders by `command`."""
    with current(store):
        pass  # the long way is saved in pieces
    try:
        with store.change() as db:
            memo = _recalled(store, db)
            while not _follow(db, memo, _clock(db)):
                pass
            yield EngineTransaction(db, memo)
    except BaseException:
        store.memo = None  # it may know what has not happened
        raise


def command(it: EngineTransaction, wanted: Command) -> list[LoggedEvent]:
    """Have the engine carry out a command now; what happened by that.

    Raises:
        EngineError: it does not take it; nothing has changed.
    """
    engine.run(it.world, it.world.now)
    happened = engine.apply(it.world, wanted)
    now = it.world.now
    it.memo.done = (now, command_log.append(it.db, now, snapshot.dump_command(wanted)))
    return happened


def carry_out(it: EngineTransaction, order: CommandData) -> None:
    """Write an order down and carry it out now."""
    engine.run(it.world, it.world.now)
    now = it.world.now
    it.memo.done = (now, command_log.append(it.db, now, order))
    _carry_out(it.world, snapshot.load_command(dict(order)))


@dataclass(frozen=True, slots=True)
class TimeSlice:
    """What happened until the moment `now`; whether the job has ended."""

    now: float
    events: tuple[LoggedEvent, ...]
    ended: bool


def run_job(
    store: Store, job: str, limit: float, *, grain: int, detail: bool
) -> Iterator[TimeSlice]:
    """Move the clock until the job has ended, but no further than to `limit`.

    Each stride is a transaction of its own, of about `grain` events. The clock stands still where
    nothing will ever happen.

    Raises:
        EngineError: there is no such job.
    """
    length, done = _STRIDE, False
    while not done:
        with transaction(store) as it:
            until = _until(it, limit, length)
            if until is None:
                return
            events = tuple(engine.wait(it.world, job, until, detail=detail))
            ended = engine.job_of(it.world, job).ended is not None
            _move(it)
            stride = TimeSlice(it.world.now, events, ended)
            done = ended or it.world.now >= limit
        length *= 2 if len(events) < grain / 2 else 0.5 if len(events) > 2 * grain else 1
        yield stride


def events(store: Store, *, detail: bool) -> Iterator[LoggedEvent]:
    """Everything that has happened since the cloud was made, told again."""
    with store.look() as db:
        world, now = _new(db), _clock(db)
        written = _orders(db, (-1.0, 0), now)
    for at, _, wanted in written:
        yield from engine.advance(world, at, detail=detail)
        yield from _carry_out(world, wanted)
    yield from engine.advance(world, now, detail=detail)


def _recalled(store: Store, db: Connection) -> _Memo:
    """What this process knows, else the last checkpoint."""
    row = db.execute("SELECT life, done_at, done, state FROM engine").fetchone()
    life, done_at, done, text = row
    memo = store.memo
    if isinstance(memo, _Memo) and memo.life == life:
        return memo
    world = snapshot.load(json.loads(text)) if text else _new(db)
    memo = store.memo = _Memo(life, world, (done_at, done), world.number)
    return memo


def _new(db: Connection) -> World:
    (seed,) = db.execute("SELECT seed FROM world").fetchone()
    return World(str(seed), settings=ENGINE_SETTINGS)


def _clock(db: Connection) -> float:
    (now,) = db.execute("SELECT now FROM world").fetchone()
    return float(now)


def _follow(db: Connection, memo: _Memo, now: float) -> bool:
    """Bring the engine up to `now`, or some way there; whether it has arrived."""
    for at, number, wanted in _orders(db, memo.done, now):
        if not _run(memo, at):
            return False
        _carry_out(memo.world, wanted)
        memo.done = (at, number)
    return _run(memo, now)


def _run(memo: _Memo, to: float) -> bool:
    """Let time pass, in strides that grow, up to where a checkpoint is worth its writing."""
    world, length = memo.world, _STRIDE
    while world.now < to:
        ahead = engine.next_event_time(world)
        near = to if ahead is None else min(to, max(ahead, world.now) + length)
        engine.run(world, near)
        length *= 2
        if _is_worth_saving(memo) and near < to:
            return False
    engine.run(world, max(to, world.now))  # what is due at once, too, before the next order
    return True


def _orders(
    db: Connection, done: tuple[float, int], now: float
) -> list[tuple[float, int, Command]]:
    """Those after the last one that was carried out, up to `now`, in their order.

    A new one is never before it: orders are for a moment that has not passed.
    """
    rows = db.execute(
        "SELECT at, id, command FROM orders WHERE (at, id) > (?, ?) AND at <= ? ORDER BY at, id",
        (*done, now),
    )
    return [
        (float(at), int(number), snapshot.load_command(json.loads(text)))
        for at, number, text in rows.fetchall()
    ]


def _carry_out(world: World, wanted: Command) -> list[LoggedEvent]:
    """Carry out an order: one of the control plane says how things are to be, not what to do."""
    match wanted:
        case AddCluster(spec) if spec.name not in world.clusters:
            wanted = AddCluster(_priced(spec))
        case AddCluster(spec):
            bounds = (spec.min_instances, spec.max_instances, spec.idle_s)
            wanted = ResizeCluster(spec.name, *bounds)
        case DeleteCluster(name) if name in world.clusters and world.clusters[name].locked:
            engine.apply(world, SetLock(name, locked=False))
        case AddPool(spec) if spec.name in world.pools:
            wanted = ResizePool(spec.name, spec.vms)
        case DeleteCluster(name) if name not in world.clusters:
            return []
        case DeletePool(name) if name not in world.pools:
            return []
    try:
        return engine.apply(world, wanted)
    except EngineError:
        if isinstance(wanted, _LATER):
            return []  # given for a later moment, and it does not fit the world any more
        raise


_LATER = (AddCluster, ResizeCluster, DeleteCluster, SetLock, AddPool, ResizePool, DeletePool)


def _priced(spec: ClusterSpec) -> ClusterSpec:
    """With the price of its tier: orders have that of dedicated nodes."""
    if spec.price is None or spec.tier is Tier.DEDICATED:
        return spec
    return replace(spec, price=spec.price * LOW_PRIORITY_PRICE_RATIO)


def _is_worth_saving(memo: _Memo) -> bool:
    return memo.world.number - memo.saved > _FAR


def _save(db: Connection, memo: _Memo) -> None:
    """Write a checkpoint, unless another process is further, or the cloud was made anew."""
    memo.saved = memo.world.number
    state = json.dumps(snapshot.dump(memo.world), separators=(",", ":"))
    db.execute(
        "UPDATE engine SET now = ?, done_at = ?, done = ?, state = ? WHERE life = ? AND now <= ?",
        (memo.world.now, *memo.done, state, memo.life, memo.world.now),
    )


def _until(it: EngineTransaction, limit: float, length: float) -> float | None:
    """How far the next stride goes: no further than to the next order; None: there is no way."""
    now, ahead = it.world.now, engine.next_event_time(it.world)
    (to_come,) = it.db.execute("SELECT min(at) FROM orders WHERE at > ?", (now,)).fetchone()
    stops = [] if ahead is None else [max(ahead, now) + length]
    stops += [] if to_come is None else [float(to_come)]
    return max(now, min(limit, *stops)) if stops else None


def _move(it: EngineTransaction) -> None:
    """Let the clock stand where the engine stands."""
    operations.advance(it.db, it.world.now)
    if _is_worth_saving(it.memo):
        _save(it.db, it.memo)
