"""One history: a job run under a policy until it is done, with the event engine.

A cancelled run is followed by the next one in the same cloud: nodes that were preparing still
exist, and an outage that took the first run's nodes continues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from mlctl.dataclasses import replace
from mlctl.forecast.scenario import JobScenario, Scenario, Spec
from mlctl.forecast.weather import models as weather
from mlctl.simulator.engine import cluster_commands, engine, usage
from mlctl.simulator.engine.commands import (
    AddCluster,
    CancelJob,
    SetPreemption,
    SubmitBatch,
    SubmitTraining,
)
from mlctl.simulator.engine.jobs import AnyJob, BatchJob, JobStatus, TrainingJob
from mlctl.simulator.engine.model import HOUR, ClusterSpec, Tier
from mlctl.simulator.engine.processes import OnOff, Poisson, Shock
from mlctl.simulator.engine.state import World

LONGEST_S = 90 * 24 * HOUR  # of one history: a job without progress for this long is not done
MOST_TRIES = 10_000
_MOST_STARTS = 1000  # of a training job, which resumes where it was lost
_ROUNDING_S = 1e-6
_SLICE_S = 6 * HOUR  # how often the starts of a job are counted
TWIN = "-dedicated"  # the cluster that a policy falls back to


class Try(NamedTuple):
    """One run of the job, from its submission to its end, or until it was given up."""

    status: JobStatus
    began: float
    ended: float
    preempted: int
    lost_node_s: float
    attempts: int
    done: int
    failed: int
    given_up: bool = False


class BilledTime(NamedTuple):
    """Node-seconds: of the first run, and of all runs by tier; including final idle times.

    `staying` is the part after the last run of nodes that stay, because of `min_instances`.
    """

    first: float
    low_priority: float
    dedicated: float
    staying: float = 0.0


# How long a run may continue that has done so many mini-batches.
Extension = Callable[[int], float]


class HistoryCloud(Protocol):
    """Runs jobs in turn in one history."""

    @property
    def scenario(self) -> Scenario:
        """The scenario, with processes that begin as this history has them."""
        ...

    @property
    def now(self) -> float:
        """Return the seconds since the history began."""
        ...

    def run(self, files: int, tier: Tier, until: float, extension: Extension | None = None) -> Try:
        """Submit the job with so many files now, and let it run to its end, or to `until`.

        Its progress by then may give it more time (`extension`).
        """
        ...

    def bill(self) -> BilledTime:
        """Return the cost of the runs, once no node is billed to them any more."""
        ...


class EngineCloud:
    """A `HistoryCloud` on the event engine, which knows every rule."""

    def __init__(self, scenario: Scenario, seed: str) -> None:
        self.scenario = placed(scenario, seed)
        self.world = prepared(self.scenario, seed)
        self.jobs: list[str] = []
        self.away_s = 0.0  # how long runs on the twin left permanent nodes without work

    @property
    def now(self) -> float:
        return self.world.now

    def run(self, files: int, tier: Tier, until: float, extension: Extension | None = None) -> Try:
        world, name, began = self.world, self.submit(files, tier), self.world.now
        given_up = not engine.finish(world, name, until)
        job = world.jobs[name]
        while given_up and extension is not None:
            later = extension(self.seen(job))
            if later <= until + _ROUNDING_S:
                break
            until = later
            given_up = not engine.finish(world, name, until)
        if given_up:
            engine.run(world, max(until, world.now))  # it may never move on
            cluster_commands.carry_out(world, CancelJob(name))
        if tier is not self.scenario.cluster.tier:
            self.away_s += max(world.now - began - self.scenario.cluster.idle_s, 0.0)
        return self.result(world.jobs[name], given_up=given_up)

    def seen(self, job: AnyJob) -> int:
        """Return the visible progress of a running job: mini-batches that are done."""
        assert isinstance(job, BatchJob)
        return job.done

    def result(self, job: AnyJob, *, given_up: bool) -> Try:
        """Return the result of a run."""
        assert isinstance(job, BatchJob)
        assert job.ended is not None
        return Try(
            job.status,
            job.submitted,
            job.ended,
            job.preempted_nodes,
            job.lost_node_s,
            job.attempts,
            job.done,
            job.failed,
            given_up,
        )

    def submit(self, files: int, tier: Tier) -> str:
        """Submit the job with so many files to the cluster or its twin; return its name."""
        world, cluster = self.world, self.scenario.cluster
        if tier is not cluster.tier:
            cluster = replace(cluster, name=cluster.name + TWIN, tier=tier, min_instances=0)
        if cluster.name not in world.clusters:
            cluster_commands.carry_out(world, AddCluster(cluster))
        job = self.scenario.job
        name = job.name if not self.jobs else f"{job.name}-{len(self.jobs) + 1}"
        self.jobs.append(name)
        cluster_commands.carry_out(world, self.command(name, cluster, files))
        return name

    def command(self, name: str, cluster: ClusterSpec, files: int) -> SubmitBatch | SubmitTraining:
        """Build the command that submits a run of so many files."""
        return SubmitBatch(replace(self.scenario.job, name=name, cluster=cluster.name, files=files))

    def bill(self) -> BilledTime:
        world, ended = self.world, self.world.now
        settle(world)
        staying = sum(
            max(node.billed_until - ended, 0.0)  # when the last run ceased to pay for it
            for cluster in world.clusters.values()
            for node in cluster.nodes.values()
            if node.billed_until is not None
        )
        used = [usage.job_node_seconds(world, world.jobs[name]) for name in self.jobs]
        low = [
            seconds
            for name, seconds in zip(self.jobs, used, strict=True)
            if world.jobs[name].tier is Tier.LOW_PRIORITY
        ]
        idle = self.away_s * self.scenario.cluster.min_instances
        return BilledTime(used[0], sum(low) + idle, sum(used) - sum(low), staying)


def has_no_memory(scenario: JobScenario[Spec]) -> bool:
    """Whether losses are independent of the past, of a node's age and of the hour."""
    return all(
        isinstance(process, Poisson | Shock | OnOff) and process.by_hour is None
        for process in scenario.processes
    )


