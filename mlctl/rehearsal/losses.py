"""Which node is lost when, and at which moment of a worker's life; pure, from a seed.

Times are virtual seconds. A mini-batch takes as long as by the event engine's default; the moment
within the user's code is a fraction of the lines that it executes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from heapq import heapify, heappop, heappush
from math import nextafter

from mlctl.dataclasses import dataclass
from mlctl.simulator.engine.processes import (
    ALL,
    LifetimeProcess,
    LossScript,
    Poisson,
    PreemptionProcess,
    Shock,
    exponential,
    later,
    lifetime,
)
from mlctl.simulator.engine.rng import uniform

INIT_S = 10.0  # how long `init` takes
MINI_BATCH_S = 60.0  # how long a mini-batch takes
REPLACEMENT_S = 240.0  # until a lost node is replaced: 3 minutes to allocate, 1 to prepare
_MOST = 1000  # losses by weather in one run


class Moment(StrEnum):
    """The moment of a worker's life at which its node is lost."""

    BOUNDARY = "between two mini-batches"
    RUN = "inside run"
    REPORT = "between the end of run and its report"
    INIT = "inside init"
    WRITE = "while a file is written"
    TIMEOUT = "at its timeout"


@dataclass(frozen=True, slots=True)
class Loss:
    """Node `node` is lost at the virtual second `at`; `number` counts from 1.

    `moment` is that of the worker that has `mini_batch`; others on the node are inside `run`. At
    its timeout only that worker is killed: the next one starts on the same node, with its disk.
    """

    number: int
    at: float
    node: int
    moment: Moment
    fraction: float
    mini_batch: int | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one mini-batch at a time."""

    node: int
    number: int


def slots(nodes: int, per_node: int) -> list[Slot]:
    """Return all slots, the first one of each node first."""
    return [Slot(node, number) for number in range(per_node) for node in range(nodes)]


def schedule(
    count: int, places: Sequence[Slot], total: int, seed: int, *, writes: bool
) -> list[Loss]:
    """Plan `count` losses for a run of `total` mini-batches, cycling through the moments.

    Without `writes` no loss is in the middle of a file. Kill K is the same for any `count`.
    """
    moments = [kind for kind in Moment if writes or kind is not Moment.WRITE]
    turns = -(-total // len(places))
    losses = []
    for number in range(1, count + 1):
        key = f"rehearsal/{seed}/kill/{number}"
        moment = moments[(number - 1) % len(moments)]
        fraction = uniform(f"{key}/fraction")
        if moment is Moment.INIT:
            node = places[int(uniform(f"{key}/node") * len(places))].node
            losses.append(Loss(number, INIT_S * fraction, node, moment, fraction))
            continue
        if moment is Moment.BOUNDARY and turns == 1:
            moment = Moment.RUN  # after the only turn there is no work
        victims = (turns - 1) * len(places) if moment is Moment.BOUNDARY else total
        victim = int(uniform(f"{key}/mini-batch") * victims)
        turn, number_of_place = divmod(victim, len(places))
        start, place = INIT_S + turn * MINI_BATCH_S, places[number_of_place]
        end = start + MINI_BATCH_S
        at = {
            Moment.BOUNDARY: end,
            Moment.REPORT: nextafter(end, 0),
        }.get(moment, start + fraction * MINI_BATCH_S)
        losses.append(Loss(number, at, place.node, moment, fraction, victim))
    return losses


def by_weather(processes: Iterable[PreemptionProcess], nodes: int, seed: int) -> list[Loss]:
    """Return the losses by weather in order: independent ones, shocks, and those of a script."""
    times: list[tuple[float, int]] = []
    for number, process in enumerate(processes):
        key = f"rehearsal/{seed}/process/{number}"
        if isinstance(process, LossScript):
            times += [
                (at, number)
                for at, node in process.losses
                for number in (range(nodes) if node == ALL else [int(node)])
                if number < nodes
            ]
        elif isinstance(process, Shock):
            times += _shocks(process, nodes, key)
        elif isinstance(process, LifetimeProcess):
            times += _lifetimes(process, nodes, key)
    return [
        Loss(number, at, node, Moment.RUN, uniform(f"rehearsal/{seed}/loss/{number}"))
        for number, (at, node) in enumerate(sorted(times)[:_MOST], 1)
    ]


def _shocks(process: Shock, nodes: int, key: str) -> Iterator[tuple[float, int]]:
    at = 0.0
    for number in range(_MOST):
        wait = exponential(process.rate, uniform(f"{key}/{number}"))
        at = later(process.by_hour, 0.0, at, wait)
        for node in range(nodes):
            if uniform(f"{key}/{number}/{node}") < process.fraction:
                yield at, node


def _lifetimes(process: LifetimeProcess, nodes: int, key: str) -> Iterator[tuple[float, int]]:
    by_hour = process.by_hour if isinstance(process, Poisson) else None

    def lost(node: int, life: int, start: float) -> float:
        lives = lifetime(process, uniform(f"{key}/{node}/{life}"))
        return later(by_hour, 0.0, start, lives)

    heap = [(lost(node, 0, 0.0), node, 0) for node in range(nodes)]
    heapify(heap)
    for _ in range(_MOST):
        at, node, life = heappop(heap)
        yield at, node
        heappush(heap, (lost(node, life + 1, at + REPLACEMENT_S), node, life + 1))
