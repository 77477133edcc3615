"""Scenarios: a job on its cluster, and what takes the cluster's nodes away."""

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
    """The USD per hour of a low-priority node, and the ends of its range, if stated.

    It is known as of `as_of`; None: as stated by the user.
    """

    usd: float
    ends: tuple[float, float] | None = None
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class JobScenario(Generic[Spec]):
    """A job on a cluster, with the processes that take low-priority nodes away.

    The cluster's price is per dedicated node-hour, `low_priority_price` per low-priority one;
    `price_ratio` is their ratio as stated by the user, `price_list` the source of the prices, and
    `spot_rate` how well the Spot price is known.
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
        """Return the scenario on a tier, with these processes."""
        return replace(self, cluster=replace(self.cluster, tier=tier), processes=processes)

    def price_of(self, tier: Tier) -> float:
        """Return the USD per node-hour of a tier."""
        return (self.cluster.price or 0.0) if tier is Tier.DEDICATED else self.low_priority_price

    @property
    def nodes_are_certain(self) -> bool:
        """Whether nothing takes a node away, and each arrives at the same time in every history."""
        return not (self.processes or self.settings.delay_cv or self.settings.p_unusable)

    @property
    def price(self) -> float:
        """The USD per node-hour of its tier."""
        return self.price_of(self.cluster.tier)


@dataclass(frozen=True, slots=True)
class Scenario(JobScenario[BatchSpec]):
    """A batch job."""

    @property
    def mini_batches(self) -> int:
        """The number of mini-batches of the job."""
        return self.job.mini_batches

    @property
    def nodes(self) -> int:
        """R2: the number of nodes that the job asks for."""
        job = self.job
        useful = rules.useful_nodes(self.mini_batches, job.concurrency, job.instance_count)
        return min(useful, self.cluster.max_instances)

    @property
    def is_certain(self) -> bool:
        """Whether nothing is random, so that all histories are the same."""
        work = self.job.workload
        return self.nodes_are_certain and not (work.cv or work.fail_probability)

    @property
    def dedicated(self) -> Scenario:
        """Return the scenario on a dedicated cluster, whose nodes nothing takes."""
        return self.on(Tier.DEDICATED)

    def under(self, processes: tuple[PreemptionProcess, ...]) -> Scenario:
        """Return the scenario on a low-priority cluster with these processes."""
        return self.on(Tier.LOW_PRIORITY, processes)
