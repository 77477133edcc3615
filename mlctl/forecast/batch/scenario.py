"""What is forecast: a job on its cluster, and what takes the cluster's nodes away."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlctl.simulator.engine import rules
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, SimulationSettings, Tier
from mlctl.simulator.engine.processes import PreemptionProcess


@dataclass(frozen=True, slots=True)
class Scenario:
    """A batch job on a cluster, with the processes that take low-priority nodes away.

    The cluster's price is that of a node-hour of a dedicated node; `price_ratio` is what a
    low-priority one costs of that.
    """

    cluster: ClusterSpec
    job: BatchSpec
    settings: SimulationSettings
    price_ratio: float
    processes: tuple[PreemptionProcess, ...] = ()

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
        work, settings = self.job.workload, self.settings
        spread = work.cv or work.fail_probability or settings.delay_cv or settings.p_unusable
        return not self.processes and not spread

    @property
    def dedicated(self) -> Scenario:
        """The same on a dedicated cluster, whose nodes nothing takes."""
        return replace(self, cluster=replace(self.cluster, tier=Tier.DEDICATED), processes=())

    def under(self, processes: tuple[PreemptionProcess, ...]) -> Scenario:
        """The same on a low-priority cluster whose nodes these processes take."""
        cluster = replace(self.cluster, tier=Tier.LOW_PRIORITY)
        return replace(self, cluster=cluster, processes=processes)

    def price_of(self, tier: Tier) -> float:
        """The price of a node-hour of a tier, in USD."""
        price = self.cluster.price or 0.0
        return price if tier is Tier.DEDICATED else price * self.price_ratio
