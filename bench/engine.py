"""The event engine: histories a second, beside SimPy's.

Model M: 1000 mini-batches of 60 s on 20 low-priority nodes, each lost 0.5 times an hour and
replaced after 180 s. In SimPy each node is a process that takes mini-batches from a store and that
a preemption interrupts. Rounds alternate and their medians count; the seconds are those of the
processor, so that what else runs on the machine weighs less, and the same on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from statistics import median
from time import process_time
from typing import Any

from bench.figure import Figure, absent
from mlctl.forecast import policy
from mlctl.forecast.policy import Policy
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.skip import SkipCloud
from mlctl.simulator.engine import cluster_commands, engine
from mlctl.simulator.engine.commands import AddCluster, SetPreemption, SubmitBatch
from mlctl.simulator.engine.model import (
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.processes import Poisson
from mlctl.simulator.engine.state import World

try:
    import simpy
except ImportError:
    simpy = None

EVER = 1e9
FAST = SimulationSettings(allocation_s=0.0, preparation_s=0.0, replacement_s=180.0)


def history(seed: str) -> float:
    """One history of model M; its makespan."""
    world = World(seed, settings=FAST)
    cluster = ClusterSpec("c", Tier.LOW_PRIORITY, 0, 20)
    load = BatchWork(per_mini_batch_s=60.0)
    job = BatchSpec("j", "c", 1000, load, 1, 20, timeout_s=EVER)
    for command in (SetPreemption((Poisson(0.5),)), AddCluster(cluster), SubmitBatch(job)):
        cluster_commands.carry_out(world, command)
    engine.finish(world, "j", EVER)
    return world.now


MODEL_M = Scenario(
    ClusterSpec("c", Tier.LOW_PRIORITY, 0, 20),
    BatchSpec("j", "c", 1000, BatchWork(per_mini_batch_s=60.0), 1, 20, timeout_s=EVER),
    FAST,
    0.2,
    (Poisson(0.5),),
)


def short_history(seed: str) -> float:
    """The same history by the shortcut of forecasts, its bill included; its makespan."""
    cloud = SkipCloud(MODEL_M, seed)
    return policy.carry_out(Policy(), cloud, MODEL_M.job.files, 1).time_s


def simpy_history(seed: str) -> float:
    """The same with SimPy: nodes are processes, preemptions interrupt them."""
    return _Simpy(seed).makespan()


class _Simpy:
    def __init__(self, seed: str) -> None:
        self.environment = simpy.Environment()
        self.chance = Random(seed)
        self.todo = simpy.Store(self.environment)
        self.todo.items.extend([60.0] * 1000)
        self.left = 1000
        self.over = self.environment.event()

    def makespan(self) -> float:
        for _ in range(20):
            self.environment.process(self.node())
        self.environment.run(until=self.over)
        return float(self.environment.now)

    def node(self) -> Any:
        while True:
            asked = seconds = None
            life = self.chance.expovariate(0.5) * 3600.0
            self.environment.process(self.preempt(self.environment.active_process, life))
            try:
                while True:
                    asked = self.todo.get()
                    seconds = yield asked
                    asked = None
                    yield self.environment.timeout(seconds)
                    seconds = None
                    self.left -= 1
                    if not self.left:
                        self.over.succeed()
            except simpy.Interrupt:
                if asked is not None:
                    asked.cancel()
                if seconds is not None:
                    self.todo.put(seconds)
                yield self.environment.timeout(180.0)

    def preempt(self, node: Any, life: float) -> Any:
        yield self.environment.timeout(life)
        node.interrupt()


def rate_of(run: Callable[[str], float], times: int) -> float:
    """How many histories a second of the processor."""
    began = process_time()
    for time in range(times):
        run(f"bench/{time}")
    return times / (process_time() - began)


def figures(*, quick: bool) -> Iterator[Figure]:
    """Model M in this engine and in SimPy, in alternating rounds."""
    rounds, times = (3, 100) if quick else (7, 300)
    ours, short, theirs = [], [], []
    for _ in range(rounds):
        ours.append(rate_of(history, times))
        short.append(rate_of(short_history, 5 * times))
        if simpy is not None:
            theirs.append(rate_of(simpy_history, times // 5))
    rate = median(ours)
    yield Figure("model M, histories a second", f"{rate:,.0f}", ">= 1000", rate >= 1000)
    times_engine = median(short) / rate
    told = (f"{median(short):,.0f}", ">= 4x", times_engine >= 4, f"{rate:,.0f}", "the event engine")
    yield Figure("model M, shortcut, histories a second", *told, f"{times_engine:.1f}")
    name, peer = "model M, times SimPy", "SimPy with interrupts"
    if simpy is None:
        yield absent(name, f"{rate:,.0f}", peer)
        return
    ratio = rate / median(theirs)
    told = (f"{rate:,.0f}", ">= 4x", ratio >= 4, f"{median(theirs):,.0f}", peer, f"{ratio:.2f}")
    yield Figure(name, *told)
    ratio = median(short) / median(theirs)
    told = (f"{median(short):,.0f}", ">= 15x", ratio >= 15, f"{median(theirs):,.0f}", peer)
    yield Figure("model M, shortcut, times SimPy", *told, f"{ratio:.1f}")
