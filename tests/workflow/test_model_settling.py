"""An operation that somebody else has begun is waited for, not longer than one is willing to."""

from __future__ import annotations

from pathlib import Path

import pytest

import mlctl
from mlctl.kinds.address import Address
from mlctl.service_errors import TIMED_OUT, Permanent
from mlctl.workflow.model import wait_until_settled
from tests.builders.shell import cluster, edit

CPU = Address("compute", "cpu")


def test_what_is_in_motion_is_waited_for_and_named(tmp_path: Path) -> None:
    file, notes = cluster(tmp_path / "cpu.yml"), list[str]()
    with mlctl.open_workspace() as workspace:
        mlctl.apply(mlctl.plan(file, workspace), workspace)
        live = workspace.read([CPU])
        assert not wait_until_settled(workspace, live, timeout=60, note=notes.append)
        workspace.delete(CPU)
        edit(file, "max_instances: 2", "max_instances: 3")
        going = workspace.read([CPU])
        assert wait_until_settled(workspace, going, timeout=3600, note=notes.append)
        assert workspace.read([CPU]) == {}
    assert notes == ["compute/cpu is deleting: waiting for it to end..."]


def test_who_waits_too_long_is_told_for_what(tmp_path: Path) -> None:
    with mlctl.open_workspace() as workspace:
        planned = mlctl.plan(cluster(tmp_path / "cpu.yml"), workspace)
        mlctl.apply(planned, workspace)
        workspace.delete(CPU)
        with pytest.raises(Permanent, match="compute/cpu is still deleting after 0 s") as error:
            wait_until_settled(workspace, workspace.read([CPU]), timeout=0, note=lambda _: None)
    assert error.value.code == TIMED_OUT
