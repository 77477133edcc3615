"""Small simulated clouds for the tests of the event engine: one cluster `c`, one job `j`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import sqrt
from statistics import fmean, stdev

from mlctl.simulator.engine import cluster_commands, engine, views
from mlctl.simulator.engine.commands import (
    AddCluster,
    Command,
    Preempt,
    SetPreemption,
    SubmitBatch,
    SubmitTraining,
)
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.model import (
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
    TrainingSpec,
)
from mlctl.simulator.engine.processes import PreemptionProcess
from mlctl.simulator.engine.state import World
from mlctl.simulator.engine.usage import usage
from mlctl.simulator.engine.views import JobView, MiniBatchCounts, NodeCounts, TrainingProgress
from tests.builders import invariants

AT_ONCE = SimulationSettings(
    allocation_s=0.0, preparation_s=0.0, replacement_s=0.0, provisioning_s=0.0
)
NO_CANCEL = replace(AT_ONCE, cancel_when_preempted=False)
HOUR, DAY, EVER = 3600.0, 86_400.0, 1e9
NO_TIMEOUT = 1e9


def cluster(
    most: int, least: int = 0, *, name: str = "c", low: bool = False, idle_s: float = 120.0
) -> ClusterSpec:
    """A cluster of at most `most` nodes of 4 cores."""
    tier = Tier.LOW_PRIORITY if low else Tier.DEDICATED
    return ClusterSpec(name, tier, least, most, idle_s)


def batch(
    n: int, seconds: float, nodes: int, *, name: str = "j", on: str = "c", **more: object
) -> BatchSpec:
    """A job of `n` mini-batches of one file, `seconds` each."""
    spec = BatchSpec(
        *(name, on, n, BatchWork(per_mini_batch_s=float(seconds))),
        mini_batch_size=1,
        instance_count=nodes,
        timeout_s=NO_TIMEOUT,
    )
    return replace(spec, **more)  # type: ignore[arg-type]  # fields by name


def training(steps: int, seconds: float, *, name: str = "j", **more: object) -> TrainingSpec:
    """A training job of `steps` steps on the cluster `c`."""
    spec = TrainingSpec(name, steps, seconds, cluster="c")
    return replace(spec, **more)  # type: ignore[arg-type]  # fields by name


def world(
    *commands: Command,
    settings: SimulationSettings = AT_ONCE,
    seed: str = "tests",
    watched: bool = True,
) -> World:
    """A new cloud after these commands; `watched`: every invariant is checked after every event."""
    made = World(seed, settings=settings)
    if watched:
        made.observer = invariants.verify
    for command in commands:
        cluster_commands.carry_out(made, command)
    return made


def of(
    spec: ClusterSpec, job: BatchSpec | TrainingSpec, *losses: PreemptionProcess
) -> tuple[Command, ...]:
    """The commands of a history: a cluster, what takes its nodes, and a job on it."""
    submit = SubmitBatch(job) if isinstance(job, BatchSpec) else SubmitTraining(job)
    return (SetPreemption(losses), AddCluster(spec), submit)


def ended(made: World, job: str = "j", limit: float = EVER) -> JobView:
    """The job after it has ended.

    Raises:
        AssertionError: it does not end.
    """
    assert engine.finish(made, job, limit), views.job(made, job)
    return views.job(made, job)


def counts(made: World, at: float) -> NodeCounts:
    """The nodes of `c` at a later moment."""
    engine.run(made, at)
    return views.counts(made, "c")


def states(made: World, at: float) -> list[str]:
    """The state of every node of `c` at a later moment."""
    engine.run(made, at)
    return [node.state.name for node in views.nodes(made, "c")]


def lost_at(at: float, nodes: tuple[int, ...], made: World) -> JobView:
    """The job after these nodes were lost."""
    engine.run(made, at)
    engine.apply(made, Preempt("c", nodes))
    engine.run(made, at)  # what follows at once
    return views.job(made, "j")


def mini_batches(view: JobView) -> MiniBatchCounts:
    """The mini-batches of a batch job."""
    assert view.mini_batches is not None
    return view.mini_batches


def steps(view: JobView) -> TrainingProgress:
    """The steps of a training job."""
    assert view.training is not None
    return view.training


def billed(made: World, until: float | None = None) -> float:
    """The node-seconds of the cluster `c`, at a later moment where one is given."""
    if until is not None:
        engine.run(made, until)
    return sum(one.node_s for one in usage(made) if one.kind == "cluster" and one.name == "c")


def lines(events: Iterable[LoggedEvent]) -> list[str]:
    """The event log."""
    return [event.line() for event in events]


def repeated(
    times: int, name: str, commands: Iterable[Command], settings: SimulationSettings = AT_ONCE
) -> list[JobView]:
    """The job after each of many histories, which differ in their seed only."""
    todo = tuple(commands)
    return [
        ended(world(*todo, settings=settings, seed=f"{name}/{time}", watched=False))
        for time in range(times)
    ]


def z(views_: list[JobView], what: Callable[[JobView], float], expected: float) -> float:
    """How many standard errors the mean over histories is off what it has to be."""
    values = [what(view) for view in views_]
    return (fmean(values) - expected) / (stdev(values) / sqrt(len(values)))
