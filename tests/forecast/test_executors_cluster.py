"""Histories by the workers of a Dask cluster: two of this machine, each a process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from socket import socket

import pytest

from mlctl.forecast import executors
from mlctl.forecast.executors import WorkersError, cluster
from tests.builders.paths import ROOT, SAMPLES

pytest.importorskip("distributed", reason="the extra `distributed` is not installed")

# Dask leaves threads behind, which other tests had better not meet.
CLUSTER = """
from distributed import LocalCluster
if __name__ == "__main__":
    told = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(host="127.0.0.1", silence_logs=50, **told) as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""
COMMANDS = """
import io, json, sys
from contextlib import redirect_stdout
from mlctl.cli.run import run
def told(*words):
    with redirect_stdout(io.StringIO()) as out:
        code = run(words)
    return code, out.getvalue()
found = []
for words in json.loads(sys.argv[2]):
    alone = told(*words)
    found.append([*alone, told(*words, "--scheduler", sys.argv[1]) == alone])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "start.py").write_text(CLUSTER)
    process = subprocess.Popen(
        [sys.executable, "start.py"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "HOME": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.communicate("\n", timeout=60)


def test_a_cluster_makes_the_same_bytes_of_every_forecast(scheduler: str, tmp_path: Path) -> None:
    batch = str(SAMPLES / "low-priority-batch")
    work = ("--files", "60", "--seconds-per-file", "60", "--runs", "60")
    steps = ("--steps", "50", "--seconds-per-step", "60", "--checkpoint-every", "5")
    jobs = ("--jobs-per-day", "40", "--seconds-per-job", "900", "--jobs", "20", "--runs", "4")
    job = str(SAMPLES / "training" / "spot-job.yml")
    pool = str(SAMPLES / "batch-pool" / "scoring-pool.yml")
    commands = [
        ("simulate", batch, *work, "--sensitivity", "-o", "json"),
        ("simulate", "training", job, *steps, "--runs", "20", "-o", "json"),
        ("simulate", "pool", pool, *jobs, "-o", "json"),
        ("advise", batch, *work, "--vary", "max_instances=1..4", "-o", "json"),
    ]
    script = tmp_path / "commands.py"
    script.write_text(COMMANDS)
    done = subprocess.run(
        [sys.executable, script, scheduler, json.dumps(commands)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    for words, (code, out, same) in zip(commands, json.loads(done.stdout), strict=True):
        assert (code, same) == (0, True), words
        json.loads(out)
    assert "distributed" not in done.stderr  # what Dask logs, and tracebacks of it


def test_a_scheduler_that_is_none_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_PATIENCE_S", 0.2)
    with socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        there = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        assert refused(there) == f"no Dask scheduler answers at {there}"
    assert refused(there) == f"no Dask scheduler answers at {there}"
    assert refused("nowhere").startswith(
        "`nowhere` is not the address of a scheduler: missing port"
    )
    assert "unknown address scheme 'carrier'" in refused("carrier://pigeon:1")


def refused(address: str) -> str:
    with pytest.raises(WorkersError) as caught, cluster(address):
        pass
    return str(caught.value)
