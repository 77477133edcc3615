"""`mlctl doctor`, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlctl.cli.shell.exits import Exit
from tests.builders.shell import Run, cluster

NOBODY = ("MLCTL_SUBSCRIPTION", "AZURE_SUBSCRIPTION_ID", "AZURE_DEFAULTS_SUBSCRIPTION")


def test_the_local_workspace_is_in_order(mlctl: Run) -> None:
    found = mlctl("doctor")
    assert found.code == Exit.OK
    assert found.out.endswith("\nEverything is in order.\n")


def test_what_is_found_is_data_too(mlctl: Run) -> None:
    found = json.loads(mlctl("doctor", "-o", "json").out)
    assert found["healthy"] is True
    assert [one["name"] for one in found["checks"]] == [
        *("mlctl", "facts", "scope", "backend", "locks")
    ]


def test_a_lock_is_told_with_what_to_do(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    mlctl("apply", "cpu.yml", "--yes")
    mlctl("local", "lock")
    found = mlctl("doctor")
    assert found.code == Exit.OK
    assert "(CanNotDelete) on /subscriptions/" in found.out
    assert "mlctl local lock --remove" in found.out


def test_a_state_that_cannot_be_used_is_told(mlctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCTL_LOCAL_DB", "/dev/null/none.db")
    found = mlctl("doctor")
    assert found.code == Exit.ERROR
    assert "✗ backend" in found.out


def test_a_scope_that_is_missing_is_told_with_all_ways_to_say_it(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    for name in NOBODY:
        monkeypatch.delenv(name, raising=False)
    found = mlctl("doctor", "--backend", "azure")
    assert found.code == Exit.ERROR
    assert "$AZURE_SUBSCRIPTION_ID" in found.out


def test_a_backend_that_nobody_knows_is_told(mlctl: Run) -> None:
    scope = ("--subscription", "s", "-g", "g", "-w", "w")
    found = mlctl("doctor", "--backend", "aws", *scope)
    assert found.code == Exit.ERROR
    assert "there is no backend `aws`; there are local, azure" in found.out


def test_the_local_backend_has_nothing_to_report(mlctl: Run, tmp_path: Path) -> None:
    found = mlctl("doctor", "--report", "report.json")
    assert found.code == Exit.OK
    assert "- report       the local backend has no service" in found.out
    assert not (tmp_path / "report.json").exists()
