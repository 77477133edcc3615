"""The pipelines of samples/ci: valid by the schemas of both systems, and their steps work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.builders import shell, workflow
from tests.builders.paths import LOW_PRIORITY, ROOT

ACTION = ROOT / "action.yml"
CI = ROOT / "samples" / "ci"
# What the steps call besides mlctl and the shell: said, not done.
STUBS = ("pip",)
VARIABLES = {"MLCTL_BACKEND": "local"}


def load(name: str) -> Any:
    return yaml.safe_load((CI / name).read_text(encoding="utf-8"))


def vendored(name: str) -> Any:
    """A published schema, as check-jsonschema ships it."""
    package = pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    folder = Path(package.__file__).parent / "builtin_schemas" / "vendor"
    return json.loads((folder / name).read_text(encoding="utf-8"))


def scripts(name: str) -> list[str]:
    """The shell steps of a pipeline, in their order."""
    return list(_scripts(load(name)))


def _scripts(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        inner = part.get("inputs", {})
        for text in (part.get("run"), part.get("script"), inner.get("inlineScript")):
            if isinstance(text, str):
                yield text
        for value in part.values():
            yield from _scripts(value)
    elif isinstance(part, list):
        for value in part:
            yield from _scripts(value)


def play(steps: list[str], folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Run steps one after the other, as the agents do, on the local backend."""
    shutil.copytree(LOW_PRIORITY, folder / "infra")
    programs = folder / "bin"
    programs.mkdir()
    for name in STUBS:
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
    shell.program(programs)
    for file in programs.iterdir():
        file.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    variables = shell.environment(folder, INFRA="infra", **VARIABLES) | {"PATH": path}
    return [
        subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        for step in steps
    ]


def test_the_workflow_is_valid_for_github() -> None:
    workflow = load("github-actions.yml")
    assert list(Draft7Validator(vendored("github-workflows.json")).iter_errors(workflow)) == []


def test_the_action_is_valid_for_github() -> None:
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    assert list(Draft7Validator(vendored("github-actions.json")).iter_errors(action)) == []


@pytest.mark.parametrize("name", ["azure-pipelines.yml", "azure-pipelines-template.yml"])
def test_the_pipeline_and_its_template_are_valid_for_azure(name: str) -> None:
    assert list(Draft7Validator(vendored("azure-pipelines.json")).iter_errors(load(name))) == []


@pytest.mark.parametrize(
    "file", [ACTION, CI / "github-actions.yml", CI / "README.md"], ids=lambda file: file.name
)
def test_every_action_is_pinned_by_the_hash_of_a_commit(file: Path) -> None:
    used = re.findall(r"uses: (\S+)", file.read_text(encoding="utf-8"))
    assert used
    assert [action for action in used if not re.search(r"@[0-9a-f]{40}$", action)] == []


@pytest.mark.parametrize(
    ("version", "installed"),
    [
        (
            "",
            [
                "pip -m pip install --quiet --require-hashes --requirement /src/constraints.txt",
                "pip -m pip install --quiet --no-deps --no-build-isolation /src",
            ],
        ),
        ("0.1.0", ["pip -m pip install --quiet mlctl-azure[azure]==0.1.0"]),
    ],
)
def test_the_action_installs_itself_by_hashes_or_the_version_that_is_asked_for(
    tmp_path: Path, version: str, installed: list[str]
) -> None:
    steps = yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]
    (install,) = (step["run"] for step in steps if step.get("name") == "Install")
    path = os.pathsep.join([str(workflow.programs(tmp_path)), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", install],
        env={"PATH": path, "VERSION": version, "SOURCE": "/src"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.splitlines() == installed


def test_no_checkout_leaves_its_token_behind() -> None:
    jobs = load("github-actions.yml")["jobs"].values()
    steps = [step for job in jobs for step in job["steps"] if "checkout@" in step.get("uses", "")]
    assert [step["with"]["persist-credentials"] for step in steps] == [False] * 3


def test_the_pipeline_is_valid_for_gitlab() -> None:
    schema = vendored("gitlab-ci.json")
    assert list(Draft7Validator(schema).iter_errors(load("gitlab-ci.yml"))) == []


@pytest.mark.slow
def test_a_plan_is_refused_where_the_workspace_has_moved(tmp_path: Path) -> None:
    steps = [
        "mlctl plan infra --out plan.json",
        "mlctl compute create -n low-pri-cluster -t amlcompute",
        "mlctl apply plan.json",
    ]
    assert [one.returncode for one in play(steps, tmp_path)] == [0, 0, 4]


def test_shellcheck_finds_nothing_in_the_steps() -> None:
    program = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip("shellcheck is not installed")
    steps = [
        *scripts("azure-pipelines-template.yml"),
        *_scripts(yaml.safe_load(ACTION.read_text(encoding="utf-8"))),
    ]
    for step in steps:
        done = subprocess.run([program, "-s", "bash", "-"], input=step, text=True, check=False)
        assert done.returncode == 0, step


def test_no_value_of_a_pull_request_becomes_part_of_a_script() -> None:
    azure = scripts("azure-pipelines-template.yml")
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    steps = [*azure, *scripts("github-actions.yml"), *_scripts(action)]
    assert [step for step in steps if re.search(r"\$\{\{", step)] == []


@pytest.mark.slow
def test_the_hook_of_pre_commit_checks_a_folder(tmp_path: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {hook["language"] for hook in hooks} == {"python"}
    (hook,) = (one for one in hooks if one["id"] == "mlctl-validate")
    bad = "echo 'name: x' > infra/bad.yml; echo 'tire: low' >> infra/low-pri-cluster.yml"
    line = " ".join([hook["entry"], *hook["args"]])
    assert [one.returncode for one in play([line, bad, line], tmp_path)] == [0, 0, 1]
