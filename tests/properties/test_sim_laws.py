"""Laws of the event engine over generated histories."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.simulator.engine import engine, snapshot
from mlctl.simulator.engine.commands import (
    AddCluster,
    AddPool,
    CancelJob,
    Command,
    Configure,
    DeleteCluster,
    DeletePool,
    EngineError,
    Preempt,
    ResizeCluster,
    ResizePool,
    SetCapacity,
    SetLock,
    SetPreemption,
    SetQuotas,
    SetSharedQueue,
    SubmitBatch,
    SubmitPoolJob,
    SubmitTraining,
)
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.model import (
    BatchSpec,
    BatchWork,
    ClusterSpec,
    PoolSpec,
    PreemptedJob,
    QueueEnd,
    SharedQueueSettings,
    SimulationSettings,
    SingleNode,
    Tier,
    TrainingSpec,
)
from mlctl.simulator.engine.processes import (
    ALL,
    Bathtub,
    CapacitySteps,
    Constant,
    HyperExponential,
    LossScript,
    OnOff,
    Poisson,
    Shock,
    Trace,
    Weibull,
)
from mlctl.simulator.engine.state import World
from tests.builders import invariants

NAMES = ("a", "b")
seconds = st.sampled_from([0.0, 1.0, 30.0, 100.0, 0.1])
rates = st.sampled_from([0.5, 5.0, 30.0])
few = st.integers(0, 4)
cores = st.sampled_from([0, 4, 8, 20])
some = st.integers(1, 5)

# Told only where every mini-batch is of interest: they can be millions.
DETAILS = frozenset({"MB_START", "MB_DONE", "MB_FAIL", "MB_TIMEOUT", "MB_LOST"})


def either(*options: st.SearchStrategy[Command]) -> st.SearchStrategy[Command]:
    """One of these commands."""
    return st.one_of(*options)


clusters = st.builds(
    ClusterSpec,
    name=st.sampled_from(NAMES),
    tier=st.sampled_from(Tier),
    min_instances=st.integers(0, 2),
    max_instances=st.integers(2, 5),
    idle_s=st.sampled_from([0.0, 60.0, 120.0]),
    price=st.none() | st.just(1.0),
    quotas=st.sampled_from([(), (("family", 8),), (("family", 8), ("total", 12))]),
)
workloads = st.builds(
    BatchWork,
    per_file_s=st.sampled_from([0.0, 7.0]),
    per_mini_batch_s=st.sampled_from([10.0, 33.3, 60.0]),
    cv=st.sampled_from([0.0, 0.5]),
    fail_probability=st.sampled_from([0.0, 0.3, 1.0]),
    trace=st.sampled_from([(), (10.0, 50.0)]),
    per_start_s=st.sampled_from([0.0, 0.0, 25.0, 700.0]),
)
batches = st.builds(
    BatchSpec,
    name=st.sampled_from(["j1", "j2", "j3"]),
    cluster=st.sampled_from(NAMES),
    files=st.integers(1, 60),
    workload=workloads,
    mini_batch_size=st.sampled_from([1, 3, 10]),
    instance_count=some,
    concurrency=st.integers(1, 3),
    max_retries=st.integers(0, 3),
    timeout_s=st.sampled_from([40.0, 1e6]),
    error_threshold=st.sampled_from([-1, 0, 5]),
)
trainings = st.builds(
    TrainingSpec,
    name=st.sampled_from(["t1", "t2"]),
    steps=st.integers(1, 40),
    step_s=st.sampled_from([1.0, 20.0, 0.3]),
    cluster=st.sampled_from(NAMES),
    checkpoint_every=st.sampled_from([0, 3]),
    checkpoint_s=st.sampled_from([0.0, 5.0]),
    restore_s=st.sampled_from([0.0, 5.0]),
    instance_count=st.integers(1, 3),
    max_runtime_s=st.none() | st.just(300.0),
)
serverless = st.builds(
    replace,
    trainings,
    cluster=st.just(""),
    serverless=st.builds(ClusterSpec, st.just("own"), st.sampled_from(Tier)),
)
traces = st.builds(
    Trace,
    st.sampled_from([50.0, 300.0]),
    st.lists(few, min_size=1, max_size=5).map(tuple),
    st.integers(0, 7),
)
losses = st.one_of(
    st.builds(Poisson, rates),
    st.builds(HyperExponential, rates, st.sampled_from([1.0, 3.0])),
    st.builds(Weibull, rates, st.sampled_from([0.7, 2.0])),
    st.just(Bathtub(0.475, 1.0, 0.8, 24.0)),
    st.builds(Shock, rates, st.sampled_from([0.0, 0.5, 1.0])),
    st.builds(
        LossScript,
        st.lists(st.tuples(seconds, few | st.just(ALL)), max_size=4).map(tuple),
    ),
    traces,
)
capacities = st.one_of(
    st.builds(Constant, few),
    st.builds(CapacitySteps, st.lists(st.tuples(seconds, few), max_size=4).map(tuple)),
    st.builds(OnOff, rates, st.sampled_from([60.0, 600.0]), st.none() | few),
    traces,
)
behaviours = st.builds(
    SimulationSettings,
    allocation_s=seconds,
    preparation_s=seconds,
    replacement_s=st.none() | seconds,
    delay_cv=st.sampled_from([0.0, 0.4]),
    replace=st.booleans(),
    leave_s=seconds,
    p_unusable=st.sampled_from([0.0, 0.3]),
    unusable_recycle_s=seconds,
    restore_window_h=st.sampled_from([0.01, 48.0]),
    cancel_when_preempted=st.booleans(),
    single_node=st.sampled_from(SingleNode),
    preempted_job_ends=st.sampled_from(PreemptedJob),
    release_idle_nodes=st.booleans(),
    first_task_creation_timeout_s=st.sampled_from([0.0, 100.0, 600.0]),
    progress_update_timeout_s=st.sampled_from([None, 0.0, 50.0]),
    cancel_grace_s=seconds,
    preemption_counts_as_try=st.booleans(),
    retries_are_tries=st.booleans(),
    failed_goes_to=st.sampled_from(QueueEnd),
    preempted_goes_to=st.sampled_from(QueueEnd),
    training_auto_restart=st.booleans(),
    billing_granularity_s=st.sampled_from([0.0, 1.0]),
    provisioning_s=seconds,
)
jobs = st.sampled_from(["j1", "j2", "j3", "t1", "p1", "p2"])
commands = either(
    st.builds(AddCluster, clusters),
    st.builds(AddCluster, clusters),
    st.builds(SubmitBatch, batches),
    st.builds(SubmitBatch, batches),
    st.builds(SubmitTraining, trainings | serverless),
    st.builds(ResizeCluster, st.sampled_from(NAMES), st.none() | few, st.none() | few),
    st.builds(DeleteCluster, st.sampled_from(NAMES)),
    st.builds(SetLock, st.sampled_from(NAMES), st.booleans()),
    st.builds(CancelJob, jobs),
    st.builds(Preempt, st.sampled_from(NAMES), st.none() | st.tuples(few)),
    st.builds(SetPreemption, st.lists(losses, max_size=3).map(tuple)),
    st.builds(SetPreemption, st.lists(losses, max_size=3).map(tuple)),
    st.builds(SetCapacity, st.none() | capacities, st.none() | st.sampled_from(Tier)),
    st.builds(SetQuotas, st.tuples(st.tuples(st.sampled_from(["family", "total"]), cores))),
    st.builds(Configure, behaviours),
    st.builds(AddPool, st.builds(PoolSpec, st.just("p"), few)),
    st.builds(ResizePool, st.just("p"), few),
    st.builds(DeletePool, st.just("p")),
    st.builds(SubmitPoolJob, st.sampled_from(["p1", "p2"]), seconds, st.none() | st.just("p")),
    st.builds(
        SetSharedQueue, st.builds(SharedQueueSettings, st.integers(1, 2), rates, st.just(300.0))
    ),
)


@dataclass(frozen=True)
class Scenario:
    """A cluster and a job, what else is asked and how long after the one before, and a while."""

    seed: str
    start: tuple[Command, Command]
    more: tuple[tuple[float, Command], ...]
    after: float

    def asked(self) -> list[tuple[float, Command]]:
        """All that is asked of a new cloud."""
        return [*((0.0, command) for command in self.start), *self.more]


gaps = st.sampled_from([0.0, 0.0, 10.0, 61.7, 600.0])
scenarios = st.builds(
    Scenario,
    st.integers(0, 9).map(str),
    st.tuples(st.builds(AddCluster, clusters), st.builds(SubmitBatch, batches)),
    st.lists(st.tuples(gaps, commands), max_size=9).map(tuple),
    st.sampled_from([100.0, 5000.0, 200_000.0]),
)


def told(
    scenario: Scenario, *, watched: bool = False, detail: bool = True, cuts: int = 1
) -> Iterator[LoggedEvent]:
    """The log of a scenario; with `cuts` the state is written down and read back on the way."""
    world = World(scenario.seed)
    world.observer = invariants.verify if watched else None
    for gap, command in (*scenario.asked(), (scenario.after, None)):
        start = world.now
        for cut in range(1, cuts + 1):
            to = start + gap if cut == cuts else start + gap * cut / cuts
            yield from engine.advance(world, to, detail=detail)
            if cuts > 1:
                world = snapshot.load(json.loads(json.dumps(snapshot.dump(world))))
        if command is not None:
            try:
                yield from engine.apply(world, command, detail=detail)
            except EngineError:
                continue


def log(scenario: Scenario, *, watched: bool = False, cuts: int = 1) -> list[str]:
    """The lines of a scenario's log."""
    return [event.line() for event in told(scenario, watched=watched, cuts=cuts)]


