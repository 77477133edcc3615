"""Every command has two examples, and each of them works as it stands in help."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mlctl.cli.parser.help import Example, all_examples, examples
from mlctl.cli.run import run
from mlctl.kinds import KINDS
from tests.builders import shell
from tests.builders.commands import command_tree
from tests.builders.paths import SAMPLES
from tests.builders.shell import Run

ROOT = command_tree()
COMMANDS = [node.path for node in ROOT.commands()]
STAGE = (
    "mlctl apply samples/low-priority-batch --yes",
    "mlctl compute create -n spot -t amlcompute --tier low_priority --min-instances 1",
    "mlctl local advance 10m",
    "mlctl model create -n old --path azureml://datastores/x/paths/old",
    "mlctl environment create -n base -i ubuntu:22.04",
    "mlctl environment archive -n base",
    "mlctl batch-pool create -f samples/batch-pool/scoring-pool.yml",
    "mlctl batch-deployment create -f samples/low-priority-batch/deployment.yml -n old-one",
    "mlctl apply samples/online-blue-green --yes",
    "mlctl online-deployment create -f samples/online-blue-green/green.yml -n old-one",
    "mlctl batch-endpoint invoke -n heart-classifier-batch --input azureml://datastores/d/paths/new"
    " --files 4 --job-name nightly",
    "mlctl apply samples/training/cluster.yml --yes",
    "mlctl job create -f samples/training/job.yml -n train --steps 20",
)
FOREVER = ("emulator", "studio")  # they run until they are stopped
ONLINE = ("catalog", "refresh")  # asks Azure
# Many histories, or processes of their own.
SLOW = {"simulate", "advise", "rehearse", "finish", "mcp", "job verify"}
EXAMPLES = [
    pytest.param(
        example,
        id=f"{' '.join(path)}-{number}",
        marks=[pytest.mark.slow] if {path[0], " ".join(path)} & SLOW else [],
    )
    for path in COMMANDS
    if path[0] not in FOREVER and path != ONLINE
    for number, example in enumerate(examples(path))
]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with samples/, and a workspace that the examples speak of."""
    folder = tmp_path_factory.mktemp("staged")
    shutil.copytree(SAMPLES, folder / "samples")
    with pytest.MonkeyPatch.context() as patch:
        mlctl = _inside(folder, patch)
        samples = [kind for kind in KINDS.values() if kind.az.sample[0]]
        staged = [f"mlctl {kind.name} create -f {kind.az.sample[0]}" for kind in samples]
        for line in (*STAGE, *staged):
            assert mlctl(*shlex.split(line)[1:]) == 0, line
    (folder / "metrics.json").write_text(json.dumps([*_metrics()]))
    return folder


def _metrics() -> Iterator[dict[str, Any]]:
    """What `mlctl compute metrics` says of ten minutes of a node that nobody takes."""
    for name, value in (("Preempted Nodes", 0), ("Total Nodes", 1)):
        values = dict.fromkeys(("average", "minimum", "maximum", "total"), value)
        starts = [f"2026-06-18T08:{minute:02}:00+00:00" for minute in range(10)]
        yield {"metric": name, "data": [{"time_stamp": start, **values} for start in starts]}


def _inside(folder: Path, patch: pytest.MonkeyPatch) -> Callable[..., int]:
    patch.setenv("HOME", str(folder))
    patch.chdir(folder)
    return lambda *words: run([*words, "--only-show-errors"])


def test_every_command_has_two_examples() -> None:
    assert [path for path in COMMANDS if len(examples(path)) != 2] == []


def test_every_example_is_of_a_command_that_there_is() -> None:
    verbs = {f"{{kind}} {path[1]}" for path in COMMANDS if path[0] in KINDS and path[1:]}
    assert set(all_examples()) <= {" ".join(path) for path in COMMANDS} | verbs


def test_every_example_uses_its_command() -> None:
    strange = [
        (path, one.command)
        for path in COMMANDS
        for one in examples(path)
        if f"mlctl {' '.join(path)}" not in one.command
    ]
    assert strange == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_does_what_it_says(
    example: Example,
    staged: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "here"
    shutil.copytree(staged, folder, ignore=_samples_not_in(example.command))
    code, said = played(example.command, folder, monkeypatch, capsys)
    assert code == 0, said


def _samples_not_in(line: str) -> Callable[[str, list[str]], set[str]]:
    """What is not copied for a line: to copy the samples that it does not name takes long."""
    named = set(re.findall(r"samples(?:/([\w-]+))?", line))

    def ignored(folder: str, names: list[str]) -> set[str]:
        return {*names} - named if Path(folder).name == "samples" and "" not in named else set()

    return ignored


def played(
    line: str, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Run a line: in this process where it is commands of mlctl, by a shell where it is more."""
    commands = [shlex.split(command) for command in line.split(" && ")]
    if all(words[0] == "mlctl" for words in commands) and not set(line) & set("|>$\n"):
        mlctl: Run = shell.inside(folder, patch, capsys)
        for words in commands:
            done = mlctl(*words[1:])
            if done.code:
                break
        return done.code, done.err
    program = shell.program(folder / "bin")
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        cwd=folder,
        env=shell.environment(folder) | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return ended.returncode, ended.stderr
