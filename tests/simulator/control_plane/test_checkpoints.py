"""Jobs that have ended leave the engine's stored state, and are shown as before."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import checkpoints, control, disruptions, metrics, replay
from mlctl.simulator.control_plane.integrity import check
from mlctl.simulator.control_plane.state.store import LocalStateError, Store
from mlctl.simulator.engine import snapshot
from mlctl.simulator.engine.processes import Poisson
from mlctl.workload import Workload
from tests.builders.bodies import CPU
from tests.builders.workspace import SCOPE
from tests.simulator.control_plane.test_replay import cloud, ended, submitted

JOBS = 12


def worked(local: LocalBackend, jobs: int = JOBS) -> LocalBackend:
    """A cloud on which some jobs have ended, and their nodes have gone."""
    disruptions.set_preemption(local.handle, (Poisson(1.0),))
    for number in range(jobs):
        body = {"name": f"job-{number}", "miniBatchSize": 1, "compute": {"instanceCount": 2}}
        load = Workload(files=6, seconds_per_mini_batch=50.0)
        ended(local, local.jobs.invoke("heart-batch", "blue", body, load, "default"))
        local.wait(1000.0)
    return local


def seen(local: LocalBackend) -> list[Any]:
    """What there is to see of all jobs."""
    jobs = local.jobs.list()
    return [
        [job.body for job in jobs],
        [local.jobs.show(job.name).body for job in jobs],
        [list(local.jobs.event_log(job.name)) for job in jobs],
        metrics.summarize_usage(local.handle),
        local.nodes(CPU),
    ]


def stored(path: Path) -> tuple[int, int]:
    """How many jobs the engine's stored state has, and how many have left it."""
    with closing(sqlite3.connect(path)) as db:
        (state,) = db.execute("SELECT state FROM engine").fetchone()
        (left,) = db.execute("SELECT count(*) FROM ended_jobs").fetchone()
    return len(json.loads(state)["jobs"]) if state else 0, left


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a checkpoint be stored by everybody who looks."""
    monkeypatch.setattr(checkpoints, "_EVENTS_PER_CHECKPOINT", -1)


@pytest.mark.usefixtures("often")
def test_jobs_that_have_left_the_engine_are_shown_as_those_that_have_not(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    worked(cloud(path)).close()
    in_state, left = stored(path)
    assert in_state + left == JOBS
    assert in_state <= 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "_EVENTS_PER_CHECKPOINT", 10**9)
        patch.setattr(checkpoints, "_EVENTS_TO_REPLAY", 10**9)
        whole = seen(worked(cloud()))
    assert seen(LocalBackend(path, SCOPE)) == whole


@pytest.mark.usefixtures("often")
def test_a_checkpoint_of_another_version_is_made_again_from_the_commands(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    worked(cloud(path)).close()
    whole = seen(worked(cloud()))
    renamed(path, "engine", "state", '"clusters"', '"old_name"')
    renamed(path, "ended_jobs", "state", '"name"', '"old_name"')
    assert seen(LocalBackend(path, SCOPE)) == whole
    check(Store(path))  # what was stored of another version is replaced


def test_commands_of_another_version_are_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    worked(cloud(path), 1).close()
    renamed(path, "commands", "command", '"spec"', '"old_name"')
    renamed(path, "engine", "state", '"clusters"', '"old_name"')
    with pytest.raises(LocalStateError, match="another version of mlctl wrote the local state"):
        seen(LocalBackend(path, SCOPE))


def renamed(path: Path, table: str, column: str, old: str, new: str) -> None:
    """Let a table say what a version with another name would have written."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (old, new))
        db.commit()


@pytest.mark.usefixtures("often")
def test_an_ended_job_stays_as_long_as_idle_nodes_are_billed_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    local, whole = cloud(path), cloud()
    for one in (local, whole):
        ended(one, submitted(one))
    assert stored(path) == (1, 0)
    for one in (local, whole):
        one.wait(5000.0)
    local.nodes(CPU)
    assert stored(path) == (0, 1)
    bodies = [one.jobs.list()[0].body for one in (local, whole)]
    assert bodies[0] == bodies[1]


