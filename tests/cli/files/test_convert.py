"""`mlctl convert`: what it writes, where, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run

POOL = """\
$schema: https://mlctl.dev/schemas/batchPool.schema.json
name: scoring-pool
vm_count: 2
swagger_url: https://host/services/census/swagger.json
"""
CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: cpu-cluster
type: amlcompute
size: Standard_D4s_v3
max_instances: 2
"""


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    file = tmp_path / "batch-pool.yml"
    file.write_text(POOL, encoding="utf-8")
    return file


def test_a_pool_goes_to_standard_output_as_a_valid_cluster(mlctl: Run, pool: Path) -> None:
    done = mlctl("convert", pool.name)
    assert (done.code, done.err) == (0, "")
    (pool.parent / "cluster.yml").write_text(done.out, encoding="utf-8")
    assert mlctl("validate", "cluster.yml", "--strict").code == 0


def test_a_cluster_that_was_made_can_be_planned(mlctl: Run, pool: Path) -> None:
    assert mlctl("convert", pool.name, "-o", "cluster.yml").code == 0
    assert "Plan: 1 to add" in mlctl("plan", "cluster.yml").out


def test_several_pools_are_several_documents(mlctl: Run, pool: Path) -> None:
    pool.write_text(f"{POOL}---\n{POOL.replace('scoring-pool', 'other-pool')}", encoding="utf-8")
    done = mlctl("convert", pool.name)
    assert [line for line in done.out.splitlines() if line.startswith("name:")] == [
        "name: scoring-pool",
        "name: other-pool",
    ]


def test_a_file_is_written_and_nothing_is_printed(mlctl: Run, pool: Path) -> None:
    done = mlctl("convert", pool.name, "--out", "cluster.yml")
    assert (done.code, done.out) == (0, "")
    assert "cluster.yml: written" in done.err


def test_what_needs_no_successor_is_left_out_with_a_note(mlctl: Run, pool: Path) -> None:
    (pool.parent / "cluster.yml").write_text(CLUSTER, encoding="utf-8")
    done = mlctl("convert", ".")
    assert "cluster.yml: skipped, compute/cpu-cluster needs no successor" in done.err
    assert (done.code, done.out.count("type: amlcompute")) == (0, 1)


def test_files_without_a_pool_are_an_error(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cluster.yml").write_text(CLUSTER, encoding="utf-8")
    done = mlctl("convert", "cluster.yml")
    assert (done.code, done.out) == (1, "")
    assert "ERROR: these files have no Batch Pool" in done.err


def test_a_broken_pool_is_underlined_and_nothing_is_written(mlctl: Run, pool: Path) -> None:
    pool.write_text(POOL.replace("vm_count: 2", "vm_cout: 2"), encoding="utf-8")
    done = mlctl("convert", pool.name, "-o", "cluster.yml")
    assert (done.code, "did you mean `vm_count`?" in done.err) == (1, True)
    assert not (pool.parent / "cluster.yml").exists()


def test_a_size_that_has_retired_is_refused(mlctl: Run, pool: Path) -> None:
    done = mlctl("convert", pool.name, "--size", "Standard_NC6", "-o", "cluster.yml")
    assert (done.code, "error[MLC304]" in done.err) == (1, True)
    assert not (pool.parent / "cluster.yml").exists()


def test_a_file_that_cannot_be_written_is_an_error(mlctl: Run, pool: Path) -> None:
    done = mlctl("convert", pool.name, "-o", "nowhere/cluster.yml")
    assert (done.code, "ERROR: cannot write nowhere/cluster.yml" in done.err) == (1, True)


def test_json_of_3000_levels_is_too_deep(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text('{"a":' * 3000 + "1" + "}" * 3000)
    for verb in ("convert", "validate", "plan"):
        done = mlctl(verb, "deep.json")
        assert (done.code, "more than 100 levels deep" in done.out + done.err) == (1, True)
