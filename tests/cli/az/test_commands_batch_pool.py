"""`mlctl batch-pool`, and the limits of its account, as people type them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run

SHOW = ("batch-pool", "show", "-n", "scoring-pool")


@pytest.fixture
def pool(mlctl: Run, tmp_path: Path) -> Run:
    """The shell, in a workspace that has the sample's pool of two VMs."""
    shutil.copytree(SAMPLES / "batch-pool", tmp_path / "sample")
    assert mlctl("apply", "sample", "--yes").code == 0
    return mlctl


def shown(mlctl: Run) -> Any:
    return mlctl(*SHOW).json


def test_the_sample_is_applied_and_then_there_is_nothing_to_do(pool: Run) -> None:
    assert "No changes." in pool("plan", "sample", "--detailed-exitcode").out
    assert shown(pool)["provisioned_vms"] == 2


def test_a_resize_is_in_place_and_says_what_it_changes(pool: Run) -> None:
    before = shown(pool)
    done = pool("batch-pool", "resize", "-n", "scoring-pool", "--vm-count", "0")
    assert (done.code, "vm_count: 2 -> 0" in done.err) == (0, True)
    assert shown(pool) == {**before, "vm_count": 0, "provisioned_vms": 0}


def test_a_resize_of_no_pool_is_not_found(mlctl: Run) -> None:
    assert mlctl("batch-pool", "resize", "-n", "nobody", "--vm-count", "1").code == 3


def test_a_resize_needs_a_number(pool: Run) -> None:
    assert pool("batch-pool", "resize", "-n", "scoring-pool").code == 2
    assert pool("batch-pool", "resize", "-n", "scoring-pool", "--vm-count", "many").code == 2
    assert pool("batch-pool", "resize", "-n", "scoring-pool", "--vm-count", "-1").code in (1, 2)


def test_a_deleted_pool_is_gone(pool: Run) -> None:
    assert pool("batch-pool", "delete", "-n", "scoring-pool", "--yes").code == 0
    assert pool(*SHOW).code == 3


def test_the_limits_of_the_account_are_set_listed_and_kept(pool: Run) -> None:
    pool("local", "quota", "set", "--pools", "1", "--vms-per-pool", "3")
    listed = {one["quota"]: one for one in pool("local", "quota", "list", "-o", "json").json}
    assert listed["batch_pools"] == {"quota": "batch_pools", "used": 1, "limit": 1}
    assert listed["vms_per_pool"]["limit"] == 3
    grown = pool("batch-pool", "resize", "-n", "scoring-pool", "--vm-count", "4")
    assert (grown.code, "error[MLC409]" in grown.err) == (1, True)
    another = ("-f", "sample/scoring-pool.yml", "-n", "another")
    assert "limited to 1 Batch Pools" in pool("batch-pool", "create", *another).err


def test_a_plan_over_the_limit_is_predicted_to_be_rejected(pool: Run) -> None:
    pool("local", "quota", "set", "--vms-per-pool", "1")
    pool("batch-pool", "delete", "-n", "scoring-pool", "--yes")
    assert pool("apply", "sample", "--yes").code == 6
