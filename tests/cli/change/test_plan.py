"""`mlctl plan`, from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster, edit

ADDED = {
    "compute/low-pri-cluster",
    "batch-endpoint/heart-classifier-batch",
    "batch-deployment/heart-classifier-batch/classifier-xgboost",
    "model/heart-classifier:1",
}


def actions(mlctl: Run, *arguments: str) -> dict[str, list[str]]:
    """What a plan does to each resource."""
    changes = mlctl("plan", *arguments, "-o", "json").json["resource_changes"]
    return {one["address"]: one["change"]["actions"] for one in changes}


def test_a_new_sample_is_four_resources_to_add(mlctl: Run, sample: Path) -> None:
    assert actions(mlctl, "sample") == {one: ["create"] for one in ADDED}


def test_a_plan_writes_nothing(mlctl: Run, sample: Path) -> None:
    mlctl("plan", "sample")
    assert mlctl("compute", "list").json == []


def test_one_changed_number_is_all_that_a_plan_shows(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes")
    edit(sample / "low-pri-cluster.yml", "max_instances: 2", "max_instances: 5")
    done = mlctl("plan", "sample", "--only-show-errors")
    signs = [line for line in done.out.splitlines() if line.lstrip().startswith(("~ ", "+ ", "- "))]
    assert signs[1:] == ["  ~ compute/low-pri-cluster:", "      ~ max_instances: 2 -> 5"]
    assert "Plan: 0 to add, 1 to change, 0 to destroy." in done.out


def test_json_has_every_change_under_the_names_of_the_yaml(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes")
    edit(sample / "low-pri-cluster.yml", "DS3_v2", "DS4_v2")
    said = mlctl("plan", "sample", "-o", "json").json
    change = next(one for one in said["resource_changes"] if one["kind"] == "compute")
    assert change["change"]["actions"] == ["delete", "create"]
    assert change["change"]["after"]["size"] == "STANDARD_DS4_v2"
    assert change["change"]["replace_paths"] == [["size"]]
    assert change["source"] == {"filename": "sample/low-pri-cluster.yml", "line": 4}
    assert said["applyable"] is True


def test_the_exit_code_tells_changes_only_when_asked(mlctl: Run, sample: Path) -> None:
    before = [mlctl("plan", "sample", *flag).code for flag in ((), ("--detailed-exitcode",))]
    mlctl("apply", "sample", "--yes")
    assert before == [0, 2]
    assert mlctl("plan", "sample", "--detailed-exitcode").code == 0


def test_files_with_errors_are_no_plan(mlctl: Run, sample: Path) -> None:
    edit(sample / "low-pri-cluster.yml", "tier:", "tire:")
    done = mlctl("plan", "sample", "--detailed-exitcode")
    assert (done.code, done.out) == (1, "")
    assert "did you mean `tier`?" in done.err


def test_what_the_backend_would_reject_is_said_before(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "3")
    done = mlctl("plan", "sample", "--detailed-exitcode")
    assert done.code == 1
    assert "error[MLC405]: eastus allows 3 low-priority cores, and 1 node of" in done.out
    assert mlctl("plan", "sample", "-o", "json").json["applyable"] is False


def test_that_jobs_get_fewer_nodes_is_a_warning(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "4")
    done = mlctl("plan", "sample", "--detailed-exitcode")
    assert done.code == 2
    warning = "eastus allows 4 low-priority cores: jobs get at most 1 node, not 2"
    assert f"warning[MLC405]: {warning}" in done.out
    told = mlctl("plan", "sample", "-o", "json").json
    assert told["applyable"] is True
    found = {one["code"]: (one["severity"], one["summary"]) for one in told["diagnostics"]}
    assert found == {"MLC405": ("warning", warning)}
    assert f"- **MLC405** {warning}" in mlctl("plan", "sample", "-o", "markdown").out
    assert "MLC405" not in mlctl("plan", "sample", "--ignore", "MLC405").out
    strict = ("sample", "--strict", "--ignore", "MLC305")
    done = mlctl("plan", *strict)
    assert (done.code, done.err.count("info[MLC422]")) == (1, 1)
    assert mlctl("apply", *strict, "--yes").code == 6


def test_the_strict_setting_counts_what_clusters_may_have(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "4")
    assert mlctl("local", "settings", "set", "quota_refuses=max").code == 0
    done = mlctl("plan", "sample")
    assert done.code == 1
    assert "eastus allows 4 low-priority cores; 0 are in use, and this plan needs 8" in done.out
    found = {
        one["setting"]: one["value"]
        for one in mlctl("local", "settings", "list", "-o", "json").json
    }
    assert found["quota_refuses"] == "max"
    assert mlctl("local", "settings", "set", "quota_refuses=most").code == 1


def test_a_new_workspace_has_cores_of_every_family_with_gpus(mlctl: Run) -> None:
    small, big = "Standard_NC4as_T4_v3", "Standard_ND96asr_v4"
    for size in (small, big):
        made = mlctl("compute", "create", "-n", "gpu", "--type", "amlcompute", "--size", size)
        assert made.code == 0
        assert mlctl("compute", "delete", "-n", "gpu", "--yes").code == 0
    assert mlctl("local", "settings", "set", "gpu_family_cores=0").code == 0
    assert mlctl("local", "quota", "set", "--family", "standardNDSv2Family=40").code == 0
    made = mlctl("compute", "create", "-n", "gpu", "--type", "amlcompute", "--size", small)
    assert (made.code, "MLC405" in made.err) == (1, True)
    for wrong in ("-1", "1.5", "many", "9" * 13):
        assert mlctl("local", "settings", "set", f"gpu_family_cores={wrong}").code == 1


def test_a_missing_reference_is_what_the_backend_would_reject(mlctl: Run, sample: Path) -> None:
    done = mlctl("plan", "sample/deployment.yml", "-o", "json")
    assert done.code == 1
    assert [one["code"] for one in done.json["diagnostics"]] == ["MLC402"] * 3


def test_a_target_brings_what_it_needs_and_nothing_else(mlctl: Run, sample: Path) -> None:
    assert set(actions(mlctl, "sample", "--target", "compute/low-pri-cluster")) == {
        "compute/low-pri-cluster"
    }
    deployment = "batch-deployment/heart-classifier-batch/classifier-xgboost"
    assert set(actions(mlctl, "sample", "--target", deployment)) == ADDED


@pytest.mark.parametrize("target", ["compute/nope", "nope", "job/x"])
def test_a_target_that_is_not_declared_is_a_usage_error(
    mlctl: Run, sample: Path, target: str
) -> None:
    done = mlctl("plan", sample, "--target", target)
    assert (done.code, done.err.count("ERROR: ")) == (1, 1)


def test_destroy_plans_to_delete_what_is_declared_and_live(mlctl: Run, sample: Path) -> None:
    assert "No changes." in mlctl("plan", "sample", "--destroy").out
    mlctl("apply", "sample", "--yes")
    assert actions(mlctl, "sample", "--destroy") == {one: ["delete"] for one in ADDED}


def test_a_path_that_does_not_exist_is_a_warning_to_validate_and_an_error_to_plan(
    mlctl: Run, sample: Path
) -> None:
    edit(sample / "model.yml", "./model", "./nowhere")
    assert mlctl("validate", "sample/model.yml").code == 0
    assert mlctl("plan", "sample/model.yml").code == 1


def test_the_backend_and_the_workspace_are_said_once(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    lines = mlctl("plan", "cpu.yml").err.splitlines()
    assert lines.count("local backend (.mlctl/local.db), workspace local/local") == 1
    assert mlctl("plan", "cpu.yml", "--only-show-errors").err == ""


def test_a_workspace_is_a_world_of_its_own(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes", "-g", "here", "-w", "one")
    assert mlctl("model", "list", "-g", "here", "-w", "one", "--query", "length(@)").json == 1
    assert mlctl("model", "list", "-g", "here", "-w", "two").json == []


def test_the_state_is_where_the_variable_says(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(tmp_path / "cpu.yml")
    monkeypatch.setenv("MLCTL_LOCAL_DB", str(tmp_path / "deep" / "state.db"))
    mlctl("apply", "cpu.yml", "--yes")
    assert (tmp_path / "deep" / "state.db").is_file()
    assert not (tmp_path / ".mlctl").exists()


def test_memory_keeps_nothing(mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster(tmp_path / "cpu.yml")
    monkeypatch.setenv("MLCTL_LOCAL_DB", ":memory:")
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    assert mlctl("plan", "cpu.yml", "--detailed-exitcode").code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["cpu.yml"]


def test_what_has_moved_is_made_under_its_new_name_and_keeps_what_no_file_says(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "mlctl.yml").write_text("project: p\n")
    file = cluster(tmp_path / "cpu.yml")
    assert mlctl("apply", ".", "--yes").code == 0
    assert mlctl("compute", "update", "-n", "cpu", "--set", "tags.team=ds").code == 0
    edit(file, "name: cpu", "name: cpu-v2")
    (tmp_path / "mlctl.yml").write_text(
        "project: p\nmoved: [{from: compute/cpu, to: compute/cpu-v2}]\n"
    )
    planned = mlctl("plan", ".", "--out", "plan.json").out
    assert "because compute/cpu-v2 replaces it; it is deleted last" in planned
    assert mlctl("apply", "plan.json", ".").code == 0
    assert mlctl("compute", "list", "--query", "[].name").json == ["cpu-v2"]
    assert mlctl("compute", "show", "-n", "cpu-v2", "--query", "tags.team").json == "ds"
    assert "No changes." in mlctl("plan", ".").out


def test_what_cannot_have_another_name_is_told_and_left(mlctl: Run, tmp_path: Path) -> None:
    endpoint = "$schema: https://azuremlschemas.azureedge.net/latest/batchEndpoint.schema.json\n"
    (tmp_path / "mlctl.yml").write_text(
        "project: p\nmoved: [{from: batch-endpoint/old, to: batch-endpoint/new}]\n"
    )
    (tmp_path / "endpoint.yml").write_text(f"{endpoint}name: old\n")
    assert mlctl("apply", ".", "--yes").code == 0
    (tmp_path / "endpoint.yml").write_text(f"{endpoint}name: new\n")
    planned = mlctl("plan", ".")
    assert "batch-endpoint/old cannot become batch-endpoint/new: others refer to it by name" in (
        planned.err.replace("\n", " ")
    )
    assert "1 to add, 0 to change, 0 to destroy" in planned.out
    assert "batch-endpoint/old is no longer declared" in planned.out


def test_an_online_deployment_that_has_moved_is_told_that_requests_go_by_its_name(
    mlctl: Run, tmp_path: Path
) -> None:
    old, new = "online-deployment/scores/blue", "online-deployment/scores/green"
    (tmp_path / "mlctl.yml").write_text(f"moved: [{{from: {old}, to: {new}}}]\n")
    (tmp_path / "green.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineDeployment.schema.json\n"
        "name: green\nendpoint_name: scores\nmodel: azureml:m:1\ninstance_count: 1\n"
        "instance_type: Standard_DS3_v2\n"
    )
    told = " ".join(mlctl("plan", ".").err.split())
    assert f"{old} cannot become {new}: requests use its name." in told


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("{from: compute/cpu, to: model/cpu}", "cannot have moved to"),
        ("{from: cpu, to: compute/cpu}", "cpu"),
        ("{from: compute/cpu}", "`to`"),
    ],
)
def test_a_move_that_makes_no_sense_is_an_error(
    mlctl: Run, tmp_path: Path, entry: str, told: str
) -> None:
    cluster(tmp_path / "cpu.yml")
    (tmp_path / "mlctl.yml").write_text(f"moved: [{entry}]\n")
    done = mlctl("plan", ".")
    assert (done.code, told in done.err) == (1, True), done.err


def test_a_file_with_errors_is_left_out_where_a_plan_keeps_going(mlctl: Run, sample: Path) -> None:
    (sample / "template.yml").write_text("$schema: amlCompute.schema.json\nname: <NAME>\n")
    assert mlctl("plan", "sample").code == 1
    kept = mlctl("plan", "sample", "--keep-going")
    assert (kept.code, "Plan: 4 to add" in kept.out) == (1, True)
    assert "ERROR: 1 file with errors left out: `sample/template.yml`." in kept.err
    applied = mlctl("apply", "sample", "--keep-going", "--yes")
    assert (applied.code, "Resources: 4 added" in applied.out) == (1, True)
    again = mlctl("plan", "sample", "--keep-going")
    assert (again.code, "No changes." in again.out) == (1, True)


COMPONENT = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandComponent.schema.json
type: command
name: train
command: python train.py
code: .
environment: {image: ubuntu}
"""


