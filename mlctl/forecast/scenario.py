"""What is forecast: a job on its cluster, and what takes the cluster's nodes away."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

from mlctl.dataclasses import dataclass, replace
from mlctl.simulator.engine import rules
from mlctl.simulator.engine.model import (
    BatchSpec,
    ClusterSpec,
    SimulationSettings,
    Tier,
    TrainingSpec,
)
from mlctl.simulator.engine.processes import PreemptionProcess

Spec = TypeVar("Spec", BatchSpec, TrainingSpec)


@dataclass(frozen=True, slots=True)
class SpotRate:
    """USD for an hour of a low-priority node; between which ends it may move, where that is said.

    It is known since the day `as_of`; None: it is as a user stated it.
    """

    usd: float
    ends: tuple[float, float] | None = None
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class JobScenario(Generic[Spec]):
    """A job on a cluster, with the processes that take low-priority nodes away.

    The cluster's price is that of a node-hour of a dedicated node, `low_priority_price` that of a
    low-priority one; `price_ratio` is what of the former a user said that it is,
    `price_list` is where the prices are from, and `spot_rate` is how well that of Spot is known.
    """

    cluster: ClusterSpec
    job: Spec
    settings: SimulationSettings
    low_priority_price: float
    processes: tuple[PreemptionProcess, ...] = ()
    price_ratio: float | None = None
    price_list: str = ""
    spot_rate: SpotRate | None = None

    def on(self, tier: Tier, processes: tuple[PreemptionProcess, ...] = ()) -> Self:
        """The same on a tier, where these processes take nodes away."""
        return replace(self, cluster=replace(self.cluster, tier=tier), processes=processes)

    def price_of(self, tier: Tier) -> float:
        """The price of a node-hour of a tier, in USD."""
        return (self.cluster.price or 0.0) if tier is Tier.DEDICATED else self.low_priority_price

    @property
    def nodes_are_certain(self) -> bool:
        """Whether nothing takes a node away, and each comes when it comes in any history."""
        return not (self.processes or self.settings.delay_cv or self.settings.p_unusable)

    @property
    def price(self) -> float:
        """The price of a node-hour of its tier, in USD."""
        return self.price_of(self.cluster.tier)


@dataclass(frozen=True, slots=True)
class Scenario(JobScenario[BatchSpec]):
    """A batch job."""

    @property
    def mini_batches(self) -> int:
        """How many mini-batches the job has."""
        return self.job.mini_batches

    @property
    def nodes(self) -> int:
        """R2: the nodes that the job seeks."""
        job = self.job
        useful = rules.useful_nodes(self.mini_batches, job.concurrency, job.instance_count)
        return min(useful, self.cluster.max_instances)

    @property
    def is_certain(self) -> bool:
        """Whether nothing is left to chance, so that all histories are the same."""
        work = self.job.workload
        return self.nodes_are_certain and not (work.cv or work.fail_probability)

    @property
    def dedicated(self) -> Scenario:
        """The same on a dedicated cluster, whose nodes nothing takes."""
        return self.on(Tier.DEDICATED)

    def under(self, processes: tuple[PreemptionProcess, ...]) -> Scenario:
        """The same on a low-priority cluster whose nodes these processes take."""
        return self.on(Tier.LOW_PRIORITY, processes)
