"""The event engine and forecasts: histories a second, beside SimPy's.

Model M: 1000 mini-batches of 60 s on 20 low-priority nodes, each lost 0.5 times an hour and
replaced after 180 s. In SimPy each node is a process that takes mini-batches from a store and that
a preemption interrupts. Rounds alternate and their medians count; the seconds are those of the
processor, so that what else runs on the machine weighs less, and the same on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from math import log, log1p, sqrt
from random import Random
from statistics import median
from time import process_time
from typing import Any

from bench.figure import Effort, Figure, absent
from mlctl.forecast.batch.study import Study
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.scenario import Scenario
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

HAS_SIMPY = find_spec("simpy") is not None
simpy: Any = import_module("simpy") if HAS_SIMPY else None

EVER = 1e9
VARIED = 0.5  # coefficient of variation
VARIED_LEAST = 4
SMALL_LEAST, LARGE_LEAST = 4, 30  # times the engine
FAST = SimulationSettings(allocation_s=0.0, preparation_s=0.0, replacement_s=180.0)


def history(seed: str, cv: float = 0.0, nodes: int = 20, mini_batches: int = 1000) -> float:
    """One history of model M, with times of this coefficient of variation; its makespan."""
    world = World(seed, settings=FAST)
    cluster = ClusterSpec("c", Tier.LOW_PRIORITY, 0, nodes)
    load = BatchWork(per_mini_batch_s=60.0, cv=cv)
    job = BatchSpec("j", "c", mini_batches, load, 1, nodes, timeout_s=EVER)
    for command in (SetPreemption((Poisson(0.5),)), AddCluster(cluster), SubmitBatch(job)):
        cluster_commands.carry_out(world, command)
    engine.finish(world, "j", EVER)
    return world.now


def world(nodes: int, mini_batches: int) -> Scenario:
    """Mini-batches as in model M, on so many nodes."""
    load = BatchWork(per_mini_batch_s=60.0)
    job = BatchSpec("j", "c", mini_batches, load, 1, nodes, timeout_s=EVER)
    cluster = ClusterSpec("c", Tier.LOW_PRIORITY, 0, nodes, price=1.0)
    return Scenario(cluster, job, FAST, 0.2, (Poisson(0.5),))


MODEL_M = world(20, 1000)
SMALL, LARGE = world(4, 100), world(100, 100_000)


def forecast_rate(scenario: Scenario, times: int, seed: str = "bench") -> float:
    """How many histories of a forecast a second of the processor, their statistics included."""
    began = process_time()
    found = Study(scenario, seed=seed).histories(range(times))
    Summary(scenario, found).document()
    return times / (process_time() - began)


def varied_history(seed: str) -> float:
    """One history of model M whose mini-batches take log-normal times, which no shortcut takes."""
    return history(seed, VARIED)


def simpy_history(
    seed: str, nodes: int = 20, mini_batches: int = 1000, seconds: float = 60.0
) -> float:
    """The same with SimPy: nodes are processes, preemptions interrupt them."""
    return _Simpy(seed, [seconds] * mini_batches, nodes).makespan()


def varied_simpy_history(seed: str) -> float:
    """The same with SimPy and log-normal times."""
    chance, variance = Random(f"{seed}/times"), log1p(VARIED * VARIED)
    mean, spread = log(60.0) - variance / 2, sqrt(variance)
    return _Simpy(seed, [chance.lognormvariate(mean, spread) for _ in range(1000)]).makespan()


class _Simpy:
    def __init__(self, seed: str, times: list[float], nodes: int = 20) -> None:
        self.nodes = nodes
        self.environment = simpy.Environment()
        self.chance = Random(seed)
        self.todo = simpy.Store(self.environment)
        self.todo.items.extend(times)
        self.left = len(times)
        self.over = self.environment.event()

    def makespan(self) -> float:
        for _ in range(self.nodes):
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


def figures(effort: Effort) -> Iterator[Figure]:
    """Model M in this engine, in forecasts and in SimPy, in alternating rounds."""
    rounds, times = (3, 100) if effort.quick else (5, 300)
    ours, short, theirs, varied, varied_theirs = [], [], [], [], []
    for turn in range(rounds):
        ours.append(rate_of(history, times))
        varied.append(rate_of(varied_history, times))
        short.append(forecast_rate(MODEL_M, 10 * times, f"bench/{turn}"))
        if HAS_SIMPY:
            theirs.append(rate_of(simpy_history, times // 5))
            varied_theirs.append(rate_of(varied_simpy_history, times // 5))
    rate, forecast = median(ours), median(short)
    yield _times("model M, forecast, times the engine", forecast, rate, "the event engine", 9)
    for what, scenario, count, least in (
        ("100 mini-batches on 4 nodes, forecast", SMALL, 30 * times, SMALL_LEAST),
        ("100 000 on 100 nodes, forecast", LARGE, times // 5, LARGE_LEAST),
    ):
        shortcut, engine_rate = [], []
        nodes, mini_batches = scenario.nodes, scenario.mini_batches
        whole = partial(history, nodes=nodes, mini_batches=mini_batches)
        for turn in range(rounds):
            shortcut.append(forecast_rate(scenario, count, f"bench/{turn}"))
            engine_rate.append(rate_of(whole, max(count // 60, 1)))
        rates = median(shortcut), median(engine_rate)
        yield _times(what, *rates, "the event engine", least)
    name, peer = "model M, times SimPy", "SimPy with interrupts"
    if not HAS_SIMPY:
        yield absent(name, f"{rate:,.0f}", peer)
        return
    yield _times(name, rate, median(theirs), peer, 5)
    yield _times("model M, forecast, times SimPy", forecast, median(theirs), peer, 50)
    name = f"model M, cv {VARIED:g}, times SimPy"
    yield _times(name, median(varied), median(varied_theirs), peer, VARIED_LEAST)


def _times(what: str, ours: float, theirs: float, peer: str, least: float) -> Figure:
    ratio = ours / theirs
    told = (f"{ours:,.0f}", f">= {least:g}x", ratio >= least, f"{theirs:,.0f}", peer)
    return Figure(what, *told, f"{ratio:.1f}")
