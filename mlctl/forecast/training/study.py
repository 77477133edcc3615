"""Forecasts of training jobs: histories by the event engine, and the best checkpoint interval.

Where the losses are a Poisson process of the only node, what is expected is known in closed form
(`checkpoints`), and so is the best interval. Elsewhere a few intervals are tried with the same
histories, so that their difference is known better than each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from mlctl.dataclasses import dataclass, replace
from mlctl.forecast import history, statistics
from mlctl.forecast.gather import histories_of
from mlctl.forecast.scenario import JobScenario
from mlctl.forecast.statistics import Estimate, finite
from mlctl.forecast.training import checkpoints
from mlctl.forecast.training.checkpoints import Expected, NodeLosses, Steps
from mlctl.forecast.weather import models as weather
from mlctl.simulator.engine import cluster_commands, usage
from mlctl.simulator.engine.commands import CancelJob, SetPreemption, SubmitTraining
from mlctl.simulator.engine.jobs import JobStatus, TrainingJob
from mlctl.simulator.engine.model import HOUR, SimulationSettings, TrainingSpec
from mlctl.simulator.engine.processes import OnOff, Poisson, PreemptionProcess, Shock
from mlctl.simulator.engine.state import World

if TYPE_CHECKING:
    from concurrent.futures import Executor

_TRIED = (0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0)  # times Daly's interval


@dataclass(frozen=True, slots=True)
class TrainingScenario(JobScenario[TrainingSpec]):
    """A training job, on its cluster or on nodes of its own."""

    def every(self, steps: int) -> TrainingScenario:
        """The same with a checkpoint after so many steps; 0: without any."""
        return replace(self, job=replace(self.job, checkpoint_every=steps))

    @property
    def nodes(self) -> int:
        """The nodes that the job runs on at once."""
        return self.job.instance_count

    @property
    def work(self) -> Steps:
        """The work of the job."""
        job = self.job
        return Steps(job.steps, job.step_s, job.checkpoint_s, job.restore_s)

    @property
    def rate(self) -> float:
        """How often the job is interrupted, per second: the losses of any of its nodes."""
        return sum(map(self._interruptions, self.processes)) / HOUR

    def _interruptions(self, process: PreemptionProcess) -> float:
        match process:
            case Shock(rate, fraction):
                return float(rate * (1 - (1 - fraction) ** self.nodes))
            case OnOff(rate):
                return float(rate)
            case Poisson(rate):
                return float(rate * self.nodes)
            case _:
                return 0.0


class TrainingHistory(NamedTuple):
    """What one history came to; times in seconds, `node_s` with the idle time at the end.

    `points` are the logged steps, `repeated` those of them that were logged before.

    `given_up`: it had not ended after the longest time of a history.
    """

    status: JobStatus
    time_s: float
    node_s: float
    points: int
    repeated: int
    interruptions: int
    lost_node_s: float
    given_up: bool


@dataclass(frozen=True, slots=True)
class TrainingStudy:
    """Many histories of a training job; each from the seed and its own number alone."""

    scenario: TrainingScenario
    seed: str = "0"

    def histories(self, runs: range) -> list[TrainingHistory]:
        """The histories of these numbers."""
        return [carry_out(self.scenario, f"{self.seed}/{run}") for run in runs]


def carry_out(scenario: TrainingScenario, seed: str) -> TrainingHistory:
    """One history of the job, by the event engine."""
    spec = scenario.job
    if spec.serverless is None:
        world = history.prepared(scenario, seed)
    else:
        spec = replace(spec, serverless=scenario.cluster)
        world = World(seed, settings=scenario.settings)
        cluster_commands.carry_out(world, SetPreemption(weather.placed(scenario.processes, seed)))
    cluster_commands.carry_out(world, SubmitTraining(spec))
    job = world.jobs[spec.name]
    assert isinstance(job, TrainingJob)
    given_up = not history.finish_training(world, spec.name, world.now + history.LONGEST_S)
    if given_up:
        cluster_commands.carry_out(world, CancelJob(spec.name))
    assert job.ended is not None
    history.settle(world)
    return TrainingHistory(
        job.status,
        job.ended - job.submitted,
        usage.job_node_seconds(world, job),
        job.metric_count,
        job.metric_count - max((metric.last for metric in job.metrics), default=0),
        max(job.runs - 1, 0),
        job.lost_node_s,
        given_up,
    )


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """What the histories of a scenario come to, with intervals of 95 %."""

    scenario: TrainingScenario
    histories: Sequence[TrainingHistory]

    @property
    def cancelled(self) -> Estimate:
        """The chance that it is cancelled; exact where histories are the same."""
        ended = [run for run in self.histories if not run.given_up]
        return self._chance(sum(run.status is not JobStatus.COMPLETED for run in ended))

    @property
    def not_done(self) -> Estimate:
        """The chance that it has not ended after the longest time of a history."""
        return self._chance(sum(run.given_up for run in self.histories))

    def _chance(self, hits: int) -> Estimate:
        if self.histories and self.scenario.nodes_are_certain:
            return statistics.exactly(hits / len(self.histories))
        return statistics.chance(hits, len(self.histories))

    @property
    def times(self) -> list[float]:
        """How long the histories took that completed, in seconds, ascending."""
        return sorted(map(_time_until_done, self._by_outcome(completed=True)))

    @property
    def time(self) -> Estimate:
        """How long it takes from its submission to its end, where it completes, in seconds."""
        return statistics.mean(self.times)

    def time_at(self, q: float) -> Estimate:
        """A quantile of that time."""
        return statistics.quantile_interval(self.times, q)

    def cost(self, *, completed: bool = True) -> Estimate:
        """What it costs on average where it completes, or what is spent where not, in USD."""
        price = self.scenario.price / HOUR
        return statistics.mean(run.node_s * price for run in self._by_outcome(completed=completed))

    def _by_outcome(self, *, completed: bool) -> Iterator[TrainingHistory]:
        done = JobStatus.COMPLETED
        return (run for run in self.histories if (run.status is done) is completed)

    @property
    def points(self) -> Estimate:
        """The logged points of metrics, those of repeated steps too."""
        return statistics.mean(float(run.points) for run in self.histories)

    @property
    def repeated(self) -> float:
        """The points of steps that were logged before."""
        return statistics.mean(float(run.repeated) for run in self.histories).value

    @property
    def interruptions(self) -> Estimate:
        """How often it starts again."""
        return statistics.mean(float(run.interruptions) for run in self.histories)

    @property
    def lost_node_h(self) -> float:
        """The node-hours of work that are done again."""
        return statistics.mean(run.lost_node_s for run in self.histories).value / HOUR


def _time_until_done(run: TrainingHistory) -> float:
    """How long it took until it completed, in seconds; infinite where it never did."""
    return run.time_s if run.status is JobStatus.COMPLETED else inf


def obstacle(scenario: TrainingScenario) -> str:
    """Why there is no closed form for a scenario; "" where there is one."""
    settings, cluster = scenario.settings, scenario.cluster
    prompt = not (settings.preparation_s or _again_s(settings))
    checks = (
        (scenario.nodes > 1 and not prompt, "several nodes, of which some wait for others"),
        (
            any(not isinstance(process, Poisson) for process in scenario.processes),
            "losses that are shared",
        ),
        (
            any(
                isinstance(process, Poisson) and process.by_hour is not None
                for process in scenario.processes
            ),
            "losses that follow the hour of the day",
        ),
        (_limited(scenario), "a limit of time"),
        (bool(cluster.min_instances), "nodes that are there from the beginning"),
        (bool(settings.delay_cv or settings.p_unusable), "delays by chance"),
        (not settings.training_auto_restart, "jobs that are not started again"),
        (not settings.replace, "nodes that are not replaced"),
    )
    return next((why for holds, why in checks if holds), "")


def _limited(scenario: TrainingScenario) -> bool:
    longest = scenario.job.max_runtime_s
    return longest is not None and longest < history.LONGEST_S and scenario.rate > 0


def closed_form(scenario: TrainingScenario) -> Expected | None:
    """What is expected, exactly, of one node; None where there is no closed form (`obstacle`)."""
    if obstacle(scenario):
        return None
    result = checkpoints.expected(scenario.work, scenario.job.checkpoint_every, losses(scenario))
    if scenario.job.serverless is not None:
        return result
    idle, rate = scenario.cluster.idle_s, scenario.rate / scenario.nodes
    return replace(result, billed_s=result.billed_s + checkpoints.lasts(idle, rate))


def losses(scenario: TrainingScenario) -> NodeLosses:
    """The losses of a scenario as the closed form knows them."""
    settings = scenario.settings
    first, again = settings.allocation_s, _again_s(settings)
    return NodeLosses(scenario.rate, first, again, settings.preparation_s)


def _again_s(settings: SimulationSettings) -> float:
    return settings.allocation_s if settings.replacement_s is None else settings.replacement_s


@dataclass(frozen=True, slots=True)
class Interval:
    """A checkpoint interval in steps (0: none), who proposes it, and the time that is expected.

    Both are of histories that complete; `saves_s` is what the best one, of which most do, saves
    beside it, as a paired difference; None of the best.
    """

    name: str
    every: int
    time_s: Estimate
    saves_s: Estimate | None = None


def intervals(
    study: TrainingStudy, runs: int, executor: Executor | None = None
) -> Iterator[Interval]:
    """The best interval, beside Young's, Daly's, the given one, and no checkpoint at all.

    The best is exact where there is a closed form; elsewhere it is the best of a few around Daly's,
    by the same histories. A limit of time is left out of it: it is the same for all of them.
    """
    scenario = unlimited(study.scenario)
    work, rate = scenario.work, scenario.rate
    rules = {"Young": checkpoints.young(work, rate), "Daly": checkpoints.daly(work, rate)}
    proposals = {name: every for name, every in rules.items() if every is not None}
    if scenario.job.checkpoint_every:
        proposals["given"] = scenario.job.checkpoint_every
    proposals["none"] = 0
    if obstacle(scenario):
        yield from _tried(replace(study, scenario=scenario), proposals, runs, executor)
        return
    best = checkpoints.best(work, losses(scenario))
    least = checkpoints.expected(work, best, losses(scenario)).time_s
    yield Interval("best", best, _exactly(least))
    for name, every in proposals.items():
        time_s = checkpoints.expected(work, every, losses(scenario)).time_s
        yield Interval(name, every, _exactly(time_s), _exactly(time_s - least))


def unlimited(scenario: TrainingScenario) -> TrainingScenario:
    """The same without a limit of time."""
    return replace(scenario, job=replace(scenario.job, max_runtime_s=None))


def _tried(
    study: TrainingStudy, proposals: Mapping[str, int], runs: int, executor: Executor | None
) -> Iterator[Interval]:
    scenario = study.scenario
    count, middle = scenario.work.count, proposals.get("Daly", scenario.work.count)
    tried = {min(max(round(middle * factor), 1), count) for factor in _TRIED}
    intervals_ = sorted({*tried, *proposals.values()})
    studies = [replace(study, scenario=scenario.every(every)) for every in intervals_]
    results = histories_of(studies, runs, executor)
    times = {
        every: [*map(_time_until_done, histories)]
        for every, histories in zip(intervals_, results, strict=True)
    }
    best = min(times, key=lambda every: (times[every].count(inf), sum(finite(times[every]))))
    yield Interval("best", best, statistics.mean(finite(times[best])))
    for name, every in proposals.items():
        saved = statistics.difference(times[every], times[best])
        yield Interval(name, every, statistics.mean(finite(times[every])), saved)


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)
