"""Two real processes that apply the same project: one waits, is killed, or is cancelled."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import entry_points
from tests.builders.shell import Done, clusters, finish, start

STATE = {"MLCTL_LOCAL_DB": "state.db"}
APPLY = ("apply", "two", "--yes", "--parallelism", "1", *entry_points.SCOPE)


@pytest.fixture
def holding(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """An apply of two clusters under a lease, that is in the middle of its first write."""
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    clusters(tmp_path / "two", 2)
    entry_points.install(tmp_path)
    process = start(tmp_path, *APPLY, "--backend", "held", env=STATE)
    assert (tmp_path / "reached").read_text() == "compute/c00"
    yield process
    process.kill()
    process.communicate()


def run(folder: Path, *arguments: str) -> Done:
    return finish(start(folder, *arguments, *entry_points.SCOPE, env=STATE))


def leases(folder: Path) -> Any:
    return run(folder, "lock", "show", "-o", "json").json


def advance(folder: Path, seconds: float) -> None:
    """Let time pass for the lease: what was renewed now was renewed so long ago."""
    with sqlite3.connect(folder / "state.db", timeout=30) as db:
        db.execute("UPDATE leases SET renewed = renewed - ?", (seconds,))
    db.close()


@pytest.mark.slow
def test_a_killed_holder_blocks_nobody_longer_than_its_lease(
    holding: subprocess.Popen[str], tmp_path: Path
) -> None:
    holding.kill()
    holding.wait()
    assert run(tmp_path, *APPLY[:5]).code == 10
    assert leases(tmp_path)[0]["holder"]["pid"] == holding.pid
    advance(tmp_path, 60)
    (tmp_path / "go").unlink()
    done = run(tmp_path, *APPLY[:5])
    assert (done.code, leases(tmp_path)) == (0, [])
    assert "Resources: 2 added" in done.out


@pytest.mark.slow
def test_a_holder_that_slept_through_its_lease_writes_nothing_any_more(
    holding: subprocess.Popen[str], tmp_path: Path
) -> None:
    advance(tmp_path, 60)
    theirs = run(tmp_path, *APPLY[:5], "--backend", "local")
    assert "Resources: 2 added" in theirs.out
    assert run(tmp_path, "destroy", "two", "--yes").code == 0
    (tmp_path / "go").write_text("")
    done = finish(holding)
    assert done.code == 10
    assert "Apply was stopped. Resources: 0 added, 0 changed, 0 destroyed." in done.err
    assert "the lease of `scoring` is lost" in done.err
    assert "  – compute/c00\n  – compute/c01\n" in done.err  # noqa: RUF001 - as it is printed
    assert run(tmp_path, "compute", "list").json == []


@pytest.mark.slow
def test_a_cancelled_holder_gives_it_back_at_once(
    holding: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert len(leases(tmp_path)) == 1
    holding.send_signal(signal.SIGTERM)
    assert holding.stderr is not None
    for line in holding.stderr:
        if line.startswith("Stopping"):
            break
    (tmp_path / "go").write_text("")
    assert (finish(holding).code, leases(tmp_path)) == (8, [])


@pytest.mark.slow
def test_a_broken_holder_stops_before_its_next_write(
    holding: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert run(tmp_path, "lock", "break", "--yes", "--project", "scoring").code == 0
    (tmp_path / "go").write_text("")
    done = finish(holding)
    assert (done.code, "the lease of `scoring` is lost: it was broken" in done.err) == (10, True)
    assert run(tmp_path, "compute", "list").json == []
