"""One seed and the same commands are one history, whatever runs at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster, edit

ENDPOINT = ("-n", "heart-classifier-batch")
LOSSES = ("--poisson", "4", "--shock", "2,0.5")
SHOWN = (
    ("local", "status", "-o", "json"),
    ("compute", "list", "-o", "json"),
    ("compute", "list-nodes", "-n", "low-pri-cluster", "-o", "json"),
    ("job", "list", "-o", "json"),
    ("job", "show", "-n", "one", "-o", "json"),
    ("local", "usage", "-o", "json"),
    ("compute", "metrics", "low-pri-cluster", "-o", "json"),
)


def history(mlctl: Run, seed: int) -> list[str]:
    """All that can be seen of a new cloud after an apply of much at once, and two jobs."""
    shutil.rmtree(".mlctl", ignore_errors=True)
    mlctl("local", "reset", "--seed", str(seed), "--yes")
    assert mlctl("apply", ".", "--parallelism", "10", "--yes").code == 0
    mlctl("local", "preemption", "set", *LOSSES)
    mlctl("local", "workload", "set", "--seconds-per-file", "25", "--cv", "0.5")
    mlctl("local", "settings", "set", "cancel_when_preempted=false", "delay_cv=0.3")
    for name in ("one", "two"):
        line = ("batch-endpoint", "invoke", *ENDPOINT, "--files", "150", "--job-name", name)
        assert mlctl(*line).code == 0
    events = [f"{name}.jsonl" for name in ("one", "two")]
    for file in events:
        mlctl("job", "stream", "-n", file.partition(".")[0], "--events", file)
    seen = [mlctl(*line) for line in SHOWN]
    assert all(each.code == 0 for each in seen)
    return [*(each.out for each in seen), *(Path(file).read_text() for file in events)]


@pytest.fixture
def crowd(mlctl: Run, sample: Path, tmp_path: Path) -> Run:
    """The sample, and clusters that keep nodes and lose them too."""
    for number in range(8):
        file = cluster(tmp_path / f"c0{number}.yml", size="STANDARD_DS3_v2", most=2)
        more = "type: amlcompute\ntier: low_priority\nmin_instances: 1"
        edit(file, "type: amlcompute", more if number % 2 else "type: amlcompute")
    return mlctl


@pytest.mark.slow
def test_twenty_parallel_applies_of_one_seed_are_one_history(crowd: Run) -> None:
    first = history(crowd, 7)
    for _ in range(19):
        assert history(crowd, 7) == first


def test_another_seed_is_another_history(crowd: Run) -> None:
    assert history(crowd, 7) != history(crowd, 8)