def test_code_beside_the_local_state_is_unchanged_by_an_apply(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "train.yml").write_text(COMPONENT)
    assert mlctl("apply", ".", "--yes").code == 0
    assert (tmp_path / ".mlctl" / "local.db").exists()
    assert "No changes." in mlctl("plan", ".").out


def test_an_asset_without_version_takes_the_first_that_no_file_declares(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "train.yml").write_text(COMPONENT)
    (tmp_path / "first.yml").write_text(COMPONENT.replace("train.py", "old.py") + "version: 1\n")
    assert "component/train:2 will be created" in mlctl("apply", ".", "--yes").out
    assert "No changes." in mlctl("plan", ".").out


def test_a_label_that_is_written_as_a_version_is_told_how_to_write_it(
    mlctl: Run, tmp_path: Path
) -> None:
    text = COMPONENT.replace("{image: ubuntu}", "azureml:torch:latest")
    (tmp_path / "train.yml").write_text(text)
    assert "write `azureml:torch@latest`" in mlctl("plan", ".").out


PIPELINE = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json
type: pipeline
jobs:
  train: {type: command, command: echo, environment: azureml:torch:1, compute: azureml:cpu, gpus: 3}
"""
SCHEDULE = """\
$schema: https://azuremlschemas.azureedge.net/latest/schedule.schema.json
name: weekly
trigger: {type: cron, expression: "0 0 * * 0"}
create_job: ../jobs/train.yml
"""


def test_what_runs_a_file_with_errors_is_left_out_with_it(mlctl: Run, tmp_path: Path) -> None:
    for name, text in (("jobs/train.yml", PIPELINE), ("schedules/weekly.yml", SCHEDULE)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    cluster(tmp_path / "cpu.yml")
    done = mlctl("plan", ".", "--keep-going")
    assert (done.code, "Plan: 1 to add" in done.out) == (1, True)
    assert "left out: `jobs/train.yml` and `schedules/weekly.yml`" in done.err
    assert "--> jobs/train.yml:4:93" in done.err


def test_a_plan_that_keeps_going_says_once_what_is_no_resource(mlctl: Run, sample: Path) -> None:
    (sample / "template.yml").write_text("$schema: amlCompute.schema.json\nname: <NAME>\n")
    (sample / "params.yml").write_text("learning_rate: 0.1\n")
    notes = mlctl("plan", "sample", "--keep-going").err
    assert (notes.count("sample/params.yml"), notes.count("MLC305")) == (1, 1)


def test_a_plan_of_other_tools_files_says_that_they_declare_nothing(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "params.yml").write_text("learning_rate: 0.1\n")
    done = mlctl("plan", ".")
    assert (done.code, "note: these files declare no resources" in done.err) == (0, True)


def test_nothing_is_left_to_go_on_with_where_every_file_has_errors(
    mlctl: Run, sample: Path
) -> None:
    (sample / "template.yml").write_text("$schema: amlCompute.schema.json\nname: <NAME>\n")
    done = mlctl("plan", "sample/template.yml", "--keep-going")
    assert (done.code, done.out) == (1, "")


@pytest.mark.parametrize("flag", ["--prune", "--out=plan.json"])
def test_what_needs_all_files_does_not_keep_going(mlctl: Run, sample: Path, flag: str) -> None:
    assert "--keep-going" in mlctl("plan", "sample", "--keep-going", flag).err


def test_a_plan_names_stand_ins_for_what_lives_in_a_real_workspace(
    mlctl: Run, sample: Path
) -> None:
    (sample / "low-pri-cluster.yml").unlink()
    (sample / "model.yml").unlink()
    refused = mlctl("plan", "sample")
    (command,) = [line for line in refused.err.splitlines() if line.startswith("    mlctl local")]
    mlctl(*command.split()[1:])
    assert mlctl("plan", "sample").code == 0


def test_a_supposed_resource_is_marked_and_changes_nothing_that_is_there(mlctl: Run) -> None:
    assert mlctl("local", "suppose", "compute/cpu", "data/d:3", "model/m").code == 0
    assert mlctl("compute", "show", "-n", "cpu").json["tags"] == {"mlctl.supposed": "true"}
    assert mlctl("data", "show", "-n", "d", "-v", "3").json["version"] == "3"
    assert "compute/cpu already exists" in mlctl("local", "suppose", "compute/cpu").err
    assert "only these can be supposed" in mlctl("local", "suppose", "job/x").err
