"""`mlctl lock`, and the lease of apply, destroy and import on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.lease import Lease
from tests.builders.leased import CI, LOCAL
from tests.builders.shell import Run, cluster

STATE = Path(".mlctl", "local.db")
BREAK = ("lock", "break", "--project", "scoring")


@pytest.fixture
def project(mlctl: Run, tmp_path: Path) -> Path:
    """A project with a cluster that is there, and is to have more nodes."""
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    assert mlctl("apply", cluster(tmp_path / "cpu.yml"), "--yes").code == 0
    return cluster(tmp_path / "cpu.yml", most=5)


def held(project: str = "scoring", ago: float = 0.0) -> Lease:
    """Let a pipeline hold the lease since some seconds ago."""
    backend = LocalBackend(STATE, LOCAL)
    lease = backend.leases.acquire(project, CI)
    with backend.handle.store.write() as db:
        db.execute("UPDATE leases SET since = since - ?", (ago,))
    backend.close()
    return lease


def test_an_apply_gives_its_lease_back(mlctl: Run, project: Path) -> None:
    assert mlctl("apply", project, "--yes").code == 0
    shown = mlctl("lock", "show")
    assert (shown.code, shown.out) == (0, "")
    assert "No lease is held" in shown.err
    assert mlctl("lock", "show", "-o", "json").json == []


def test_a_program_is_told_who_holds_the_lease(mlctl: Run, project: Path) -> None:
    held()
    done = mlctl("apply", project, "--yes", "-o", "json")
    version, told = done.lines
    assert (done.code, version["type"], told["diagnostic"]["code"]) == (10, "version", "LeaseHeld")
    assert "held by runner@agent, process 7" in told["diagnostic"]["detail"]


@pytest.mark.parametrize("verb", ["apply", "destroy"])
def test_while_another_applies_nothing_begins_and_it_is_said_who(
    mlctl: Run, project: Path, verb: str
) -> None:
    held()
    done = mlctl(verb, project, "--yes")
    assert done.code == 10
    assert "ERROR: another apply of `scoring` to this workspace is running" in done.err
    assert "held by runner@agent, process 7, since 20" in done.err
    assert "mlctl apply plan.json" in done.err
    assert "its run: https://ci.example/runs/9" in done.err
    assert "expires at 20" in done.err
    for advice in ("--lock-timeout", "mlctl lock show", "mlctl lock break"):
        assert advice in done.err
    assert mlctl("compute", "show", "-n", "cpu").json["max_instances"] == 2


def test_import_takes_it_too(mlctl: Run, tmp_path: Path) -> None:
    file = cluster(tmp_path / "cpu.yml")
    assert mlctl("apply", file, "--yes").code == 0
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    held()
    assert mlctl("import", file, "--yes").code == 10
    assert mlctl("import", file, "--yes", "--no-lock").code == 0


def test_a_saved_plan_takes_it_too(mlctl: Run, project: Path) -> None:
    assert mlctl("plan", project, "--out", "plan.json").code == 0
    lease = held()
    assert mlctl("apply", "plan.json").code == 10
    backend = LocalBackend(STATE, LOCAL)
    backend.leases.release(lease)
    backend.close()
    assert mlctl("apply", "plan.json").code == 0


def test_plans_take_none_and_wait_for_none(mlctl: Run, project: Path) -> None:
    held()
    assert mlctl("plan", project).code == 0
    assert mlctl("drift", project).code == 0


def test_an_apply_with_nothing_to_do_needs_none(mlctl: Run, project: Path) -> None:
    assert mlctl("apply", project, "--yes").code == 0
    held()
    assert mlctl("apply", project, "--yes").code == 0


def test_without_a_lease_nobody_is_asked(mlctl: Run, project: Path) -> None:
    held()
    assert mlctl("apply", project, "--yes", "--no-lock").code == 0


def test_without_a_project_there_is_none(mlctl: Run, project: Path, tmp_path: Path) -> None:
    held()
    (tmp_path / "mlctl.yml").unlink()
    done = mlctl("apply", project, "--yes", "--lock-timeout", "10m")
    assert (done.code, "there is no lease to wait for" in done.err) == (0, True)


def test_another_project_has_another(mlctl: Run, project: Path) -> None:
    held("training")
    assert mlctl("apply", project, "--yes").code == 0


def test_it_waits_no_longer_than_it_is_told(mlctl: Run, project: Path) -> None:
    held()
    done = mlctl("apply", project, "--yes", "--lock-timeout", "0.01s")
    assert done.code == 10
    assert "Waiting up to 0.01s for the lease of `scoring`:\n  held by runner@agent" in done.err


def test_a_time_to_wait_is_a_duration(mlctl: Run, project: Path) -> None:
    done = mlctl("apply", project, "--yes", "--lock-timeout", "soon")
    assert (done.code, "`soon` is not a duration" in done.err) == (1, True)


def test_every_lease_of_the_workspace_is_listed(mlctl: Run, project: Path) -> None:
    held()
    held("training")
    first, second = mlctl("lock", "show", "-o", "json").json
    assert (first["project"], second["project"]) == ("scoring", "training")
    assert first["holder"] == CI.as_data()
    assert first["token"] == 2
    assert first["since"] < first["ends"]
    table = mlctl("lock", "show").out
    assert "runner@agent" in table
    assert "mlctl apply plan.json" in table


def test_a_broken_one_is_free(mlctl: Run, project: Path) -> None:
    held()
    done = mlctl("lock", "break", "--yes")
    assert done.code == 0
    assert "held by runner@agent" in done.err
    assert "The lease of `scoring` is broken" in done.err
    assert mlctl("apply", project, "--yes").code == 0


def test_nobody_breaks_one_by_accident(mlctl: Run, project: Path) -> None:
    held()
    assert mlctl(*BREAK).code == 1
    assert mlctl(*BREAK, typed="n\n").code == 1
    assert len(mlctl("lock", "show", "-o", "json").json) == 1
    assert mlctl(*BREAK, typed="y\n").code == 0
    assert mlctl("lock", "show", "-o", "json").json == []


def test_one_that_is_young_is_left_alone(mlctl: Run, project: Path) -> None:
    held(ago=1800)
    young = mlctl(*BREAK, "--yes", "--older-than", "1h")
    assert (young.code, "Not broken" in young.err) == (0, True)
    assert mlctl(*BREAK, "--yes", "--older-than", "10m").code == 0
    assert mlctl("lock", "show", "-o", "json").json == []


def test_where_nobody_holds_it_there_is_nothing_to_break(mlctl: Run, project: Path) -> None:
    done = mlctl(*BREAK, "--yes")
    assert (done.code, "Nothing to break" in done.err) == (0, True)


def test_what_to_break_must_be_said_somewhere(mlctl: Run) -> None:
    done = mlctl("lock", "break")
    assert (done.code, "--project" in done.err) == (1, True)