@given(scenarios)
def test_every_invariant_holds_after_every_event(scenario: Scenario) -> None:
    for _ in told(scenario, watched=True):
        pass


@given(scenarios, st.integers(2, 4))
def test_to_write_the_state_down_and_go_on_is_to_go_on(scenario: Scenario, cuts: int) -> None:
    assert log(scenario, cuts=cuts) == log(scenario)


@pytest.mark.slow
@given(scenarios)
def test_many_mini_batches_at_once_are_the_same_as_one_by_one(scenario: Scenario) -> None:
    assert log(scenario) == log(scenario, watched=True)


@given(scenarios)
def test_a_shorter_log_leaves_out_mini_batches_and_nothing_else(scenario: Scenario) -> None:
    whole = [event.line() for event in told(scenario) if event.event not in DETAILS]
    assert whole == [event.line() for event in told(scenario, detail=False)]


@given(scenarios)
def test_a_mini_batch_that_is_done_stays_done(scenario: Scenario) -> None:
    done: set[tuple[object, object]] = set()
    for event in told(scenario):
        if event.event in DETAILS:
            which = (event.facts["job"], event.facts["mini_batch"])
            assert which not in done
            if event.event == "MB_DONE":
                done.add(which)


@given(scenarios)
def test_what_is_refused_changes_nothing(scenario: Scenario) -> None:
    world = World(scenario.seed)
    for gap, command in scenario.asked():
        engine.run(world, world.now + gap)
        before = snapshot.dump(world)
        try:
            engine.apply(world, command)
        except EngineError:
            assert snapshot.dump(world) == before


@given(scenarios)
def test_time_never_goes_back_in_a_log(scenario: Scenario) -> None:
    times = [event.at for event in told(scenario)]
    assert times == sorted(times)
