"""mlctl as a library: the commands as functions, without output and without state of their own."""

from __future__ import annotations

import json
import pydoc
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mlctl
import mlctl.api
from mlctl.applying.events import StepEvent, StepState
from mlctl.backends.ports.lease import Holder, SupportsLeases
from tests.builders.paths import LOW_PRIORITY
from tests.builders.shell import cluster, edit


def test_what_is_planned_is_applied_and_then_there_is_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = cluster(tmp_path / "cpu.yml")
    with mlctl.open_workspace() as workspace:
        planned = mlctl.plan(file, workspace)
        assert [str(one.address) for one in planned.plan.pending] == ["compute/cpu"]
        events: list[object] = []
        done = mlctl.apply(planned, workspace, on_event=events.append)
        assert (done.complete, done.added, bool(events)) == (True, 1, True)
        assert mlctl.plan(file, workspace).plan.empty
        gone = mlctl.apply(mlctl.plan(file, workspace, destroy=True), workspace)
        assert gone.destroyed == 1
    assert capsys.readouterr() == ("", "")
    assert [one.name for one in tmp_path.iterdir()] == ["cpu.yml"]


def test_findings_have_their_places(tmp_path: Path) -> None:
    file = edit(cluster(tmp_path / "cpu.yml"), "max_instances: 2", "max_instances: two")
    found = mlctl.validate([file])
    first = next(iter(found))
    assert (found.failed, first.rule.code) == (True, "MLC103")
    assert first.primary is not None
    assert (first.primary.span.source.name, first.primary.span.line + 1) == (str(file), 5)
    with mlctl.open_workspace() as workspace, pytest.raises(mlctl.InvalidFiles, match="whole num"):
        mlctl.plan(file, workspace)


