"""A process that is killed at a write: the next apply ends in the same state."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
from pathlib import Path

import pytest

from mlctl.backends.local.backend import LocalBackend
from tests.builders.killed import run
from tests.builders.workspace import SCOPE, bodies

FILES = {
    "cluster": "type: amlcompute\nname: cpu-cluster\nmax_instances: 2\ntier: dedicated\n",
    "model": "name: heart\npath: azureml://jobs/train/outputs/model/\n",
    "endpoint": "name: heart-batch\ndefaults: {deployment_name: blue}\n",
    "deployment": "name: blue\nendpoint_name: heart-batch\nmodel: azureml:heart@latest\n"
    "compute: azureml:cpu-cluster\n"
    "environment: {image: 'ubuntu:22.04'}\n"
    "code_configuration: {code: ./src, scoring_script: score.py}\n",
}
SCHEMAS = {
    "cluster": "amlCompute",
    "model": "model",
    "endpoint": "batchEndpoint",
    "deployment": "batchDeployment",
}
# What is there before, what is then asked for, and how many writes that takes.
STORIES: dict[str, tuple[dict[str, str] | None, dict[str, str], str, int]] = {
    "from nothing": (None, {}, "apply", 7),
    "a cluster made anew": ({}, {"dedicated": "low_priority"}, "apply", 2),
    "code and a model": ({}, {"score.py": "other.py", "train/": "again/"}, "apply", 5),
    "to nothing": ({}, {}, "destroy", 3),
}


def written(folder: Path, replaced: dict[str, str]) -> Path:
    """The files, with some words replaced."""
    (folder / "src").mkdir(parents=True)
    for script in ("score.py", "other.py"):
        (folder / "src" / script).write_text("def run(batch):\n    return batch\n")
    for name, text in FILES.items():
        for word, other in replaced.items():
            text = text.replace(word, other)  # noqa: PLW2901
        (folder / f"{name}.yml").write_text(
            f"$schema: https://x/{SCHEMAS[name]}.schema.json\n{text}"
        )
    return folder


def state_of(file: Path) -> dict[str, object]:
    backend = LocalBackend(file, SCOPE)
    found: dict[str, object] = dict(bodies(backend))
    backend.close()
    return found


# A process that has imported everything, of which each that is to be killed is a copy.
APART = multiprocessing.get_context("forkserver")
APART.set_forkserver_preload(["tests.builders.killed"])


def killed(file: Path, folder: Path, verb: str, nth: int, when: str) -> int | None:
    """Run apart until the nth write; the exit status."""
    process = APART.Process(target=run, args=(file, folder, verb, nth, when))
    process.start()
    process.join(60)
    return process.exitcode


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES)
def test_killed_at_any_write_the_next_apply_ends_in_the_same_state(
    story: str, tmp_path: Path
) -> None:
    first, then, verb, count = STORIES[story]
    start, wanted = tmp_path / "start.db", tmp_path / "wanted.db"
    if first is not None:
        run(start, written(tmp_path / "first", first), "apply")
        shutil.copy(start, wanted)
    folder = written(tmp_path / "then", then)
    assert len(run(wanted, folder, verb)) == count
    for nth in range(1, count + 1):
        for when in ("before", "after"):
            file = tmp_path / f"{nth}-{when}.db"
            if first is not None:
                shutil.copy(start, file)
            assert killed(file, folder, verb, nth, when) == -signal.SIGKILL
            run(file, folder, verb)
            assert state_of(file) == state_of(wanted), f"killed {when} write {nth}"
            assert run(file, folder, verb) == []
