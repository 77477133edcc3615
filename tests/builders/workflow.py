"""Builders: a small runner of GitHub's workflows and composite actions, on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.builders import ci_api, shell
from tests.builders.paths import ROOT

_ACTION = "mlctl/mlctl@"
_STRINGS_AND_PATHS = r"('[^']*')|([A-Za-z_][\w.-]*)(\()?"


def value(text: str, context: Mapping[str, Any]) -> Any:
    """An expression of GitHub: paths, strings, `== && || !` and functions."""

    def spelt(found: re.Match[str]) -> str:
        if found[1] or found[3]:
            return found[0]
        return repr(at(context, found[2]))

    words = re.sub(_STRINGS_AND_PATHS, spelt, text)
    words = words.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
    functions = {"cancelled": lambda: False, "always": lambda: True}
    return eval(words.replace(" not =", "!=").strip(), functions)  # of this repository's own files


def at(context: Mapping[str, Any], path: str) -> Any:
    """What is at a path; nothing is an empty text, as for GitHub."""
    here: Any = context
    for key in path.split("."):
        here = here.get(key, "") if isinstance(here, dict) else ""
    return here


def filled(text: Any, context: Mapping[str, Any]) -> str:
    """A text with its expressions replaced."""
    return re.sub(
        r"\$\{\{(.*?)\}\}",
        lambda found: str(value(found[1].strip(), context)),
        str(text),
        flags=re.DOTALL,
    )


def programs(folder: Path) -> Path:
    """A folder for `PATH`: this Python, whose pip installs nothing, and mlctl."""
    made = folder / "bin"
    made.mkdir(exist_ok=True)
    pip = 'if [ "$1 $2" = "-m pip" ]; then echo "pip $*"; exit; fi'
    (made / "python3").write_text(f'#!/bin/sh\n{pip}\nexec "{sys.executable}" "$@"\n')
    (made / "pip").write_text('#!/bin/sh\necho pip "$@"\n')
    shell.program(made)
    for file in made.iterdir():
        file.chmod(0o755)
    return made


@dataclass
class Runner:
    """Runs workflows in a folder that is checked out already."""

    folder: Path
    api: ci_api.GitHub
    variables: Mapping[str, str] = field(default_factory=dict)
    runs: int = 0
    log: str = ""
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def go(self, file: Path, event: str, payload: Mapping[str, Any], sha: str) -> dict[str, str]:
        """Run a workflow for an event; what became of each of its jobs."""
        self.runs += 1
        self.log = ""
        workflow = yaml.safe_load(file.read_text())
        (self.folder / "event.json").write_text(json.dumps(payload))
        results: dict[str, Any] = {}
        for name, job in workflow["jobs"].items():
            github = {"event_name": event, "token": self.api.token}
            context = {
                "github": github,
                "needs": results,
                "runner": {"temp": str(self._temp(name))},
            }
            condition = job.get("if", "true").removeprefix("${{").removesuffix("}}")
            if not value(condition.strip(), context):
                results[name] = {"result": "skipped", "outputs": {}}
                continue
            head = payload["pull_request"]["head"]["sha"] if event == "pull_request" else sha
            agent = {"GITHUB_SHA": sha, "head": head, "temp": str(self._temp(name))}
            fine, steps = self.steps(job["steps"], context, agent)
            told = {"steps": steps}
            outputs = {key: filled(one, told) for key, one in job.get("outputs", {}).items()}
            results[name] = {"result": "success" if fine else "failure", "outputs": outputs}
        return {name: one["result"] for name, one in results.items()}

    def steps(
        self, steps: list[dict[str, Any]], context: Mapping[str, Any], agent: Mapping[str, str]
    ) -> tuple[bool, dict[str, Any]]:
        """Run steps one after the other, to the first that fails; their outputs."""
        told: dict[str, Any] = {}
        for step in steps:
            within = {**context, "steps": told}
            condition = step.get("if", "true").removeprefix("${{").removesuffix("}}")
            if condition != "true" and not value(condition.strip(), within):
                continue
            given = {key: filled(one, within) for key, one in step.get("with", {}).items()}
            if "run" in step:
                fine, outputs = self._shell(step, within, agent)
            elif step["uses"].startswith(_ACTION):
                fine, outputs = self.action(given, context, agent)
            else:
                fine, outputs = True, {}
                self.used.append((step["uses"], given))
                if step["uses"].startswith("actions/upload-artifact@"):
                    content = ci_api.packed(Path(given["path"]))
                    self.api.upload(given["name"], content, str(self.runs), agent["head"])
            told[step.get("id", "")] = {"outputs": outputs}
            if not fine:
                return False, told
        return True, told

    def action(
        self, given: Mapping[str, str], context: Mapping[str, Any], agent: Mapping[str, str]
    ) -> tuple[bool, dict[str, str]]:
        """Run the action of this repository."""
        described = yaml.safe_load((ROOT / "action.yml").read_text())
        github = {**context["github"], "action_path": str(ROOT)}
        within = {**context, "github": github}
        unknown = set(given) - set(described["inputs"])
        assert not unknown, unknown
        inputs = {
            key: given.get(key, filled(one.get("default", ""), within))
            for key, one in described["inputs"].items()
        }
        fine, told = self.steps(described["runs"]["steps"], {**within, "inputs": inputs}, agent)
        outputs = described["outputs"].items()
        return fine, {key: filled(one["value"], {"steps": told}) for key, one in outputs}

    def _temp(self, job: str) -> Path:
        made = self.folder / f"temp-{self.runs}-{job}"
        made.mkdir(exist_ok=True)
        return made

    def environment(self, agent: Mapping[str, str]) -> dict[str, str]:
        """The variables of a step."""
        path = os.pathsep.join([str(programs(self.folder)), os.environ["PATH"]])
        github = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "us/ml",
            "GITHUB_API_URL": self.api.url,
            "GITHUB_RUN_ID": str(self.runs),
            "GITHUB_SHA": agent["GITHUB_SHA"],
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_OUTPUT": str(Path(agent["temp"]) / "output"),
        }
        return shell.environment(self.folder, **github, **self.variables) | {"PATH": path}

    def _shell(
        self, step: Mapping[str, Any], context: Mapping[str, Any], agent: Mapping[str, str]
    ) -> tuple[bool, dict[str, str]]:
        output = Path(agent["temp"]) / "output"
        output.write_text("")
        own = {key: filled(one, context) for key, one in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", filled(step["run"], context)],
            cwd=self.folder,
            env=self.environment(agent) | own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        self.log += done.stdout + done.stderr
        lines = (line.partition("=") for line in output.read_text().splitlines())
        return done.returncode == 0, {name: text for name, _, text in lines}
