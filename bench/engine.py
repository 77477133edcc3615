"""The event engine: histories a second beside SimPy's, one very large history, idle time.

    python -m bench.engine [--quick]

Model M: 1000 mini-batches of 60 s on 20 low-priority nodes, each lost 0.5 times an hour and
replaced after 180 s. In SimPy each node is a process that takes mini-batches from a store and that
a preemption interrupts; where it is not installed, its lines are left out. Rounds alternate and the
best of each counts, so that what else runs on the machine weighs the same on both.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any

from mlctl.cloud.sim import engine, orders, persist
from mlctl.cloud.sim.commands import AddCluster, SetPreemption, SubmitBatch
from mlctl.cloud.sim.model import BatchSpec, ClusterSpec, Settings, Tier, Workload
from mlctl.cloud.sim.processes import Poisson
from mlctl.cloud.sim.state import World

try:
    import simpy
except ImportError:
    simpy = None

DAY = 86_400.0
EVER = 1e9
FAST = Settings(allocation_s=0.0, preparation_s=0.0, replacement_s=180.0)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number beside the one that is wanted."""

    name: str
    value: float
    unit: str
    wanted: str
    good: bool

    def line(self) -> str:
        """The figure as a row of the table."""
        mark = "ok" if self.good else "MISSED"
        return f"{self.name:<52} {self.value:>10,.2f} {self.unit:<12} {self.wanted:<10} {mark}"


def history(seed: str, mini_batches: int = 1000, nodes: int = 20, rate: float = 0.5) -> float:
    """One history of model M; its makespan."""
    world = World(seed, settings=FAST)
    cluster = ClusterSpec("c", Tier.LOW_PRIORITY, 0, nodes)
    load = Workload(per_mini_batch_s=60.0)
    job = BatchSpec("j", "c", mini_batches, load, 1, nodes, timeout_s=EVER)
    for command in (SetPreemption((Poisson(rate),)), AddCluster(cluster), SubmitBatch(job)):
        orders.carry_out(world, command)
    engine.finish(world, "j", EVER)
    return world.now


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
    """How many histories a second."""
    began = perf_counter()
    for time in range(times):
        run(f"bench/{time}")
    return times / (perf_counter() - began)


def against_simpy(rounds: int, times: int) -> list[Figure]:
    """Model M in this engine and in SimPy, in alternating rounds."""
    ours = theirs = 0.0
    for _ in range(rounds):
        ours = max(ours, rate_of(history, times))
        if simpy is not None:
            theirs = max(theirs, rate_of(simpy_history, times // 5))
    found = [Figure("model M", ours, "histories/s", ">= 1000", ours >= 1000)]
    if theirs:
        found.append(Figure("model M, SimPy with interrupts", theirs, "histories/s", "", good=True))
        ratio = ours / theirs
        found.append(Figure("model M, times SimPy", ratio, "x", ">= 4", ratio >= 4))
    return found


def very_large(nodes: int, mini_batches: int) -> list[Figure]:
    """One history with very many nodes and mini-batches, and what its state takes."""
    began = perf_counter()
    history("bench/large", mini_batches, nodes, 0.05)
    seconds = perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    name = f"{nodes} nodes, {mini_batches} mini-batches"
    return [
        Figure(name, seconds, "s", "< 60", seconds < 60),
        Figure(f"{name}: peak memory", peak, "MB", "< 1000", peak < 1000),
    ]


def idle(clusters: int, days: int) -> list[Figure]:
    """Idle clusters, half of them with a node that always runs and is lost now and then."""
    world = World("bench/idle", settings=FAST)
    orders.carry_out(world, SetPreemption((Poisson(0.05),)))
    for number in range(clusters):
        spec = ClusterSpec(f"c{number}", Tier.LOW_PRIORITY, number % 2, 4)
        orders.carry_out(world, AddCluster(spec))
    began = perf_counter()
    again = persist.load(persist.dump(world))
    for _ in engine.advance(again, days * DAY):
        pass
    persist.dump(again)
    seconds = perf_counter() - began
    return [Figure(f"{days} days of {clusters} idle clusters", seconds, "s", "< 1", seconds < 1)]


def main(arguments: list[str]) -> int:
    """Print every figure; 1 where one is missed."""
    quick = "--quick" in arguments
    found = against_simpy(2 if quick else 5, 100 if quick else 500)
    found += idle(50, 30)
    found += very_large(1000, 100_000) if quick else very_large(10_000, 1_000_000)
    for figure in found:
        print(figure.line())
    return int(not all(figure.good for figure in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
