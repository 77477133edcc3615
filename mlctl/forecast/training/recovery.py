"""Histories of a training job that takes many runs under a policy.

The policies are those of batch jobs, with steps in place of files. A run resumes from the last
checkpoint of the run before it.
"""

from __future__ import annotations

from mlctl.dataclasses import dataclass, field, replace
from mlctl.forecast.batch.policy import History, carry_out
from mlctl.forecast.batch.study import Study
from mlctl.forecast.history import EngineCloud, Try
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.training.study import TrainingScenario
from mlctl.simulator.engine.commands import SubmitTraining
from mlctl.simulator.engine.jobs import AnyJob, JobStatus, TrainingJob
from mlctl.simulator.engine.model import BatchSpec, BatchWork, ClusterSpec, TrainingSpec


def as_batch(training: TrainingScenario) -> Scenario:
    """Convert the scenario to that of a batch job in which each step is a file."""
    job, cluster = training.job, training.cluster
    if job.serverless is not None:  # each run has its own nodes, and this cluster never has any
        cluster = replace(cluster, name=f"{cluster.name}-unused")
    work = BatchWork(per_file_s=job.step_s * job.instance_count)
    spec = BatchSpec(job.name, cluster.name, job.steps, work, 1, job.instance_count)
    return Scenario(
        cluster,
        spec,
        training.settings,
        training.low_priority_price,
        training.processes,
    )


class TrainingCloud(EngineCloud):
    """A `HistoryCloud` of a training job."""

    def __init__(self, scenario: Scenario, job: TrainingSpec, seed: str) -> None:
        super().__init__(scenario, seed)
        self.job = job

    def command(self, name: str, cluster: ClusterSpec, files: int) -> SubmitTraining:
        first = self.job.steps - files
        if self.job.serverless is None:
            spec = replace(self.job, name=name, cluster=cluster.name, first=first)
        else:
            nodes = replace(cluster, name=f"{name}-nodes")
            spec = replace(self.job, name=name, serverless=nodes, first=first)
        return SubmitTraining(spec)

    def seen(self, job: AnyJob) -> int:
        """Return the steps in a running job's checkpoints; at least 1 once it has all its nodes."""
        assert isinstance(job, TrainingJob)
        return max(job.saved - job.spec.first, 1) if job.status is JobStatus.RUNNING else 0

    def result(self, job: AnyJob, *, given_up: bool) -> Try:
        assert isinstance(job, TrainingJob)
        assert job.ended is not None
        saved = job.saved - job.spec.first
        times = job.submitted, job.ended
        return Try(job.status, *times, 0, job.lost_node_s, job.runs, saved, 0, given_up)


@dataclass(frozen=True, slots=True)
class RecoveryStudy(Study):
    """Many histories of a training job under a policy; `scenario` is from `as_batch`.

    If its files are fewer than the steps of the job, they are the remaining steps.
    """

    job: TrainingSpec = field(kw_only=True)

    @property
    def steps(self) -> int:
        return self.job.steps // (self.job.checkpoint_every or self.job.steps) + 1

    @property
    def round_s(self) -> float:
        return self.job.step_s + self.job.restore_s + self.job.checkpoint_s

    def histories(self, runs: range) -> list[History]:
        if self.scenario.is_certain:
            return [self._by_engine(0)] * len(runs)
        return [self._by_engine(run) for run in runs]

    def _by_engine(self, run: int) -> History:
        cloud = TrainingCloud(self.scenario, self.job, self.seed_of(run))
        return carry_out(self.policy, cloud, self.scenario.job.files, 1)