def finish_training(world: World, name: str, until: float) -> bool:
    """Run until a training job ends, or until `until`; return whether it has ended.

    A job that has started `_MOST_STARTS` times without an end never ends.
    """
    job = world.jobs[name]
    while world.now < until:
        previous = world.now
        if engine.finish(world, name, min(world.now + _SLICE_S, until)):
            return True
        if isinstance(job, TrainingJob) and job.runs > _MOST_STARTS:
            return False
        if world.now == previous:  # nothing is scheduled any more
            engine.run(world, until)
    return False


def settle(world: World) -> None:
    """Run until no node is billed to a job any more."""
    while any(
        node.billed_until is not None and node.payer
        for cluster in world.clusters.values()
        for node in cluster.nodes.values()
    ):
        following = engine.next_event_time(world)
        if following is None or following > world.now + LONGEST_S:
            return
        engine.run(world, following)


def prepared(scenario: JobScenario[Spec], seed: str) -> World:
    """Create a cloud with the cluster, its minimum of nodes, and the scenario's processes."""
    world, settings = World(seed, settings=scenario.settings), scenario.settings
    cluster = scenario.cluster
    cluster_commands.carry_out(world, AddCluster(cluster))
    if cluster.min_instances:
        longest = settings.allocation_s + settings.preparation_s
        engine.run(world, longest * (1 + 10 * settings.delay_cv))
    if scenario.processes:
        processes = weather.placed(scenario.processes, seed)
        cluster_commands.carry_out(world, SetPreemption(processes))
    return world


def placed(scenario: Scenario, seed: str) -> Scenario:
    """Return the scenario with processes that begin where a history's do."""
    placed_processes = weather.placed(scenario.processes, seed)
    if placed_processes == scenario.processes:
        return scenario
    return replace(scenario, processes=placed_processes)