@pytest.mark.usefixtures("often")
def test_the_name_of_a_job_that_has_left_is_taken_and_it_cannot_be_cancelled(
    tmp_path: Path,
) -> None:
    local = worked(cloud(tmp_path / "a.db"), 2)
    with pytest.raises(Permanent, match="has already ended: it is Completed"):
        local.jobs.cancel("job-0")
    with pytest.raises(Permanent, match="exists already"):
        local.jobs.invoke("heart-batch", "blue", {"name": "job-0"}, Workload(files=1), "default")


def test_a_process_that_is_behind_does_not_see_what_left_after_it(tmp_path: Path) -> None:
    behind = cloud(tmp_path / "a.db")
    behind.nodes(CPU)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "_EVENTS_PER_CHECKPOINT", 0)
        ahead = worked(LocalBackend(tmp_path / "a.db", SCOPE), 3)
    assert stored(tmp_path / "a.db")[1] > 0
    assert seen(behind) == seen(ahead)


@pytest.mark.usefixtures("often")
def test_a_checkpoint_that_is_rolled_back_loses_no_job(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    local, whole = worked(cloud(path), 1), worked(cloud(), 1)
    for one in (local, whole):
        submitted(one, files=2)
        one.wait(5000.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "save", _save_and_fail)
        with pytest.raises(ZeroDivisionError):
            local.nodes(CPU)
    assert [job.body for job in local.jobs.list()] == [job.body for job in whole.jobs.list()]


_save = checkpoints.save


def _save_and_fail(db: sqlite3.Connection, cache: checkpoints.EngineCache) -> None:
    there = len(cache.world.jobs)
    _save(db, cache)
    if len(cache.world.jobs) < there:
        raise ZeroDivisionError


def test_an_engine_that_is_not_there_yet_does_not_see_what_left_later() -> None:
    local = worked(cloud(), 1)
    with replay.transaction(local.handle.store) as now:
        ((name, state),) = snapshot.dump(now.world)["jobs"]
        checkpoints._add_ended_jobs(now.db, 70, [(name, state)])
        assert name not in checkpoints.EndedJobs(now.db, 69)
        assert list(checkpoints.EndedJobs(now.db, 70)) == [name]
        checkpoints._add_ended_jobs(now.db, 60, [(name, state)])  # by a process that was behind
        checkpoints._add_ended_jobs(now.db, 80, [(name, state)])
        assert checkpoints.EndedJobs(now.db, 60)[name] == now.world.jobs[name]
        assert len(checkpoints.EndedJobs(now.db, 59)) == 0


@pytest.mark.usefixtures("often")
def test_a_cloud_made_anew_has_no_ended_jobs(tmp_path: Path) -> None:
    local = worked(cloud(tmp_path / "a.db"), 2)
    control.reset(local.handle, "0")
    assert stored(tmp_path / "a.db") == (0, 0)
    with pytest.raises(NotFound):
        local.jobs.show("job-0")


def test_a_state_of_an_older_version_is_read_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    local, whole = worked(cloud(path), 3), worked(cloud(), 3)
    with replay.transaction(local.handle.store) as now:
        state = snapshot.dump(now.world)
        assert len(state["jobs"]) == 3
        now.db.execute(
            "UPDATE engine SET state = ?, now = ?, last_at = ?, last_command = ?",
            (json.dumps(state), now.world.now, *now.cache.last),
        )
    local.close()
    with closing(sqlite3.connect(path)) as db:
        for table in ("activity", "ended_jobs", "journals", "leases"):
            db.execute(f"DROP TABLE {table}")
        db.execute("ALTER TABLE resources DROP COLUMN last_operation")
        db.execute("PRAGMA user_version = 6")
    again = LocalBackend(path, SCOPE)
    assert seen(again) == seen(whole)
    jobs = [submitted(again), submitted(whole)]
    assert ended(again, jobs[0]) == ended(whole, jobs[1])


@pytest.mark.usefixtures("often")
def test_a_damaged_row_of_an_ended_job_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    worked(cloud(path), 2).close()
    check(Store(path))
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE ended_jobs SET state = '{}'")
        db.commit()
    with pytest.raises(LocalStateError, match="ended_jobs"):
        check(Store(path))
