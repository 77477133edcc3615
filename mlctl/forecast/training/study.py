"""Studies of training jobs: histories by the event engine, and the best checkpoint interval.

If losses are a Poisson process of a single node, expectations have a closed form (`checkpoints`),
and so has the best interval. Otherwise a few intervals are tried on the same histories, which makes
their differences more precise than each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """A training job, on its cluster or on serverless nodes."""

    def every(self, steps: int) -> TrainingScenario:
        """Return the scenario with a checkpoint after so many steps; 0: without any."""
        return replace(self, job=replace(self.job, checkpoint_every=steps))

    @property
    def nodes(self) -> int:
        """The number of nodes that the job runs on at once."""
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
    """The result of one history; times in seconds, `node_s` with the idle time at the end.

    `points` are the logged steps, `repeated` those that were logged before. `given_up`: it had not
    ended after the longest time of a history.
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
    """Many histories of a training job, each from the seed and its own number."""

    scenario: TrainingScenario
    seed: str = "0"

    def histories(self, runs: range) -> list[TrainingHistory]:
        """Return the histories of these numbers."""
        return [carry_out(self.scenario, f"{self.seed}/{run}") for run in runs]


def carry_out(scenario: TrainingScenario, seed: str) -> TrainingHistory:
    """Run one history of the job, with the event engine."""
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


def _time_until_done(run: TrainingHistory) -> float:
    """Return the time until it completed, in seconds; infinite if it never did."""
    return run.time_s if run.status is JobStatus.COMPLETED else inf


def obstacle(scenario: TrainingScenario) -> str:
    """Say why a scenario has no closed form; "" if it has one."""
    settings, cluster = scenario.settings, scenario.cluster
    prompt = not (settings.preparation_s or _again_s(settings))
    limited = (scenario.job.max_runtime_s or history.LONGEST_S) < history.LONGEST_S
    single = [process for process in scenario.processes if isinstance(process, Poisson)]
    checks = (
        (scenario.nodes > 1 and not prompt, "several nodes that wait for each other"),
        (len(single) < len(scenario.processes), "losses of several nodes at once"),
        (any(process.by_hour for process in single), "losses that follow the hour of the day"),
        (limited and scenario.rate > 0, "a time limit"),
        (bool(cluster.min_instances), "nodes that exist from the beginning"),
        (bool(settings.delay_cv or settings.p_unusable), "random delays"),
        (not settings.training_auto_restart, "jobs that are not started again"),
        (not settings.replace, "nodes that are not replaced"),
    )
    return next((why for holds, why in checks if holds), "")


def closed_form(scenario: TrainingScenario) -> Expected | None:
    """Return the exact expectations for one node; None without a closed form (`obstacle`)."""
    if obstacle(scenario):
        return None
    result = checkpoints.expected(scenario.work, scenario.job.checkpoint_every, losses(scenario))
    if scenario.job.serverless is not None:
        return result
    idle, rate = scenario.cluster.idle_s, scenario.rate / scenario.nodes
    return replace(result, billed_s=result.billed_s + checkpoints.lasts(idle, rate))


def losses(scenario: TrainingScenario) -> NodeLosses:
    """Return the losses of a scenario for the closed form."""
    settings = scenario.settings
    first, again = settings.allocation_s, _again_s(settings)
    return NodeLosses(scenario.rate, first, again, settings.preparation_s)


def _again_s(settings: SimulationSettings) -> float:
    return settings.allocation_s if settings.replacement_s is None else settings.replacement_s


@dataclass(frozen=True, slots=True)
class Interval:
    """A checkpoint interval in steps (0: none), who proposes it, and the expected time.

    The time is that of histories that complete; `saves_s` is what the best interval saves over it,
    as a paired difference; None for the best.
    """

    name: str
    every: int
    time_s: Estimate
    saves_s: Estimate | None = None


def intervals(
    study: TrainingStudy, runs: int, executor: Executor | None = None
) -> Iterator[Interval]:
    """Yield the best interval, Young's, Daly's, the given one, and no checkpoints at all.

    The best is exact if there is a closed form; otherwise it is the best of a few around Daly's, on
    the same histories. A time limit is left out: it is the same for all of them.
    """
    scenario = without_limit(study.scenario)
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


def without_limit(scenario: TrainingScenario) -> TrainingScenario:
    """Return the scenario without a time limit."""
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
