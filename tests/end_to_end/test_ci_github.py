"""The action and its workflow: run step by step, beside an API that answers as GitHub's does."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mlctl.backends.local.backend import LocalBackend
from tests.builders import ci_api, entry_points, served, shell
from tests.builders.azure import led
from tests.builders.leased import ANA, LOCAL
from tests.builders.paths import LOW_PRIORITY, ROOT
from tests.builders.workflow import Runner, value

WORKFLOW = ROOT / "samples" / "ci" / "github-actions.yml"
PULL_REQUEST = {"pull_request": {"number": 7, "head": {"sha": "head"}}}
MARKER = "<!-- mlctl plan infra -->"


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """A repository with the low-priority sample, on the local backend."""
    shutil.copytree(LOW_PRIORITY, tmp_path / "infra")
    api = ci_api.GitHub()
    with ci_api.serving(api):
        yield Runner(tmp_path, api, {"MLCTL_BACKEND": "local"})


def opened(runner: Runner) -> dict[str, str]:
    """Somebody opens or changes the pull request."""
    return runner.go(WORKFLOW, "pull_request", PULL_REQUEST, "merge-of-head")


def merged(runner: Runner) -> dict[str, str]:
    """Somebody merges it."""
    return runner.go(WORKFLOW, "push", {}, "merge")


def ours(runner: Runner, marker: str = MARKER) -> list[str]:
    """The comments of the pull request that are ours."""
    said = [one["body"] for one in runner.api.comments if one["user"]["type"] == "Bot"]
    return [body for body in said if body.startswith(marker)]


def mlctl(runner: Runner, *arguments: str) -> shell.Done:
    """A command of somebody else."""
    return shell.finish(shell.start(runner.folder, *arguments))


@pytest.mark.slow
def test_a_pull_request_is_planned_in_one_comment_and_its_merge_applies_that_plan(
    runner: Runner,
) -> None:
    runner.api.comments += [runner.api.said(f"remark {number}") for number in range(150)]
    runner.api.comments.append(runner.api.said(f"{MARKER} of a stranger"))
    assert opened(runner) == {"plan": "success", "apply": "skipped", "drift": "skipped"}
    assert "::warning file=infra/low-pri-cluster.yml,line=4" in runner.log
    (first,) = ours(runner)
    assert "### mlctl plan: 4 to add" in first
    assert "Merging applies exactly this plan." in first
    assert "### mlctl plan: 4 to add" in (runner.folder / "summary.md").read_text()

    shell.edit(
        runner.folder / "infra" / "low-pri-cluster.yml", "max_instances: 2", "max_instances: 3"
    )
    opened(runner)
    (second,) = ours(runner)
    assert "max_instances:               3" in second

    assert merged(runner) == {"plan": "skipped", "apply": "success", "drift": "skipped"}
    assert "Apply complete! Resources: 4 added" in runner.log
    (told,) = ours(runner, "<!-- mlctl apply infra -->")
    assert "### mlctl apply: done" in told
    assert ours(runner) == [second]
    assert len(runner.api.comments) == 153


@pytest.mark.slow
def test_a_plan_is_refused_where_the_workspace_has_moved_and_the_next_step_is_told(
    runner: Runner,
) -> None:
    opened(runner)
    mlctl(runner, "compute", "create", "-n", "low-pri-cluster", "-t", "amlcompute")
    assert merged(runner)["apply"] == "failure"
    (told,) = ours(runner, "<!-- mlctl apply infra -->")
    assert "the workspace has changed since the plan was made" in told
    assert 'Run the workflow by hand ("Run workflow")' in told
    again = runner.go(WORKFLOW, "workflow_dispatch", {}, "merge")
    assert again == {"plan": "success", "apply": "success", "drift": "skipped"}
    assert len(ours(runner)) == 1


@pytest.mark.slow
def test_plans_of_two_pull_requests_hold_each_other_up_neither_before_nor_after_a_merge(
    runner: Runner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(runner.folder / "infra", folder / "infra")
    shell.edit(folder / "infra" / "low-pri-cluster.yml", "max_instances: 2", "max_instances: 3")
    runner.variables = {**runner.variables, "MLCTL_LOCAL_DB": str(folder / "shared.db")}
    other = Runner(folder, ci_api.GitHub(), runner.variables)
    with ci_api.serving(other.api):
        assert [opened(one)["plan"] for one in (runner, other)] == ["success"] * 2
        assert merged(runner)["apply"] == "success"
        assert merged(other)["apply"] == "failure"  # it would overwrite what the first one made
        assert "the workspace has changed" in ours(other, "<!-- mlctl apply infra -->")[0]
        again = other.go(WORKFLOW, "workflow_dispatch", {}, "merge")
        assert again["apply"] == "success", other.log
    assert "1 changed" in other.log


@pytest.mark.slow
def test_an_apply_that_another_holds_up_says_who_and_begins_nothing(runner: Runner) -> None:
    (runner.folder / "mlctl.yml").write_text("project: scoring\n")
    assert opened(runner)["plan"] == "success"
    backend = LocalBackend(runner.folder / ".mlctl" / "local.db", LOCAL)
    backend.leases.acquire("scoring", ANA)
    backend.close()
    github = {"github": {"token": runner.api.token}, "runner": {"temp": str(runner.folder)}}
    agent = {"GITHUB_SHA": "merge", "temp": str(runner.folder)}
    given = {"command": "apply", "path": "infra", "args": "--lock-timeout 0s"}
    fine, _ = runner.action(given, github, agent)
    (told,) = ours(runner, "<!-- mlctl apply infra -->")
    assert (fine, "### mlctl apply: another apply of the project is running" in told) == (
        False,
        True,
    )
    assert "held by ana@laptop, process 4711" in told
    assert mlctl(runner, "compute", "list").json == []


@pytest.mark.slow
def test_drift_opens_one_issue_that_is_updated_and_closed(runner: Runner) -> None:
    assert mlctl(runner, "apply", "infra", "--yes").code == 0
    states, titles = [], []
    for most in ("3", "4", "2"):
        mlctl(runner, "compute", "update", "-n", "low-pri-cluster", "--max-instances", most)
        assert runner.go(WORKFLOW, "schedule", {}, "merge")["drift"] == "success"
        (issue,) = runner.api.issues
        states.append(issue["state"])
        titles.append((issue["title"], f"| 2 | {most} |" in issue["body"]))
    assert states == ["open", "open", "closed"]
    assert titles[:2] == [("Drift: infra", True)] * 2


def test_a_plan_that_fails_says_so_in_the_comment_and_keeps_nothing(runner: Runner) -> None:
    file = runner.folder / "infra" / "low-pri-cluster.yml"
    file.write_text(file.read_text() + "tire: low\n")
    action = {"command": "plan", "path": "infra"}
    github = {"github": {"token": runner.api.token}, "runner": {"temp": str(runner.folder)}}
    (runner.folder / "event.json").write_text(json.dumps(PULL_REQUEST))
    agent = {"GITHUB_SHA": "merge-of-head", "head": "head", "temp": str(runner.folder)}
    fine, _ = runner.action(action, github, agent)
    (told,) = ours(runner)
    assert (fine, runner.api.artifacts) == (False, [])
    assert "### mlctl plan: failed" in told
    assert "unknown field `tire`" in told


@pytest.mark.slow
def test_several_environments_have_one_comment_and_are_applied_together(runner: Runner) -> None:
    (runner.folder / "mlctl.yml").write_text(
        "environments:\n"
        "  dev: {workspace: d, variables: {stage: dev}}\n"
        "  prod: {workspace: p, variables: {stage: prod}}\n"
    )
    shell.cluster(runner.folder / "two" / "cpu.yml", name="cpu-${{ var.stage }}")
    (runner.folder / "event.json").write_text(json.dumps(PULL_REQUEST))
    github = {"github": {"token": runner.api.token}, "runner": {"temp": str(runner.folder)}}
    agent = {"GITHUB_SHA": "merge", "head": "head", "temp": str(runner.folder)}
    given = {"path": "two", "env": "all"}
    for command in ("validate", "plan", "apply"):
        fine, _ = runner.action({"command": command, **given}, github, agent)
        assert fine, runner.log
    (planned,) = ours(runner, "<!-- mlctl plan two-all-")
    (done,) = ours(runner, "<!-- mlctl apply two-all-")
    assert [one in planned for one in ("## dev", "## prod", "`compute/cpu-prod`")] == [True] * 3
    assert done.count("Resources: 1 added") == 2


@pytest.mark.slow
def test_on_azure_the_merge_applies_the_plan_and_drift_is_seen(
    runner: Runner, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    home = tmp_path_factory.mktemp("served")
    with served.serving(home) as emulator:
        runner.variables = {
            **led(emulator, monkeypatch),
            "MLCTL_BACKEND": "azure",
            "MLCTL_SUBSCRIPTION": str(emulator.told["subscription"]),
            "MLCTL_RESOURCE_GROUP": "rg",
            "MLCTL_WORKSPACE": "ws",
        }
        shell.cluster(runner.folder / "infra" / "cpu.yml")
        assert opened(runner)["plan"] == "success", runner.log
        assert merged(runner)["apply"] == "success", runner.log
        assert runner.go(WORKFLOW, "schedule", {}, "merge")["drift"] == "success", runner.log
    assert "Apply complete! Resources: 5 added" in ours(runner, "<!-- mlctl apply infra -->")[0]
    assert runner.api.issues == []


def test_a_plan_of_a_fork_or_of_another_commit_is_not_applied(runner: Runner) -> None:
    name, content = "mlctl-plan-infra", b""
    runner.api.upload(name, content, "90", "head", repository=2)
    runner.api.upload(name, content, "91", "another")
    assert merged(runner)["apply"] == "failure"
    assert "ERROR: no plan `mlctl-plan-infra` of pull request #7 was kept." in runner.log
    assert mlctl(runner, "compute", "list").json == []


@pytest.mark.slow
def test_where_comments_may_not_be_written_the_right_that_lacks_is_named(runner: Runner) -> None:
    runner.api.writable = False
    assert opened(runner)["plan"] == "failure"
    assert "403 (permissions: pull-requests: write;" in runner.log
    assert runner.api.artifacts == []


def test_the_runner_understands_conditions() -> None:
    context = {"a": {"b-c": "x"}}
    words = ("a.b-c == 'x' && !cancelled()", "a.b-c != 'x' || a.d", "a.d == ''")
    assert [bool(value(one, context)) for one in words] == [True, False, True]


@pytest.mark.slow
def test_a_run_that_is_cancelled_ends_its_apply_and_says_what_is_left(runner: Runner) -> None:
    shell.clusters(runner.folder / "five", 5)
    (runner.folder / "mlctl.yml").write_text("project: scoring\n")
    entry_points.install(runner.folder)
    state = {
        "MLCTL_LOCAL_DB": "state.db",
        "MLCTL_BACKEND": "held",
        "MLCTL_SUBSCRIPTION": "s",
        "MLCTL_RESOURCE_GROUP": "g",
        "MLCTL_WORKSPACE": "w",
    }
    saved = runner.folder / "saved" / "plan.json"
    saved.parent.mkdir()
    planned = shell.start(runner.folder, "plan", "five", "--out", saved, env=state)
    assert shell.finish(planned).code == 0
    runner.api.upload("mlctl-plan-five", ci_api.packed(saved.parent), "1", "head")
    runner.runs = 2
    agent = {"GITHUB_SHA": "merge", "temp": str(runner.folder)}
    (step,) = (
        one
        for one in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
        if one.get("id") == "run"
    )
    own = {
        "COMMAND": "apply",
        "SOURCE": str(ROOT),
        "MLCTL_CI_PATH": "five",
        "MLCTL_CI_ARGS": "--parallelism 1",
        "GITHUB_TOKEN": runner.api.token,
        "MLCTL_CI_FOLDER": str(runner.folder),
    }
    process = subprocess.Popen(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=runner.folder,
        env=runner.environment(agent) | own | state,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert (runner.folder / "reached").read_text() == "compute/c00"

    def leases() -> list[str]:
        shown = shell.start(runner.folder, "lock", "show", "-o", "json", env=state)
        return [one["holder"]["run"] for one in shell.finish(shown).json]

    assert leases() == ["https://github.com/us/ml/actions/runs/2"]
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Stop"):
            break
    (runner.folder / "go").write_text("")
    process.communicate(timeout=60)
    assert (process.returncode, leases()) == (8, [])
    (told,) = ours(runner, "<!-- mlctl apply five -->")
    assert "### mlctl apply: stopped" in told
    assert "Not started:\n" in told
    assert "compute/c04" in told
