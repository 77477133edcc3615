"""`mlctl finish -f`: a training job from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.shell import Run

JOB = """type: command
code: src
command: python train.py --resume ${{inputs.kept}} --out ${{outputs.kept}}
environment:
  image: mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04:latest
compute: azureml:spare-nodes
inputs:
  kept:
    type: uri_folder
    path: ./empty
outputs:
  kept:
    type: uri_folder
    mode: rw_mount
"""
CLUSTER = """name: spare-nodes
type: amlcompute
size: Standard_D4s_v3
tier: low_priority
max_instances: 2
"""
WORK = ("--steps", "1000", "--seconds-per-step", "10", "--checkpoint-every", "50")
LINE = ("finish", "-f", "job.yml", "--checkpoint", "kept", "--name", "night")


@pytest.fixture
def staged(mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A cluster, a job, and an outage after half an hour."""
    monkeypatch.chdir(tmp_path)
    for folder, name in (("src", "train.py"), ("empty", "README")):
        Path(folder).mkdir()
        Path(folder, name).write_text("pass\n")
    Path("cluster.yml").write_text(CLUSTER)
    Path("job.yml").write_text(JOB)
    assert mlctl("apply", "cluster.yml", "--yes").code == 0
    nodes = {"metadata": {"gap_seconds": 300}, "data": [2] * 6 + [0] * 12 + [2] * 200}
    Path("trace.json").write_text(json.dumps(nodes))
    assert mlctl("local", "preemption", "set", "--trace", "trace.json").code == 0
    return mlctl


def test_a_training_job_meets_its_deadline_from_its_checkpoint(staged: Run) -> None:
    limits = ("--deadline", "4h", "--max-cost", "3", "--policy", "uniform-progress")
    done = staged(*LINE, *WORK, *limits, "--yes", "--notify", "cat > told.json")
    assert done.code == 0, done.err
    assert "1000 steps, with checkpoints in `kept`, on spare-nodes" in done.out
    assert "night-2: from step 150 of night on dedicated nodes" in done.err
    assert done.out.splitlines()[-1].startswith("night: done; 1000 of 1000 steps, ")
    told = json.loads(Path("told.json").read_text())
    assert told["outcome"] == "done"
    assert [run["tier"] for run in told["runs"]][:2] == ["low_priority", "dedicated"]
    listed = staged("compute", "list", "-o", "json").json
    assert [cluster["name"] for cluster in listed] == ["spare-nodes"]
    shown = staged("finish", "show", "night").out
    assert "night: from the beginning, low priority, canceled" in shown
    assert "dedicated" in staged("finish", "show", "night", "-o", "html").out
    log = staged("finish", "log", "night").out
    assert "its checkpoint has 150 steps" in log
    assert staged("finish", "list").out.startswith("night: done")


def test_it_asks_before_it_registers_or_submits_anything(staged: Run) -> None:
    assert staged(*LINE, *WORK).code == 8
    assert not staged("job", "list", "-o", "json").json
    assert not staged("environment", "list", "-o", "json").json


def test_what_cannot_be_resumed_is_refused_with_its_place(staged: Run) -> None:
    for old, new, words in (
        ("outputs:\n  kept:", "outputs:\n  model:", "has no output `kept` for its checkpoints"),
        ("rw_mount", "upload", "job.yml:14:11: `kept` is uploaded only when a run ends"),
        ("    mode: rw_mount", "    path: azureml://datastores/d/paths/p", "remove its path"),
        ("inputs:\n  kept:", "inputs:\n  seed:", "job.yml:8:3: the job has no input `kept`"),
        ("spare-nodes", "other", "neither in the files nor in the workspace"),
    ):
        assert old in JOB
        Path("job.yml").write_text(
            JOB.replace(old, new)
            .replace("{{inputs.kept", "{{inputs.seed" if "seed" in new else "{{inputs.kept")
            .replace("{{outputs.kept", "{{outputs.model" if "model" in new else "{{outputs.kept")
        )
        done = staged(*LINE, *WORK, "--yes")
        assert done.code == 1
        assert words in done.err, done.err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("-n", "e", "--checkpoint", "kept"), "--checkpoint OUTPUT needs a command job"),
        ((), "name a job: -n ENDPOINT, files that declare one, or -f FILE"),
        (("-n", "e", "-f", "job.yml"), "name a job: -n ENDPOINT"),
        (("-f", "job.yml", "--checkpoint", "kept"), "give --steps N"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    staged: Run, line: tuple[str, ...], words: str
) -> None:
    done = staged("finish", *line, "--yes")
    assert done.code == 1
    assert words in done.err


def test_a_serverless_job_changes_its_tier_without_a_twin(staged: Run) -> None:
    text = JOB.replace("compute: azureml:spare-nodes", "queue_settings:\n  job_tier: Spot")
    Path("job.yml").write_text(text)
    done = staged(*LINE, *WORK, "--deadline", "4h", "--policy", "uniform-progress", "--yes")
    assert done.code == 0, done.err
    assert "on nodes of its own" in done.out
    tiers = [
        staged("job", "show", "-n", run["name"], "-o", "json").json["queue_settings"]["job_tier"]
        for run in staged("finish", "show", "night", "-o", "json").json["runs"]
    ]
    assert tiers[0] == "spot"
    assert "standard" in tiers
