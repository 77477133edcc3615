"""What takes nodes away in a history of the shortcut; the draws are the engine's, by its keys."""

from __future__ import annotations

from math import inf, log1p

from mlctl.forecast.scenario import Scenario
from mlctl.simulator.engine import capacity, processes, rng
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import ALL, LIFETIMES, LossScript, Poisson, Shock
from mlctl.simulator.engine.rng import ROW
from mlctl.simulator.engine.state import ActiveProcess, World

_SCALE = -rng.SCALE


class LossProcesses:
    """The losses of single nodes, and what strikes many: shocks, scripts and outages.

    The next of those is `due`; `out` says whether there is an outage.
    """

    def __init__(self, scenario: Scenario, seed: str, tag: str, tier: Tier) -> None:
        self.seed = seed
        self.due = inf
        self.out = False
        self._lifetimes: list[tuple[str, processes.LifetimeProcess]] = []
        self._poisson = ("", 0.0)  # key and rate, where losses are of one rate at all hours
        self._rows: dict[tuple[int, int], tuple[int, ...]] = {}  # random words by time and row
        self._sources: list[ActiveProcess] = []
        if tier is not Tier.LOW_PRIORITY or not scenario.processes:
            return
        for serial, process in enumerate(scenario.processes, 1):
            if isinstance(process, LIFETIMES):
                self._lifetimes.append((f"{seed}/life/{serial}/{tag}/", process))
        if len(self._lifetimes) == 1:
            key, life = self._lifetimes[0]
            if isinstance(life, Poisson) and life.by_hour is None:
                self._poisson = (key, life.rate)
        if len(self._lifetimes) == len(scenario.processes):
            return
        self._world = World(seed, settings=scenario.settings)
        self._world.preemption = tuple(map(_by_time, scenario.processes))
        self._region = capacity.region_capacity(self._world, scenario.cluster.region, tier)
        self._sources = [active for active in self._region.processes if active.due is not None]
        self.out = any(source.limit == 0 for source in self._sources)
        self._find_next()

    def _find_next(self) -> None:
        self.due = min(
            [active.due for active in self._sources if active.due is not None], default=inf
        )

    def of(self, node: int, time: int, at: float) -> float:
        """Return when a node that exists from `at` on, for the time `time`, is lost by itself."""
        key, rate = self._poisson
        if rate:
            row = time, node // ROW
            words = self._rows.get(row)
            if words is None:
                words = self._rows[row] = rng.words_of_row(f"{key}{time}/{node // ROW}")
            return at - log1p((words[node % ROW] >> 11) * _SCALE) / rate * HOUR
        soonest = inf
        for key, process in self._lifetimes:
            u = rng.uniform_of_row(node, f"{key}{time}")
            soonest = min(soonest, processes.lost_at(process, 0.0, at, u))
        return soonest

    def of_all(self, count: int, at: float) -> list[float]:
        """Return the same for all nodes up to a number, which are new at `at`."""
        if not self._poisson[1]:
            return [self.of(node, 1, at) for node in range(count)]
        words: tuple[int, ...] = ()
        for row in range(-(-count // ROW)):
            words += rng.words_of_row(f"{self._poisson[0]}1/{row}")
        rate = self._poisson[1]
        return [at - log1p((word >> 11) * _SCALE) / rate * HOUR for word in words[:count]]

    def strike(self, nodes: list[int]) -> tuple[list[int], bool]:
        """Apply what is due; return which of the existing nodes it takes.

        And whether an outage begins.
        """
        [active, *_] = [source for source in self._sources if source.due == self.due]
        self._sources.remove(active)
        self._sources.append(active)  # what was scheduled first comes first, as in the engine
        hit = self._hit(active, nodes)
        capacity.advance_process(self._world, self._region, active)
        self.out = 0 in [source.limit for source in self._sources]
        self._find_next()
        return hit, active.limit == 0

    def _hit(self, active: ActiveProcess, nodes: list[int]) -> list[int]:
        if not nodes:
            return nodes
        match active.process:
            case Shock(_, fraction):
                region = capacity.key_of(self._region.region, self._region.tier)
                key = f"{self.seed}/shock/{region}/{active.serial}/{active.tick}"
                random = rng.generator(key).random
                return [node for node in nodes if random() < fraction]
            case LossScript(losses):
                _, target = losses[active.tick]
                return [node for node in nodes if target in (ALL, node)]
            case _:
                return nodes if active.limit != 0 else []


def _by_time(process: processes.PreemptionProcess) -> processes.PreemptionProcess:
    """Sort a script by its seconds, as the engine does."""
    if isinstance(process, LossScript):
        return LossScript(tuple(sorted(process.losses, key=lambda loss: loss[0])))
    return process