def test_a_project_its_environment_variables_and_policies_count(tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text(
        "variables: {most: 1}\npolicies: [own.yml]\nenvironments: {prod: {variables: {most: 3}}}\n"
    )
    (tmp_path / "own.yml").write_text(
        "policies: [{name: few, rule: plan.create < `1`, message: no more}]\n"
    )
    file = edit(cluster(tmp_path / "cpu.yml"), "_instances: 2", "_instances: ${{ var.most }}")
    prod = mlctl.read_project(tmp_path, env="prod")
    found = mlctl.load(file, project=prod)
    assert next(iter(found.resources)).number("max_instances") == 3
    more = mlctl.load(file, project=prod, variables={"most": 5})
    assert next(iter(more.resources)).number("max_instances") == 5
    with pytest.raises(mlctl.VariableError, match="did you mean `most`"):
        mlctl.load(file, project=prod, variables={"mots": 5})
    with pytest.raises(mlctl.UnknownEnvironment, match="did you mean `prod`"):
        mlctl.read_project(tmp_path, env="prd")
    with mlctl.open_workspace() as workspace:
        planned = mlctl.plan(file, workspace, project=prod)
        with pytest.raises(mlctl.Refused, match="no more"):
            mlctl.apply(planned, workspace)
        assert workspace.list("compute") == []


def test_the_secrets_of_one_project_change_no_plan_of_another(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.yml", tmp_path / "ours.yml"
    head = "$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json\n"
    login = "ssh_settings: {admin_username: me, admin_password: heart-team}\n"
    theirs.write_text(f"{head}name: theirs\ntype: amlcompute\nmax_instances: 2\n{login}")
    said = "tags: {owner: heart-team}\ndescription: of heart-team\n"
    ours.write_text(f"{head}name: ours\ntype: amlcompute\nmax_instances: 2\n{said}")
    with mlctl.open_workspace() as workspace:
        (before,) = mlctl.plan(ours, workspace).work.steps
        mlctl.validate([theirs])
        (after,) = mlctl.plan(ours, workspace).work.steps
        together = mlctl.plan([theirs, ours], workspace).work.steps
    assert before.secrets == after.secrets == ()
    (echoing,) = (step for step in together if step.target.name == "ours")
    assert {secret.at for secret in echoing.secrets} == {("description",), ("tags", "owner")}


def test_two_workspaces_of_one_process_know_nothing_of_each_other(tmp_path: Path) -> None:
    file = cluster(tmp_path / "cpu.yml")
    with mlctl.open_workspace() as one, mlctl.open_workspace() as other:
        mlctl.apply(mlctl.plan(file, one), one)
        assert not mlctl.plan(file, other).plan.empty


def test_a_forecast_is_that_of_the_command(tmp_path: Path) -> None:
    told = mlctl.simulate(LOW_PRIORITY, files=300, seconds_per_file=8.0, runs=50)
    line = ("simulate", str(LOW_PRIORITY), "--files", "300", "--seconds-per-file", "8")
    command = [sys.executable, "-m", "mlctl", *line, "--runs", "50", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(json.dumps(told))["rows"] == json.loads(done.stdout)["rows"]
    with pytest.raises(ValueError, match="there is no weather `rain`"):
        mlctl.simulate(LOW_PRIORITY, files=300, weather="rain")


def test_importing_mlctl_imports_nothing_else_until_it_is_asked_for() -> None:
    code = "import mlctl, sys; print(sum(one.startswith('mlctl') for one in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2"  # and its version
    with pytest.raises(AttributeError, match="no attribute 'plam'"):
        mlctl.plam  # noqa: B018


def test_the_plan_of_a_named_project_is_carried_out_under_its_lease(tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    project, file = mlctl.read_project(tmp_path), cluster(tmp_path / "cpu.yml")
    with mlctl.open_workspace() as workspace:
        assert isinstance(workspace, SupportsLeases)
        planned = mlctl.plan(file, workspace, project=project)
        lease = workspace.leases.acquire("scoring", Holder("ana@laptop", 1, "mlctl apply"))
        with pytest.raises(mlctl.LeaseHeld) as held:
            mlctl.apply(planned, workspace)
        assert held.value.lease.holder.who == "ana@laptop"
        assert mlctl.apply(planned, workspace, lock_timeout=None).added == 1
        workspace.leases.release(lease)
        gone = mlctl.plan(file, workspace, project=project, destroy=True)
        during: list[int] = []
        mlctl.apply(gone, workspace, on_event=lambda _: during.append(len(workspace.leases.held())))
        assert (set(during), workspace.leases.held()) == ({1}, [])


def test_a_program_that_is_killed_loses_nothing_with_a_journal(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def die(event: StepEvent) -> None:
        if event.state is StepState.DONE and event.step.deletes:
            raise Killed

    file = cluster(tmp_path / "cpu.yml")
    journal = tmp_path / "journal"
    with mlctl.open_workspace() as workspace:
        mlctl.apply(mlctl.plan(file, workspace), workspace, journal=journal)
        assert not journal.exists()
        address = mlctl.Address("compute", "cpu")
        body = workspace.read([address])[address].body
        workspace.put(address, {**body, "tags": {"team": "ds"}}).wait()
        edit(file, "Standard_D4ds_v5", "Standard_DS3_v2")
        with pytest.raises(Killed):
            mlctl.apply(mlctl.plan(file, workspace), workspace, on_event=die, journal=journal)
        assert workspace.read([address]) == {}
        planned = mlctl.plan(file, workspace, journal=journal)
        mlctl.apply(planned, workspace, journal=journal)
        assert workspace.read([address])[address].body["tags"] == {"team": "ds"}
        assert list(journal.glob("*.json")) == []


def test_what_no_file_declares_any_more_is_pruned_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    project = mlctl.read_project(tmp_path)
    files = tmp_path / "infra"
    cluster(files / "cpu.yml")
    old = cluster(files / "old.yml")
    with mlctl.open_workspace() as workspace:
        mlctl.apply(mlctl.plan(files, workspace, project=project), workspace)
        old.unlink()
        assert mlctl.plan(files, workspace, project=project).plan.empty
        planned = mlctl.plan(files, workspace, project=project, prune=True, prune_limit=0)
        with pytest.raises(mlctl.Refused, match="1 resource would be pruned"):
            mlctl.apply(planned, workspace)
        planned = mlctl.plan(files, workspace, project=project, prune=True)
        assert mlctl.apply(planned, workspace).destroyed == 1
        with pytest.raises(mlctl.InvalidOption, match="the project has no name"):
            mlctl.plan(files, workspace, prune=True)


def test_blue_green_writes_new_names_into_the_files_when_it_is_applied(tmp_path: Path) -> None:
    file = cluster(tmp_path / "cpu.yml")
    with mlctl.open_workspace() as workspace:
        mlctl.apply(mlctl.plan(file, workspace), workspace)
        edit(file, "Standard_D4ds_v5", "Standard_DS3_v2")
        planned = mlctl.plan(file, workspace, replace_strategy="blue-green")
        assert "name: cpu-v2" in planned.texts[file].after
        assert "name: cpu-v2" not in file.read_text()
        outcome = mlctl.apply(planned, workspace)
        assert (outcome.added, outcome.destroyed) == (1, 1)
        assert [live.address.name for live in workspace.list("compute")] == ["cpu-v2"]
        assert mlctl.plan(file, workspace).plan.empty


def test_files_that_have_changed_since_the_plan_get_no_new_names(tmp_path: Path) -> None:
    file = cluster(tmp_path / "cpu.yml")
    with mlctl.open_workspace() as workspace:
        mlctl.apply(mlctl.plan(file, workspace), workspace)
        edit(file, "Standard_D4ds_v5", "Standard_DS3_v2")
        planned = mlctl.plan(file, workspace, replace_strategy="blue-green")
        edit(file, "max_instances: 2", "max_instances: 3")
        with pytest.raises(mlctl.WriteError, match="has changed since it was read"):
            mlctl.apply(planned, workspace)
        assert [live.address.name for live in workspace.list("compute")] == ["cpu"]


def test_resuming_restores_what_is_unfinished_and_nothing_else(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def die(event: StepEvent) -> None:
        if event.state is StepState.DONE and event.step.deletes:
            raise Killed

    file, journal = cluster(tmp_path / "infra" / "cpu.yml"), tmp_path / "journal"
    with mlctl.open_workspace() as workspace:
        mlctl.apply(mlctl.plan(file, workspace), workspace)
        address = mlctl.Address("compute", "cpu")
        body = workspace.read([address])[address].body
        workspace.put(address, {**body, "tags": {"team": "ds"}}).wait()
        edit(file, "Standard_D4ds_v5", "Standard_DS3_v2")
        with pytest.raises(Killed):
            mlctl.apply(mlctl.plan(file, workspace), workspace, on_event=die, journal=journal)
        cluster(file.parent / "other.yml")
        planned = mlctl.plan(file.parent, workspace, journal=journal, resume=True)
        assert [str(change.address) for change in planned.plan.pending] == ["compute/cpu"]
        mlctl.apply(planned, workspace, journal=journal)
        assert workspace.read([address])[address].body["tags"] == {"team": "ds"}
        assert mlctl.plan(file.parent, workspace, journal=journal, resume=True).plan.empty


def test_the_functions_are_listed_where_people_look() -> None:
    assert set(mlctl.__all__) == {*mlctl.api.__all__, "__version__"}
    assert {"load", "plan", "apply", "simulate", "validate", "Forecast"} <= set(dir(mlctl))
    shown = pydoc.plain(pydoc.render_doc(mlctl))
    assert all(f"    {name}(" in shown for name in ("apply", "plan", "simulate", "validate"))


def test_variables_without_a_project_say_that_none_was_given(tmp_path: Path) -> None:
    infra = tmp_path / "infra"
    shutil.copytree(LOW_PRIORITY, infra)
    (tmp_path / "mlctl.yml").write_text("variables: {most: 4}\n")
    edit(infra / "low-pri-cluster.yml", "max_instances: 2", "max_instances: ${{ var.most }}")
    why = "the variable `most` has no value: no project was given"
    with pytest.raises(mlctl.InvalidFiles, match=why) as caught:
        mlctl.simulate(infra, files=300)
    (hint,) = (one.hint for one in caught.value.report if one.rule.code == "MLC122")
    assert "project=mlctl.read_project(...)" in str(hint)
    with mlctl.open_workspace() as workspace, pytest.raises(mlctl.InvalidFiles, match=why):
        mlctl.plan(infra, workspace)
    project = mlctl.read_project(infra)
    forecast: mlctl.Forecast = mlctl.simulate(infra, files=300, runs=20, project=project)
    assert forecast["scenario"]["nodes"] > 0
    with pytest.raises(mlctl.InvalidFiles) as caught:
        mlctl.simulate(infra, files=300, project=mlctl.Project())
    assert "no project" not in str(caught.value)
