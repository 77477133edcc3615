"""`mlctl advise`, from the shell: what it recommends, by which margin, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.shell import Run, edit

WORK = ("--files", "2000", "--seconds-per-file", "8")


def advised(mlctl: Run, sample: Path, *flags: str) -> Any:
    done = mlctl("advise", sample, *WORK, *flags, "-o", "json")
    assert done.code == 0, done.err
    return done.json


def storm(rate: float) -> str:
    """Weather whose every shock takes all nodes."""
    Path("storm.json").write_text(json.dumps({"shocks": {"per_hour": rate, "fraction": 1}}))
    return "storm.json"


def test_ranked_is_what_a_job_costs_that_gets_done(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=1,8", "--weather", storm(1.0), "--runs", "300")
    data = advised(mlctl, sample, *flags)
    best = data["rows"][data["recommended"]]
    assert best["settings"] == {"max_instances": 8, "instance_count": 8}
    one = next(row for row in data["rows"] if row["nodes"] == 2)  # as the files are
    assert one["cost"]["value"] < best["cost"]["value"]  # a run costs less that ends early
    assert one["until_done"]["cost"]["value"] > best["until_done"]["cost"]["value"]
    assert data["margin"]["now"]["low"] > 0


def test_a_calm_cloud_makes_no_difference_worth_telling(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "policy=resubmit,fallback:2", "--weather", "calm", "--runs", "100")
    told = mlctl("advise", sample, *WORK, *flags).out
    assert "Keep the files as they are" in told


def test_a_deadline_rules_out_what_is_late(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=1,2,4,8", "--weather", "calm", "--deadline", "45m")
    data = advised(mlctl, sample, *flags, "--runs", "50")
    kept = {row["nodes"]: row["keeps"] for row in data["rows"]}
    assert not kept[2]
    assert data["rows"][data["recommended"]]["keeps"]


def test_what_nobody_can_keep_is_said(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=1,2", "--weather", "calm", "--budget", "0.0001")
    told = mlctl("advise", sample, *WORK, *flags, "--runs", "20").out
    assert "No configuration keeps what was asked for" in told


def test_a_timeout_grows_with_the_mini_batches(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "mini_batch_size=100", "--weather", "calm", "--runs", "20")
    rows = advised(mlctl, sample, *flags)["rows"]
    changed = next((row for row in rows if row["mini_batch_size"] == 100), None)
    assert changed is None or changed["settings"]["timeout"] == 1600


def test_a_patch_keeps_comments_and_layout(mlctl: Run, sample: Path) -> None:
    file = edit(sample / "low-pri-cluster.yml", "max_instances: 2", "max_instances:   2 # small")
    edit(sample / "deployment.yml", "  mini_batch_size: 2\n", "")
    before = file.read_text()
    flags = ("--vary", "max_instances=8", "--vary", "mini_batch_size=20", "--weather", storm(1.0))
    done = mlctl("advise", sample, *WORK, *flags, "--runs", "50", "--patch")
    assert done.code == 0, done.err
    assert file.read_text() == before.replace("  2 # small", "  8 # small")
    deployment = (sample / "deployment.yml").read_text()
    assert "settings:\n  mini_batch_size: 20\n  max_concurrency_per_instance: 2\n" in deployment
    assert mlctl("validate", sample).code == 0


def test_one_seed_is_one_advice(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=2,4", "--runs", "100")
    assert advised(mlctl, sample, *flags) == advised(mlctl, sample, *flags, "--workers", "2")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--vary", "size=1"), "`size` is none of max_instances"),
        (("--vary", "max_instances=0..4"), "write max_instances=1..32"),
        (("--vary", "max_instances=many"), "write max_instances=1..32"),
        (("--vary", "tier=free"), "a tier is one of"),
        (("--vary", "policy=hope"), "`hope` is no policy"),
    ],
)
def test_what_cannot_vary_is_refused_in_a_sentence(
    mlctl: Run, sample: Path, flags: tuple[str, ...], why: str
) -> None:
    done = mlctl("advise", sample, *WORK, *flags)
    assert done.code == 1
    assert why in done.err
