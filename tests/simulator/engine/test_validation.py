"""Bad input: commands that cannot be, and files that are something else."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mlctl.simulator.engine import engine, traces
from mlctl.simulator.engine.commands import (
    AddCluster,
    AddPool,
    Command,
    Configure,
    EngineError,
    Preempt,
    ResizeCluster,
    ResizePool,
    SetCapacity,
    SetPreemption,
    SetSharedQueue,
    SubmitBatch,
    SubmitPoolJob,
    SubmitTraining,
)
from mlctl.simulator.engine.model import (
    BatchWork,
    ClusterSpec,
    PoolSpec,
    SharedQueueSettings,
    SimulationSettings,
)
from mlctl.simulator.engine.processes import (
    CapacitySteps,
    Constant,
    HyperExponential,
    LossScript,
    OnOff,
    Poisson,
    PreemptionProcess,
    Shock,
    Trace,
    Weibull,
)
from tests.builders.histories import batch, cluster, training, world


def test_a_trace_is_read_from_its_file() -> None:
    text = '{"metadata": {"gap_seconds": 300}, "data": [2, 2, 1, 0]}'
    assert traces.trace(text) == Trace(300.0, (2, 2, 1, 0))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[1, 2]",
        '{"metadata": {}, "data": [1]}',
        '{"metadata": {"gap_seconds": 0}, "data": [1]}',
        '{"metadata": {"gap_seconds": "x"}, "data": [1]}',
        '{"metadata": {"gap_seconds": true}, "data": [1]}',
        '{"metadata": {"gap_seconds": NaN}, "data": [1]}',
        '{"metadata": {"gap_seconds": 300}, "data": []}',
        '{"metadata": {"gap_seconds": 300}, "data": [1, -1]}',
        '{"metadata": {"gap_seconds": 300}, "data": [1, 1.5]}',
        '{"metadata": {"gap_seconds": 300}, "data": "12"}',
        "[" * 100_000,
    ],
    ids=str,
)
def test_what_is_no_trace_is_refused_and_told_what_one_looks_like(text: str) -> None:
    with pytest.raises(EngineError, match=r'a trace is \{"metadata"'):
        traces.trace(text)


def test_scripts_and_times_are_read_from_their_files() -> None:
    assert traces.script('[[50, 1], [60, "all"]]') == LossScript(((50.0, 1), (60.0, "all")))
    assert traces.steps("[[0, 2], [60, 0]]") == CapacitySteps(((0.0, 2), (60.0, 0)))
    assert traces.times("[1, 2.5]") == (1.0, 2.5)


@pytest.mark.parametrize("text", ["{}", "[]", "[[1]]", "[[-1, 0]]", '[[1, "some"]]', "[[1, -1]]"])
def test_what_is_no_script_is_refused(text: str) -> None:
    for reader in (traces.script, traces.steps):
        with pytest.raises(EngineError, match="script is"):
            reader(text)


@pytest.mark.parametrize("text", ["{}", "[]", "[-1]", '["x"]', "[true]"])
def test_what_are_no_service_times_is_refused(text: str) -> None:
    with pytest.raises(EngineError, match="service times are"):
        traces.times(text)


def wrong_jobs() -> Iterable[tuple[Command, str]]:
    """Jobs that cannot be."""
    yield SubmitBatch(batch(0, 60, 1)), "the number of files must be at least 1, not 0"
    yield SubmitBatch(batch(1, 60, 0)), "instance_count must be at least 1"
    yield SubmitBatch(batch(1, -1, 1)), "the time per mini-batch must be at least 0, not -1"
    yield SubmitBatch(batch(1, 1, 1, timeout_s=0.0)), "timeout must be more than 0"
    yield SubmitBatch(batch(1, 1, 1, error_threshold=-2)), "error_threshold must be at least -1"
    odd = BatchWork(per_mini_batch_s=1, fail_probability=1.5)
    yield SubmitBatch(batch(1, 1, 1, workload=odd)), "to fail must be between 0 and 1, not 1.5"
    yield SubmitBatch(batch(1, 1, 1, on="nowhere")), "there is no cluster `nowhere`"
    yield SubmitTraining(training(0, 1)), "the number of steps must be at least 1"
    yield SubmitTraining(training(1, 0)), "the time per step must be more than 0"
    yield SubmitTraining(training(1, 1, cluster="x")), "there is no cluster `x`"
    own = ClusterSpec("own")
    yield SubmitTraining(training(1, 1, serverless=own)), "it cannot name a cluster"
    yield SubmitPoolJob("p", 60, "x"), "there is no pool `x`"


def wrong_clouds() -> Iterable[tuple[Command, str]]:
    """Clusters, pools and settings that cannot be."""
    yield AddCluster(cluster(1)), "a cluster `c` already exists"
    yield AddCluster(cluster(1, 2, name="d")), "max_instances must be at least 2, not 1"
    yield AddCluster(cluster(1, name="")), "a cluster needs a name"
    yield ResizeCluster("c", min_instances=9), "max_instances must be at least 9, not 4"
    yield Preempt("c", (7,)), "cluster `c` has no node 7"
    yield Configure(SimulationSettings(p_unusable=2)), "p_unusable must be between 0 and 1"
    yield Configure(SimulationSettings(allocation_s=-1)), "allocation_s must be at least 0"
    yield AddPool(PoolSpec("p", -1)), "the number of VMs must be at least 0"
    yield ResizePool("p", 1), "there is no pool `p`"
    yield SetSharedQueue(SharedQueueSettings(0)), "the number of jobs at once must be at least 1"
    yield SetCapacity(Constant(-1)), "every number of nodes must be a whole number"
    yield SetCapacity(OnOff(0, 1)), "the rate of outages must be more than 0"


def wrong_losses() -> Iterable[tuple[Command, str]]:
    """Preemption that cannot be."""
    wrong: list[tuple[PreemptionProcess, str]] = [
        (Poisson(-1), "the rate of losses must be more than 0, not -1"),
        (Poisson(float("nan")), "the rate of losses must be more than 0"),
        (Shock(1, 1.5), "must be between 0 and 1, not 1.5"),
        (HyperExponential(1, 0.5), "must be at least 1, not 0.5"),
        (Weibull(1, 0), "the shape of a Weibull life must be more than 0"),
        (LossScript(((-1, 0),)), "every second of the script must be at least 0"),
        (LossScript(((1, "some"),)), "every node of the script must be a whole number"),
        (Trace(0, (1,)), "the gap of a trace must be more than 0"),
        (Trace(1, ()), "a trace needs at least one number of nodes"),
    ]
    yield from ((SetPreemption((process,)), text) for process, text in wrong)


@pytest.mark.parametrize(
    ("command", "text"), [*wrong_jobs(), *wrong_clouds(), *wrong_losses()], ids=str
)
def test_what_cannot_be_is_refused_with_its_reason(command: Command, text: str) -> None:
    made = world(AddCluster(cluster(4, low=True)))
    with pytest.raises(EngineError, match=text.replace("(", r"\(")):
        engine.apply(made, command)
