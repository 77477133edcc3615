"""Arguments and files that no command expects: each ends in a sentence, never as a bug."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.shell import cluster, environment

DIGITS = "9" * 5000
LINES = [
    f"compute create -n cluster --type amlcompute --size Standard_DS3_v2 --max-instances {DIGITS}",
    f"compute create -f a.yml --set max_instances={DIGITS}",
    f"compute create -f a.yml --set tags.a={DIGITS}",
    f"local quota set --low-priority-cores {DIGITS}",
    f"local quota set --computes {DIGITS[:30]}",
    f"local quota set --pools {DIGITS[:30]}",
    f"local quota set --family standardDSv2Family={DIGITS[:30]}",
    f"local delays set --allocation {DIGITS}",
    "local advance 1000000000000",
    "batch-endpoint wait -n endpoint --exists --timeout 31536000",
    f"batch-endpoint wait -n endpoint --exists --timeout {DIGITS}",
    f"batch-endpoint wait -n endpoint --exists --interval {DIGITS[:40]}",
    f"local advance {DIGITS}",
    "local preemption set --trace /dev/zero",
    "batch-endpoint invoke -n endpoint --file /dev/zero",
    "compute create -f a.yml --query @/dev/zero",
    "validate /proc/self/mem",
    "plan /dev/zero",
    "apply /proc/self/mem --yes",
    "apply /dev/zero --yes",
    pytest.param(f"validate {'d/' * 3000}a.yml", marks=pytest.mark.slow),
    f"plan a.yml --parallelism {DIGITS}",
    "emulator start --http --token @~nobody-at-all/token",
]
SECONDS, BYTES = 30, 3 << 29


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def run(folder: Path, *arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "mlctl", *arguments],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        preexec_fn=limited,
    )


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60])
def test_what_nobody_would_write_is_refused_in_a_sentence(line: str, tmp_path: Path) -> None:
    cluster(tmp_path / "a.yml")
    done = run(tmp_path, *line.split())
    assert done.returncode in (0, 1, 2, 3)
    assert b"bug in mlctl" not in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", [b"a\xff.yml", b"a\nb.yml", "ü\u202e.yml".encode()])
@pytest.mark.parametrize(
    "line",
    [
        *("validate .", "validate . -o json", "validate . -o sarif", "validate . -o github"),
        *("plan .", "plan . -o json", "plan . -o markdown", "plan . --out saved.plan"),
        "apply . --yes",
    ],
)
def test_a_file_may_have_any_name(tmp_path: Path, name: bytes, line: str) -> None:
    cluster(tmp_path / "cluster.yml")
    os.rename(tmp_path / "cluster.yml", os.path.join(os.fsencode(tmp_path), name))  # noqa: PTH104, PTH118
    done = run(tmp_path, *line.split())
    assert done.returncode == 0, done.stderr


def test_a_job_of_any_name_is_looked_for(tmp_path: Path) -> None:
    done = run(tmp_path, "job", "show", "-n", b"a\xff")
    assert (done.returncode, b"There is no job" in done.stderr) == (3, True)


@pytest.mark.parametrize("line", ["validate .", "plan .", "apply . --yes"])
@pytest.mark.parametrize("kind", ["circle", "name"])
def test_a_folder_that_cannot_be_hashed_is_a_finding(tmp_path: Path, line: str, kind: str) -> None:
    (tmp_path / "code").mkdir()
    if kind == "circle":
        (tmp_path / "conda.txt").symlink_to("conda.txt")
        (tmp_path / "code" / "a").symlink_to("a")
    else:
        os.mkfifo(os.fsencode(tmp_path / "code") + b"/\xff")
    (tmp_path / "a.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/model.schema.json\n"
        "name: m\nversion: 1\npath: code\n"
    )
    (tmp_path / "b.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/environment.schema.json\n"
        "name: e\nversion: 1\nimage: ubuntu\nconda_file: conda.txt\n"
    )
    done = run(tmp_path, *line.split())
    assert done.returncode == (0 if line == "validate ." else 1), done.stderr
    assert b"bug in mlctl" not in done.stderr


def test_a_scoring_script_that_nobody_wrote_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "score.py").write_text("a = [1]\n" * 6_000_000)  # 3 GB once parsed
    (tmp_path / "a.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/batchDeployment.schema.json\n"
        "name: deployment\nendpoint_name: endpoint\ncompute: azureml:cpu\nmodel: azureml:m:1\n"
        "environment: azureml:e:1\n"
        "code_configuration: {code: code, scoring_script: score.py}\n"
    )
    done = run(tmp_path, "validate", "a.yml")
    assert done.returncode == 0, done.stderr
