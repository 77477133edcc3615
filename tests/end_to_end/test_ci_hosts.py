"""The pipelines for Azure and GitLab: their steps, beside APIs that answer as theirs do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.builders import ci_api, shell
from tests.builders.ci_api_others import AzureDevOps, GitLab
from tests.builders.paths import LOW_PRIORITY, ROOT
from tests.builders.workflow import programs

CI = ROOT / "samples" / "ci"


def repository(folder: Path) -> None:
    """The sample in `infra/`, the scripts in `ci/`."""
    shutil.copytree(LOW_PRIORITY, folder / "infra")
    shutil.copytree(CI / "mlctl_ci", folder / "ci" / "mlctl_ci")


def step(
    folder: Path, script: str, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a step as an agent does."""
    path = os.pathsep.join([str(programs(folder)), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=shell.environment(folder, **variables) | {"PATH": path, "MLCTL_BACKEND": "local"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def scale(folder: Path, most: str) -> None:
    """Somebody changes the cluster by hand."""
    flags = ("-n", "low-pri-cluster", "--max-instances", most)
    assert shell.finish(shell.start(folder, "compute", "update", *flags)).code == 0


def of_azure(stage: str) -> list[tuple[str, dict[str, str]]]:
    """The scripts of a stage of the template with their variables, parameters filled in."""
    template = yaml.safe_load((CI / "azure-pipelines-template.yml").read_text())
    (used,) = yaml.safe_load((CI / "azure-pipelines.yml").read_text())["stages"]
    given = {one["name"]: one.get("default") for one in template["parameters"]} | used["parameters"]
    assert None not in given.values()

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ parameters\.(\w+) \}\}", lambda found: str(given[found[1]]), text)

    (job,) = next(one["jobs"] for one in template["stages"] if one["stage"] == stage)
    steps = job.get("steps") or job["strategy"]["runOnce"]["deploy"]["steps"]
    scripts = [
        (one.get("script") or one["inputs"]["inlineScript"], one.get("env", {}))
        for one in steps
        if "script" in one or "inlineScript" in one.get("inputs", {})
    ]
    return [(text, {key: filled(value) for key, value in env.items()}) for text, env in scripts]


def run_on_azure(folder: Path, api: AzureDevOps, stage: str, build: str, **more: str) -> str:
    """Run a stage; what it printed. An artifact is kept where one is named."""
    temp = folder / f"temp-{build}"
    temp.mkdir()
    own = {
        "TF_BUILD": "True",
        "SYSTEM_COLLECTIONURI": f"{api.url}/us/",
        "SYSTEM_TEAMPROJECT": "ml",
        "SYSTEM_DEFINITIONID": "5",
        "BUILD_REPOSITORY_ID": "r",
        "BUILD_BUILDID": build,
        "BUILD_SOURCEVERSION": "merge",
        "AGENT_TEMPDIRECTORY": str(temp),
    }
    known = {"$(System.AccessToken)": api.token, "$(Agent.TempDirectory)": str(temp)}
    log = ""
    for script, env in of_azure(stage):
        set_here = {key: known.get(value, value) for key, value in env.items()}
        done = step(folder, script, own | more | set_here)
        assert done.returncode == 0, done.stdout + done.stderr
        log += done.stdout
    told = dict(re.findall(r"variable=(\w+);isOutput=true\](.*)", log))
    if "artifact" in told:
        api.builds[build] = {told["artifact"]: ci_api.packed(Path(told["folder"]))}
        api.heads[build] = more["SYSTEM_PULLREQUEST_SOURCECOMMITID"]
    return log


@pytest.mark.slow
def test_azure_edits_one_thread_applies_the_reviewed_plan_and_keeps_one_work_item(
    tmp_path: Path,
) -> None:
    repository(tmp_path)
    api = AzureDevOps()
    api.threads.append({"id": 0, "comments": [{"id": 1, "content": "a remark"}]})
    pull_request = {
        "SYSTEM_PULLREQUEST_PULLREQUESTID": "7",
        "SYSTEM_PULLREQUEST_SOURCECOMMITID": "head",
    }
    with ci_api.serving(api):
        log = run_on_azure(tmp_path, api, "Plan", "1", **pull_request)
        assert "##vso[task.logissue type=warning;sourcepath=infra/low-pri" in log
        assert "variable=changes;isOutput=true]true" in log
        run_on_azure(tmp_path, api, "Plan", "2", **pull_request)
        (content,) = (one["comments"][0]["content"] for one in api.threads[1:])
        assert content.startswith("<!-- mlctl plan infra -->\n### mlctl plan: 4 to add")
        assert "Apply complete! Resources: 4 added" in run_on_azure(tmp_path, api, "Apply", "3")
        assert "### mlctl apply: done" in api.threads[2]["comments"][0]["content"]
        scale(tmp_path, "3")
        run_on_azure(tmp_path, api, "Drift", "4")
        scale(tmp_path, "4")
        run_on_azure(tmp_path, api, "Drift", "5")
        (item,) = api.items
        assert "| 2 | 4 |" in item["/fields/System.Description"]
        scale(tmp_path, "2")
        run_on_azure(tmp_path, api, "Drift", "6")
    assert [one["/fields/System.State"] for one in api.items] == ["Closed"]


def run_on_gitlab(folder: Path, api: GitLab, job: str, pipeline: str, **more: str) -> str:
    """Run a job of the pipeline; what it printed."""
    described: dict[str, Any] = yaml.safe_load((CI / "gitlab-ci.yml").read_text())
    own = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": api.url,
        "CI_PROJECT_ID": "3",
        "CI_COMMIT_SHA": "merge",
        "CI_PIPELINE_ID": pipeline,
        "CI_JOB_URL": "https://gitlab.com/us/ml/-/jobs/1",
        "MLCTL_GITLAB_TOKEN": api.token,
        "MLCTL_CI_PATH": described["variables"]["MLCTL_CI_PATH"],
        "AZURE_ID_TOKEN": "signed",
    }
    lines = described[".azure"]["before_script"] + described[job]["script"]
    done = step(folder, "\n".join(lines), own | more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_gitlab_edits_one_note_applies_the_reviewed_plan_and_keeps_one_issue(
    tmp_path: Path,
) -> None:
    repository(tmp_path)
    api = GitLab()
    stranger = {"author": {"id": 2}, "body": "<!-- mlctl plan infra -->"}
    api.notes += [{"id": number, **stranger} for number in range(120)]
    request = {"CI_MERGE_REQUEST_IID": "7", "CI_COMMIT_SHA": "head"}
    with ci_api.serving(api):
        run_on_gitlab(tmp_path, api, "mlctl validate", "10", **request)
        report = json.loads((tmp_path / "gl-code-quality-report.json").read_text())
        assert (report[0]["check_name"], report[0]["severity"]) == ("MLC305", "minor")
        assert report[0]["location"] == {"path": "infra/low-pri-cluster.yml", "lines": {"begin": 4}}
        run_on_gitlab(tmp_path, api, "mlctl plan", "10", **request)
        run_on_gitlab(tmp_path, api, "mlctl plan", "11", **request)
        counts = json.loads((tmp_path / "gl-terraform-report.json").read_text())
        assert counts == {"create": 4, "update": 0, "delete": 0}
        (note,) = api.notes[120:]
        assert "### mlctl plan: 4 to add" in note["body"]
        api.jobs["11"] = ci_api.packed(tmp_path / ".mlctl-ci" / "mlctl-plan-infra")
        log = run_on_gitlab(tmp_path, api, "mlctl apply", "13")
        assert "Apply complete! Resources: 4 added" in log
        assert "### mlctl apply: done" in api.notes[121]["body"]
        for most in ("3", "4", "2"):
            scale(tmp_path, most)
            run_on_gitlab(tmp_path, api, "mlctl drift", "14")
        (issue,) = api.issues
        assert ("| 2 | 4 |" in issue["description"], issue["state"]) == (True, "closed")


def test_gitlab_lists_the_cases_that_fail(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "infra" / "a.test.yml").write_text(
        "tests:\n- {name: good, files: [low-pri-cluster.yml]}\n"
        "- {name: bad, files: [low-pri-cluster.yml], expect: {findings: [MLC999]}}\n"
    )
    job = yaml.safe_load((CI / "gitlab-ci.yml").read_text())["mlctl test"]
    done = step(tmp_path, "\n".join(job["script"]), {"MLCTL_CI_PATH": "infra"})
    assert done.returncode == 1
    suite = ElementTree.parse(tmp_path / job["artifacts"]["reports"]["junit"]).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


def test_what_is_wrong_with_the_variables_is_told_in_a_line(tmp_path: Path) -> None:
    repository(tmp_path)
    github = {"GITHUB_ACTIONS": "true"}
    quoted = step(tmp_path, "python3 ci/mlctl_ci plan", github | {"MLCTL_CI_ARGS": "--var 'a"})
    absent = step(tmp_path, "python3 ci/mlctl_ci plan", github)
    assert (quoted.returncode, absent.returncode) == (1, 1)
    assert quoted.stderr == "ERROR: MLCTL_CI_ARGS cannot be read: No closing quotation\n"
    assert absent.stderr.startswith("ERROR: the variable 'GITHUB_REPOSITORY' is not set")
