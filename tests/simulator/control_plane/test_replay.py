"""The event engine in the store: orders, checkpoints, several processes, and sudden ends."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.jobs import Job
from mlctl.kinds.address import Address
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import checkpoints, control, disruptions, metrics, replay
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.engine.commands import Preempt
from mlctl.simulator.engine.processes import LossScript, Poisson
from mlctl.workload import Workload
from tests.builders.bodies import BLUE, CPU, ENDPOINT, MODEL, cluster, deployment, endpoint, model
from tests.builders.paths import ROOT
from tests.builders.simulated import finish_operations, inner
from tests.builders.workspace import SCOPE

AT_ONCE: dict[str, object] = {"allocation_s": 0, "preparation_s": 0, "replacement_s": 0}
SMALL = {"miniBatchSize": 1, "compute": {"instanceCount": 2}}
EVER = 1e9


def cloud(path: Path | str = ":memory:", tier: str = "LowPriority") -> LocalBackend:
    """A workspace with an endpoint on two nodes that come at once."""
    local = LocalBackend(path, SCOPE)
    local.put(CPU, cluster(2, tier)).wait()
    local.put(MODEL, model()).wait()
    local.put(ENDPOINT, endpoint()).wait()
    local.put(BLUE, deployment(retrySettings={"timeout": "PT1H"})).wait()
    disruptions.configure(local.handle, AT_ONCE)
    return local


def submitted(local: LocalBackend, files: int = 20, seconds: float = 100.0) -> Job:
    """A new job of mini-batches of one file."""
    load = Workload(files=files, seconds_per_mini_batch=seconds)
    return local.jobs.invoke("heart-batch", "blue", SMALL, load, "default")


def ended(local: LocalBackend, job: Job) -> dict[str, Any]:
    """The numbers of a job at its end, and how it ended."""
    *_, last = local.jobs.follow(job.name, EVER, detail=False)
    return {"status": last.job.status, **last.job.body["properties"]["run"]}


def told(local: LocalBackend, job: Job) -> Counter[str]:
    """How often each thing happened to a job."""
    return Counter(json.loads(line)["event"] for line in local.jobs.event_log(job.name))


def test_looking_often_changes_nothing() -> None:
    watched, left = cloud(), cloud()
    for local in (watched, left):
        disruptions.set_preemption(local.handle, (Poisson(3.0),))
    jobs = [submitted(watched), submitted(left)]
    for _ in range(40):
        watched.wait(17.5)
        watched.nodes(CPU)
    left.wait(40 * 17.5)
    shown = [
        local.jobs.show(job.name).body for local, job in zip((watched, left), jobs, strict=True)
    ]
    assert shown[0] == shown[1]


def test_a_job_goes_on_in_another_process(tmp_path: Path) -> None:
    first, whole = cloud(tmp_path / "a.db"), cloud()
    for local in (first, whole):
        disruptions.set_preemption(local.handle, (Poisson(3.0),))
    job, other = submitted(first), submitted(whole)
    first.wait(500)
    first.close()
    assert ended(LocalBackend(tmp_path / "a.db", SCOPE), job) == ended(whole, other)


def test_a_checkpoint_is_as_good_as_the_whole_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cloud()
    monkeypatch.setattr(checkpoints, "_EVENTS_PER_CHECKPOINT", 10)
    local = cloud(tmp_path / "a.db")
    for one in (whole, local):
        disruptions.set_preemption(one.handle, (Poisson(3.0),))
    job, other = submitted(local), submitted(whole)
    for _ in range(20):
        local.wait(50)
        local.nodes(CPU)
        local.close()
        local = LocalBackend(tmp_path / "a.db", SCOPE)
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        found = db.execute("SELECT now, state FROM engine").fetchone()
    assert found[0] > 0
    assert found[1]
    assert ended(local, job) == ended(whole, other)


def test_two_processes_share_one_cloud(tmp_path: Path) -> None:
    here = cloud(tmp_path / "a.db")
    there = LocalBackend(tmp_path / "a.db", SCOPE)
    job = submitted(here)
    assert there.jobs.show(job.name).status == "Running"
    there.wait(250)
    assert here.jobs.show(job.name).body["properties"]["run"]["mini_batches"]["completed"] == 4
    second = submitted(there)
    assert [one.name for one in here.jobs.list()] == [second.name, job.name]


def test_a_cloud_that_another_process_made_anew_is_new(tmp_path: Path) -> None:
    here = cloud(tmp_path / "a.db")
    job = submitted(here)
    assert len(here.nodes(CPU)) == 2
    control.reset(LocalBackend(tmp_path / "a.db", SCOPE).handle, "0")
    cloud(tmp_path / "a.db").wait(1000)
    with pytest.raises(NotFound):
        here.jobs.show(job.name)
    assert here.nodes(CPU) == []


def test_the_story_that_is_told_again_is_the_one_that_happened() -> None:
    local = cloud()
    disruptions.set_preemption(local.handle, (Poisson(5.0),))
    disruptions.configure(local.handle, {"cancel_when_preempted": "false"})
    job = submitted(local, files=40)
    for at in range(5):
        local.wait(100.0)
        disruptions.configure(local.handle, {"replacement_s": 10 * at})
    run = ended(local, job)
    events = told(local, job)
    assert run["preempted_nodes"] == events["PREEMPT"] > 3
    assert run["mini_batches"]["attempts"] == events["MB_START"]
    assert run["mini_batches"]["completed"] == events["MB_DONE"] == 40


def test_what_is_streamed_is_what_is_told_again() -> None:
    local = cloud()
    disruptions.set_preemption(local.handle, (Poisson(5.0),))
    job = submitted(local)
    streamed = Counter(
        event.event
        for progress in local.jobs.follow(job.name, EVER, detail=True)
        for event in progress.events
    )
    assert streamed + Counter({"MB_START": 2}) == told(local, job)  # those past that went well


def test_a_command_that_is_refused_changes_nothing() -> None:
    local = cloud()
    job = submitted(local)
    before = local.jobs.show(job.name).body
    with pytest.raises(Permanent):
        disruptions.set_preemption(local.handle, (Poisson(-1.0),))
    with pytest.raises(Permanent):
        local.jobs.invoke("heart-batch", "blue", {"name": job.name}, Workload(files=1), "default")
    assert local.jobs.show(job.name).body == before
    assert len(local.jobs.list()) == 1


def _preempt_and_fail(local: LocalBackend) -> None:
    with replay.transaction(local.handle.store) as it:
        replay.run_command(it, Preempt("1/cpu-cluster"))
        raise ZeroDivisionError


def test_what_is_rolled_back_has_not_happened() -> None:
    local = cloud()
    submitted(local)
    with pytest.raises(ZeroDivisionError):
        _preempt_and_fail(local)
    assert {node.state for node in local.nodes(CPU)} == {"running"}


def test_waiting_leads_past_what_was_ordered_for_later() -> None:
    local = cloud(tier="Dedicated")
    local.put(CPU, cluster(1))  # takes effect in ten seconds, while the job runs on two nodes
    job = submitted(local, files=10, seconds=8.0)
    assert ended(local, job)["makespan_s"] == 72  # two done at 8 s; one node from 10 s on
    assert inner(local)["currentNodeCount"] == 1


def test_an_operation_that_fails_moves_no_nodes() -> None:
    local = cloud(tier="Dedicated")
    control.add_fault(local.handle, CallFault(FaultKind.FAIL_OPERATION, "put", "compute/*"))
    local.put(CPU, cluster(1))
    finish_operations(local)
    assert ended(local, submitted(local, files=2))["makespan_s"] == 100


def test_a_cluster_that_was_not_made_has_no_nodes() -> None:
    local = LocalBackend(":memory:", SCOPE)
    control.add_fault(local.handle, CallFault(FaultKind.FAIL_OPERATION, "put", "compute/*"))
    local.put(CPU, cluster(2, least=2))
    local.wait(1000)
    assert local.nodes(CPU) == []
    local.put(CPU, cluster(2, least=2)).wait()
    local.wait(1000)
    assert len(local.nodes(CPU)) == 2


def test_a_cluster_is_resized_deleted_and_made_again_with_its_nodes() -> None:
    local = cloud(tier="Dedicated")
    local.put(CPU, cluster(3, least=3)).wait()
    assert inner(local)["currentNodeCount"] == 3
    local.delete(CPU).wait()
    local.put(CPU, cluster(2, least=1)).wait()
    assert (inner(local)["currentNodeCount"], len(local.nodes(CPU))) == (1, 1)


def test_clusters_without_work_need_no_engine(tmp_path: Path) -> None:
    local = LocalBackend(tmp_path / "a.db", SCOPE)
    local.put(CPU, cluster(2)).wait()
    local.put(CPU, cluster(3)).wait()
    local.read([CPU])
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        active = db.execute("SELECT active FROM engine").fetchone()
    assert active == (0,)


def test_clusters_of_one_name_in_two_workspaces_are_two() -> None:
    local = cloud(tier="Dedicated")
    far = local.within(SCOPE.__class__("other", "rg", "ws"), "westus")
    far.put(CPU, cluster(1, least=1)).wait()
    far.put(Address("compute", "more"), cluster(1)).wait()
    submitted(local)
    assert [inner(one)["currentNodeCount"] for one in (local, far)] == [2, 1]
    assert [one.name for one in metrics.summarize_usage(far.handle)] == [
        "cpu-cluster",
        "more",
        "",
    ]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.floats(0, 4000)),
        st.tuples(st.just("look"), st.just(0.0)),
        st.tuples(st.just("reopen"), st.just(0.0)),
        st.tuples(st.just("submit"), st.integers(1, 30)),
        st.tuples(st.just("preemption"), st.floats(0.1, 20)),
        st.tuples(st.just("resize"), st.integers(1, 4)),
        st.tuples(st.just("replacement"), st.floats(0, 100)),
    ),
    max_size=12,
)


def played(local: LocalBackend, steps: list[tuple[str, Any]], path: Path | None) -> list[Any]:
    """What there is to see after some steps; `reopen` and `look` are for the one with a file."""
    for what, value in steps:
        match what:
            case "advance":
                local.wait(value)
            case "look" if path:
                local.nodes(CPU)
            case "reopen" if path:
                local.close()
                local = LocalBackend(path, SCOPE)
            case "submit":
                submitted(local, files=value)
            case "preemption":
                disruptions.set_preemption(local.handle, (Poisson(value),))
            case "resize":
                local.put(CPU, cluster(value, "LowPriority")).wait()
            case "replacement":
                disruptions.configure(local.handle, {"replacement_s": value})
            case _:
                pass
    seen = [job.body for job in local.jobs.list()]
    nodes, used = local.nodes(CPU), metrics.summarize_usage(local.handle)
    local.close()
    return [seen, nodes, used]


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_it_does_not_matter_who_looks_and_how_often_the_file_is_opened(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("played") / "a.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "_EVENTS_PER_CHECKPOINT", 10)  # jobs that have ended leave, too
        found = played(cloud(path), steps, path)
    assert found == played(cloud(), steps, None)


@pytest.mark.slow
def test_a_wait_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.db", cloud()
    local = cloud(path)
    for one in (local, whole):
        disruptions.set_preemption(one.handle, (LossScript(((150.0, 0), (350.0, 1))),))
    job, other = (
        submitted(local, files=4000, seconds=1.0),
        submitted(whole, files=4000, seconds=1.0),
    )
    local.close()
    for lines in range(1, 4):
        _kill_after(lines, path, job.name)
    assert ended(LocalBackend(path, SCOPE), job) == ended(whole, other)


_STREAMING = """
import sys
from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Scope
local = LocalBackend(sys.argv[1], Scope("sub", "rg", "ws"))
for progress in local.jobs.follow(sys.argv[2], 1e9, detail=True):
    print(progress.at, flush=True)
"""


def _kill_after(lines: int, path: Path, job: str) -> None:
    """Follow a job in a process of its own, and kill that after so many strides."""
    words = [sys.executable, "-c", _STREAMING, str(path), job]
    root = str(ROOT)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": root})
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
