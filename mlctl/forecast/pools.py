"""Forecasts of classic jobs in a Batch Pool, beside the shared queue and a compute cluster.

A pool's VMs are billed as long as it exists, a cluster's nodes while they are there; the shared
queue runs jobs of all users. Histories are the event engine's; `queues` has closed forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from math import isinf
from typing import TYPE_CHECKING, NamedTuple

from mlctl.forecast import queues
from mlctl.forecast.batch import history
from mlctl.forecast.batch.study import histories_of
from mlctl.forecast.queues import Queue
from mlctl.forecast.weather import models as weather
from mlctl.simulator.engine import admin_commands, cluster_commands, engine, processes, rng, usage
from mlctl.simulator.engine.commands import (
    AddCluster,
    AddPool,
    SetPreemption,
    SetSharedQueue,
    SubmitPoolJob,
    SubmitTraining,
)
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import (
    HOUR,
    ClusterSpec,
    PoolSpec,
    SharedQueueSettings,
    SimulationSettings,
    Tier,
    TrainingSpec,
)
from mlctl.simulator.engine.processes import PreemptionProcess
from mlctl.simulator.engine.state import World

if TYPE_CHECKING:
    from concurrent.futures import Executor

DAY = 24 * HOUR
_POOL, _CLUSTER = "1/pool", "1/cluster"
_WARM_UP = 0.2  # of the jobs of a history, which find emptier queues than later ones
_HALVINGS = 12


class Place(Enum):
    """Where the jobs run."""

    POOL = "pool"
    SHARED_QUEUE = "shared queue"
    DEDICATED = "cluster, dedicated"
    LOW_PRIORITY = "cluster, low priority"


@dataclass(frozen=True, slots=True)
class PoolScenario:
    """Jobs that come at random times, and what there is for them.

    Durations are `job_s`, or exponential of that mean. `price` is that of an hour of a VM of the
    pool, `node_price` that of a dedicated node of the cluster, of which a low-priority one costs
    `price_ratio`. The cluster, whose idle time is `idle_s`, grows to as many nodes as the pool has.
    """

    vms: int
    jobs_per_day: float
    job_s: float
    exponential: bool
    price: float
    node_price: float
    price_ratio: float
    idle_s: float
    shared: SharedQueueSettings
    settings: SimulationSettings
    processes: tuple[PreemptionProcess, ...] = ()

    @property
    def cv(self) -> float:
        """The coefficient of variation of the durations."""
        return 1.0 if self.exponential else 0.0

    def queue(self, place: Place) -> Queue | None:
        """The queue of a place; None where servers come and go, or durations differ by user."""
        rate = self.jobs_per_day / DAY
        if place is Place.POOL:
            return Queue(self.vms, rate, self.job_s, self.cv)
        others, shared = self.shared.arrivals / HOUR, self.shared
        alike = not others or (self.exponential and shared.mean_s == self.job_s)
        known = place is Place.SHARED_QUEUE and alike
        return Queue(shared.slots, rate + others, self.job_s, self.cv) if known else None

    @property
    def most_jobs_per_day(self) -> float:
        """As many jobs as the pool can take."""
        return self.vms * DAY / self.job_s


class PoolHistory(NamedTuple):
    """Means over the jobs of one history, in seconds, and its cost in USD per hour.

    `cost_per_hour` is None where no price is known: that of the shared queue was never published.
    `not_done` are the counted jobs that did not end; they are in no mean.
    """

    wait_s: float
    time_s: float
    cost_per_hour: float | None
    waits: tuple[float, ...]
    not_done: int = 0


@dataclass(frozen=True, slots=True)
class PoolStudy:
    """Many histories of so many jobs in one place; each from the seed and its number alone."""

    scenario: PoolScenario
    place: Place
    jobs: int
    seed: str = "0"

    def histories(self, runs: range) -> list[PoolHistory]:
        """The histories of these numbers."""
        return [
            carry_out(self.scenario, self.place, self.jobs, f"{self.seed}/{run}") for run in runs
        ]


def carry_out(scenario: PoolScenario, place: Place, jobs: int, seed: str) -> PoolHistory:
    """One history, by the event engine: so many jobs, of which the first ones are not counted."""
    world = _world(scenario, place, seed)
    began = world.now
    names = []
    for number, (at, seconds) in enumerate(_arrivals(scenario, jobs, seed, began)):
        engine.run(world, at)
        names.append(f"1/job{number}")
        _submit(world, place, names[-1], seconds)
    until = world.now + history.LONGEST_S
    for name in names:
        if not history.finish_training(world, name, until):
            break  # those behind it in the queue do not end either
    ended = world.now
    counted = [world.jobs[name] for name in names[int(jobs * _WARM_UP) :]]
    done = [one for one in counted if one.status is JobStatus.COMPLETED]
    waits = tuple((one.started or ended) - one.submitted for one in done)
    times = [(one.ended or ended) - one.submitted for one in done]
    count = max(len(done), 1)
    cost = _cost_per_hour(world, scenario, place, began)
    left = len(counted) - len(done)
    return PoolHistory(sum(waits) / count, sum(times) / count, cost, waits, left)


def break_even(study: PoolStudy, runs: int, executor: Executor | None = None) -> float:
    """The jobs per day above which the pool costs less than a cluster; infinite if it never does.

    By halving, with the same histories at every step. 0 where jobs on the cluster never end.
    """
    scenario = study.scenario
    pool = scenario.vms * scenario.price
    low, high = 0.0, scenario.most_jobs_per_day * 0.95

    def cost(per_day: float) -> float:
        here = replace(study, scenario=replace(scenario, jobs_per_day=per_day))
        (found,) = histories_of([here], runs, executor)
        if any(one.not_done for one in found):
            return float("inf")
        costs = [one.cost_per_hour or 0.0 for one in found]
        return sum(costs) / len(costs)

    most = cost(high)
    if most <= pool or isinf(most):
        return float("inf") if most <= pool else 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if cost(middle) > pool else (middle, high)
    return (low + high) / 2


def closed_form(scenario: PoolScenario, place: Place) -> float | None:
    """The mean wait, exactly; None where there is no closed form."""
    queue = scenario.queue(place)
    return None if queue is None else queues.wait(queue)


def _world(scenario: PoolScenario, place: Place, seed: str) -> World:
    """A cloud in which the place is ready: the VMs of the pool are there."""
    world = World(seed, settings=scenario.settings)
    if place is Place.POOL:
        admin_commands.carry_out(world, AddPool(PoolSpec(_POOL, scenario.vms, scenario.price)))
        engine.run(world, scenario.settings.provisioning_s)
    elif place is Place.SHARED_QUEUE:
        admin_commands.carry_out(world, SetSharedQueue(scenario.shared))
    else:
        low = place is Place.LOW_PRIORITY
        tier = Tier.LOW_PRIORITY if low else Tier.DEDICATED
        price = scenario.node_price * (scenario.price_ratio if low else 1.0)
        spec = ClusterSpec(_CLUSTER, tier, 0, scenario.vms, scenario.idle_s, price=price)
        cluster_commands.carry_out(world, AddCluster(spec))
        if low and scenario.processes:
            admin_commands.carry_out(world, SetPreemption(weather.placed(scenario.processes, seed)))
    return world


def _arrivals(
    scenario: PoolScenario, jobs: int, seed: str, at: float
) -> Iterator[tuple[float, float]]:
    """When jobs come, and how long they take: the same in every place."""
    per_hour, service = scenario.jobs_per_day / 24, HOUR / scenario.job_s
    for number in range(jobs):
        at += processes.exponential(per_hour, rng.uniform(f"{seed}/job/{number}"))
        length = rng.uniform(f"{seed}/length/{number}")
        seconds = processes.exponential(service, length) if scenario.exponential else scenario.job_s
        yield at, max(seconds, 1e-6)


def _submit(world: World, place: Place, name: str, seconds: float) -> None:
    if place in (Place.DEDICATED, Place.LOW_PRIORITY):
        job = TrainingSpec(name, 1, seconds, _CLUSTER)
        cluster_commands.carry_out(world, SubmitTraining(job))
    else:
        pool = _POOL if place is Place.POOL else None
        admin_commands.carry_out(world, SubmitPoolJob(name, seconds, pool))


def _cost_per_hour(
    world: World, scenario: PoolScenario, place: Place, began: float
) -> float | None:
    if place is Place.SHARED_QUEUE:
        return None
    if place is Place.POOL:
        return scenario.vms * scenario.price
    hours = (world.now - began) / HOUR
    history.settle(world)
    used = sum(one.cost or 0.0 for one in usage.usage(world) if one.kind == "cluster")
    return used / hours if hours else 0.0
