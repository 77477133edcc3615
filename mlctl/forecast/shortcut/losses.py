"""What takes nodes away in a history of the shortcut; the draws are the engine's, by its keys."""

from __future__ import annotations

from math import inf

from mlctl.forecast.batch.scenario import Scenario
from mlctl.forecast.skip_draws import Lives, are_known
from mlctl.simulator.engine import capacity, processes, rng
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.processes import (
    ALL,
    Bathtub,
    HyperExponential,
    LossScript,
    Poisson,
    Shock,
    Weibull,
)
from mlctl.simulator.engine.state import ActiveProcess, World

_LIVES = (Poisson, HyperExponential, Weibull, Bathtub)


class Losses:
    """The losses of single nodes, and what strikes many: shocks, scripts and outages.

    The next of those is `due`; `out` says whether there is an outage.
    """

    def __init__(self, scenario: Scenario, seed: str, tag: str, tier: Tier) -> None:
        self.seed = seed
        self.due = inf
        self.out = False
        self._lives: list[tuple[str, processes.LifetimeProcess]] = []
        self._usual: Lives | None = None  # what is quicker than `_lives`
        self._sources: list[ActiveProcess] = []
        if tier is not Tier.LOW_PRIORITY or not scenario.processes:
            return
        for serial, process in enumerate(scenario.processes, 1):
            if isinstance(process, _LIVES):
                self._lives.append((f"{seed}/life/{serial}/{tag}/", process))
        if are_known(scenario.processes):
            for key, process in self._lives:
                self._usual = Lives(key, process.rate if isinstance(process, Poisson) else 0.0)
        if len(self._lives) == len(scenario.processes):
            return
        self._world = World(seed, settings=scenario.settings)
        self._world.preemption = tuple(map(_by_time, scenario.processes))
        self._region = capacity.region_capacity(self._world, scenario.cluster.region, tier)
        self._sources = [one for one in self._region.processes if one.due is not None]
        self._find_next()

    def _find_next(self) -> None:
        self.due = min((one.due for one in self._sources if one.due is not None), default=inf)

    def of(self, node: int, time: int, at: float) -> float:
        """When a node that exists from `at` on, for the time `time`, is lost by its own."""
        if self._usual is not None:
            return at + self._usual.of(node, time)
        soonest = inf
        for key, process in self._lives:
            life = processes.lifetime(process, rng.uniform_of_row(f"{key}{time}", node))
            by_hour = process.by_hour if isinstance(process, Poisson) else None
            soonest = min(soonest, processes.later(by_hour, 0.0, at, life))
        return soonest

    def strike(self, there: list[int]) -> tuple[list[int], bool]:
        """Let what is due happen: which nodes of those that are there it takes.

        And whether an outage begins.
        """
        active = next(one for one in self._sources if one.due == self.due)
        self._sources.remove(active)
        self._sources.append(active)  # what was scheduled first comes first, as in the engine
        hit = self._hit(active, there)
        capacity.advance_process(self._world, self._region, active)
        self.out = any(one.limit == 0 for one in self._sources)
        self._find_next()
        return hit, active.limit == 0

    def _hit(self, active: ActiveProcess, there: list[int]) -> list[int]:
        if not there:
            return there
        match active.process:
            case Shock(_, fraction):
                where = capacity.key_of(self._region.region, self._region.tier)
                key = f"{self.seed}/shock/{where}/{active.serial}/{active.tick}"
                random = rng.generator(key).random
                return [node for node in there if random() < fraction]
            case LossScript(losses):
                _, which = losses[active.tick]
                return [node for node in there if which in (ALL, node)]
            case _:
                return there if active.limit != 0 else []


def _by_time(process: processes.PreemptionProcess) -> processes.PreemptionProcess:
    """A script in the order of its seconds, as the engine has it."""
    if isinstance(process, LossScript):
        return LossScript(tuple(sorted(process.losses, key=lambda loss: loss[0])))
    return process
