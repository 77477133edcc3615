"""A command runs in a container of the image of its environment, by the docker that is there."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders.shell import Run
from tests.running.test_executor import of_step, pipeline

# As docker does: a container has the variables that it is given alone, and its own folder.
DOCKER = """\
import json, os, shutil, sys
here = os.path.dirname(__file__)
verb, *words = sys.argv[1:]
with open(here + "/calls", "a") as calls:
    calls.write(json.dumps([verb, *words]) + "\\n")
if verb == "version":
    print("28.0")
    sys.exit(os.path.exists(here + "/stopped") and "error\\nCannot connect to the daemon")
elif verb == "build":
    shutil.copytree(words[-1], here + "/context", dirs_exist_ok=True)
    print("sha256:built")
elif verb == "ps":
    print("c1" if os.path.exists(here + "/left") else "")
elif verb == "rm":
    os.unlink(here + "/left")
elif verb == "run":
    options = dict(zip(words, words[1:]))
    pairs = [(k, v) for k, v in zip(words, words[1:]) if k == "--env"]
    own = dict(v.split("=", 1) if "=" in v else (v, os.environ[v]) for _, v in pairs)
    open(here + "/left", "w")
    os.chdir(options["--workdir"])
    os.execve("/bin/sh", ["sh", *words[-2:]], {"PATH": os.defpath, **own})
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a docker, with what it was asked for."""
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    script = program.with_name("docker.py")
    script.write_text(DOCKER)
    words = shlex.join([sys.executable, str(script)])  # `#!` takes no path with a space
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program.parent


def calls(docker: Path, verb: str) -> list[list[str]]:
    lines = map(json.loads, (docker / "calls").read_text().splitlines())
    return [words for name, *words in lines if name == verb]


def test_a_command_has_its_image_its_files_and_its_variables_alone(
    mlctl: Run, tmp_path: Path, docker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_USER", "secret")
    steps: dict[str, Any] = {
        "write": {
            "command": "echo $OWN ${OF_THE_USER:-none} $AZUREML_RUN_ID > ${{outputs.out}}/a",
            "environment": {"image": "ubuntu:24.04"},
            "environment_variables": {"OWN": "mine"},
            "outputs": {"out": {"type": "uri_folder"}},
        },
        "read": {
            "command": "cat ${{inputs.text}}/a; exit 3",
            "environment": {"image": "ubuntu:24.04"},
            "inputs": {"text": of_step("write")},
        },
    }
    pipeline(tmp_path, steps)
    done = mlctl("job", "run", "pipeline.yml", "--environments", "docker", "--keep", "kept")
    assert (done.code, "it ended with exit code 3" in done.err) == (1, True), done.err
    assert (tmp_path / "kept/read/log.txt").read_text() == "mine none write\n"
    words = calls(docker, "run")[0]
    assert words[-3:-1] == ["ubuntu:24.04", "-c"]
    kept = tmp_path / "kept"
    assert {f"{kept}:{kept}:ro", f"{kept}/write:{kept}/write"} <= set(words)
    assert f"{os.getuid()}:{os.getgid()}" in words
    assert not (docker / "left").exists()


def test_what_files_say_of_an_image_is_built(mlctl: Run, tmp_path: Path, docker: Path) -> None:
    (tmp_path / "conda.yml").write_text("dependencies: [numpy]\n")
    step = {"command": "true", "environment": {"image": "base", "conda_file": "conda.yml"}}
    pipeline(tmp_path, {"one": step})
    done = mlctl("job", "run", "pipeline.yml", "--environments", "docker")
    assert done.code == 0, done.err
    assert (docker / "context/conda.yml").read_text() == "dependencies: [numpy]\n"
    assert (docker / "context/Dockerfile").read_text().startswith("FROM base\n")
    assert "sha256:built" in calls(docker, "run")[0]


def test_an_environment_without_a_file_is_run_by_python(
    mlctl: Run, tmp_path: Path, docker: Path
) -> None:
    pipeline(tmp_path, {"one": {"command": "true"}})
    done = mlctl("job", "run", "pipeline.yml", "--environments", "docker")
    assert (done.code, calls(docker, "run")) == (0, [])
    assert "no file here says the image of `azureml:env@latest`: Python runs it" in done.err


@pytest.mark.parametrize("is_there", [True, False])
def test_without_docker_the_ways_on_are_said(
    mlctl: Run, tmp_path: Path, docker: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    (docker / "stopped").touch()
    if not is_there:
        monkeypatch.setenv("PATH", str(tmp_path))
    pipeline(tmp_path, {"one": {"command": "true"}})
    done = mlctl("job", "run", "pipeline.yml", "--environments", "docker")
    assert done.code == 1
    assert "--environments venv or --python PROGRAM runs it without" in done.err
    assert ("Cannot connect" if is_there else "there is no `docker` on the path") in done.err


def test_a_docker_that_cannot_be_run_is_a_sentence(
    mlctl: Run, tmp_path: Path, docker: Path
) -> None:
    (docker / "docker").write_text("#!/nowhere/sh\n")
    pipeline(tmp_path, {"one": {"command": "true"}})
    done = mlctl("job", "run", "pipeline.yml", "--environments", "docker")
    assert (done.code, "docker` cannot be run: " in done.err) == (1, True), done.err
