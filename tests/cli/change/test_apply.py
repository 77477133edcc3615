"""`mlctl apply` and `mlctl destroy`, from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import PLENTY, Run, cluster, clusters, edit

FAULT = ("local", "fault", "add")
MODEL_FAILS = (*FAULT, "fail", "--operation", "put", "--target", "model/*", "--status", "400")


def live(mlctl: Run) -> list[str]:
    """The names of the clusters that are there."""
    return list(mlctl("compute", "list", "--query", "[].name").json)


def test_apply_makes_what_the_plan_says_and_counts_it(mlctl: Run, sample: Path) -> None:
    done = mlctl("apply", "sample", "--yes")
    assert done.code == 0
    assert "Plan: 4 to add, 0 to change, 0 to destroy." in done.out
    assert done.out.endswith("\nApply complete! Resources: 4 added, 0 changed, 0 destroyed.\n")


def test_a_second_apply_has_nothing_to_do(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes")
    done = mlctl("apply", "sample")
    assert (done.code, "No changes." in done.out) == (0, True)
    assert "0 added, 0 changed, 0 destroyed." in done.out


def test_a_default_deployment_that_is_yet_to_be_made_is_set_last(mlctl: Run, sample: Path) -> None:
    told = mlctl("apply", "sample", "--yes").err.splitlines()
    assert told[-1] == "batch-endpoint/heart-classifier-batch: Default deployment set"
    query = ("-n", "heart-classifier-batch", "--query", "defaults.deployment_name")
    assert mlctl("batch-endpoint", "show", *query).json == "classifier-xgboost"


def test_nobody_to_ask_is_a_no(mlctl: Run, sample: Path) -> None:
    done = mlctl("apply", "sample")
    assert (done.code, live(mlctl)) == (1, [])
    assert "pass --yes" in done.err


def test_json_lines_say_what_happens(mlctl: Run, sample: Path) -> None:
    lines = mlctl("apply", "sample", "--yes", "-o", "json").lines
    assert [lines[0]["type"], lines[-1]["type"]] == ["version", "change_summary"]
    assert lines[-1]["changes"] == {"add": 4, "change": 0, "remove": 0, "operation": "apply"}
    assert sum(line["type"] == "apply_complete" for line in lines) == 5


def test_json_without_yes_would_ask_blindly(mlctl: Run, sample: Path) -> None:
    done = mlctl("apply", "sample", "-o", "json")
    assert (done.code, done.out, live(mlctl)) == (1, "", [])


def test_files_with_errors_are_not_applied(mlctl: Run, sample: Path) -> None:
    edit(sample / "low-pri-cluster.yml", "tier:", "tire:")
    done = mlctl("apply", "sample", "--yes", "-o", "json")
    assert (done.code, live(mlctl)) == (1, [])
    assert done.lines[-1]["diagnostic"]["summary"] == "unknown field `tire`"


def test_what_would_be_rejected_is_not_begun(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "3")
    done = mlctl("apply", "sample", "--yes")
    assert (done.code, mlctl("model", "list").json) == (6, [])
    assert "The backend would reject this plan:" in done.out


def test_programs_are_told_what_would_be_rejected(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "3")
    done = mlctl("apply", "sample", "--yes", "-o", "json")
    assert (done.code, done.lines[-1]["diagnostic"]["code"]) == (6, "MLC405")


def test_programs_are_told_what_is_taken_with_a_warning(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "4")
    done = mlctl("apply", "sample", "--yes", "-o", "json")
    (warned,) = (one for one in done.lines if one["type"] == "diagnostic")
    assert (done.code, warned["@level"], warned["diagnostic"]["code"]) == (0, "warn", "MLC405")


def test_a_failure_in_part_is_told_once_and_its_dependants_are_skipped(
    mlctl: Run, sample: Path
) -> None:
    mlctl(*MODEL_FAILS, "--code", "Boom", "--message", "no room")
    done = mlctl("apply", "sample", "--yes")
    assert (done.code, done.err.count("(Boom) no room")) == (7, 1)
    assert "classifier-xgboost: skipped because of model/heart-classifier:1" in done.err


def test_what_failed_is_done_by_the_next_apply(mlctl: Run, sample: Path) -> None:
    mlctl(*MODEL_FAILS)
    mlctl("apply", "sample", "--yes")
    assert "Resources: 2 added, 1 changed" in mlctl("apply", "sample", "--yes").out
    assert mlctl("plan", "sample", "--detailed-exitcode").code == 0


def test_a_failure_before_anything_was_done_is_an_error(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    mlctl(*FAULT, "fail", "--operation", "put", "--status", "403")
    assert mlctl("apply", "cpu.yml", "--yes").code == 1


@pytest.mark.parametrize("trouble", ["throttle", "drop", "delay"])
def test_passing_trouble_is_no_failure(mlctl: Run, sample: Path, trouble: str) -> None:
    mlctl(*FAULT, trouble, "--operation", "put", "--times", "2", "--seconds", "5m")
    assert mlctl("apply", "sample", "--yes").code == 0
    assert mlctl("plan", "sample", "--detailed-exitcode").code == 0


def test_a_replacement_deletes_and_makes_anew(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes")
    edit(sample / "low-pri-cluster.yml", "DS3_v2", "DS4_v2")
    assert "# forces replacement" in mlctl("plan", "sample/low-pri-cluster.yml").out
    assert mlctl("apply", "sample", "--yes").code == 0
    query = ("-n", "low-pri-cluster", "--query", "size")
    assert mlctl("compute", "show", *query).json == "STANDARD_DS4_V2"
    assert mlctl("plan", "sample", "--detailed-exitcode").code == 0


def test_a_target_alone_is_applied(mlctl: Run, tmp_path: Path) -> None:
    clusters(tmp_path / "many", 3)
    assert mlctl("apply", "many", "--yes", "--target", "compute/c01").code == 0
    assert live(mlctl) == ["c01"]


@pytest.mark.parametrize("parallelism", ["1", "64"])
def test_the_end_is_the_same_however_many_work_at_once(
    mlctl: Run, tmp_path: Path, parallelism: str
) -> None:
    clusters(tmp_path / "many", 30)
    mlctl(*PLENTY)
    assert mlctl("apply", "many", "--yes", "--parallelism", parallelism).code == 0
    assert len(live(mlctl)) == 30


@pytest.mark.parametrize("parallelism", ["0", "65", "many"])
def test_a_silly_parallelism_is_a_usage_error(mlctl: Run, tmp_path: Path, parallelism: str) -> None:
    cluster(tmp_path / "cpu.yml")
    assert mlctl("apply", "cpu.yml", "--yes", "--parallelism", parallelism).code == 1


def test_destroy_deletes_what_the_files_declare_and_no_more(mlctl: Run, sample: Path) -> None:
    cluster(sample.parent / "other.yml")
    mlctl("apply", "sample", "other.yml", "--yes")
    done = mlctl("destroy", "sample", "--yes")
    assert (done.code, live(mlctl)) == (0, ["other"])
    assert done.out.endswith("\nDestroy complete! Resources: 4 destroyed.\n")


def test_destroy_asks_too(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes")
    assert (mlctl("destroy", "sample").code, live(mlctl)) == (1, ["low-pri-cluster"])


def test_a_cluster_that_others_use_is_not_destroyed(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes")
    done = mlctl("destroy", "sample/low-pri-cluster.yml", "--yes")
    assert (done.code, live(mlctl)) == (6, ["low-pri-cluster"])
    assert "is still used by batch-deployment/heart-classifier-batch" in done.out


def test_what_is_in_motion_is_waited_for_before_it_is_compared(mlctl: Run, sample: Path) -> None:
    made = ("compute", "create", "-n", "low-pri-cluster", "--type", "AmlCompute")
    mlctl(*made, "--tier", "low_priority", "--max-instances", "1", "--no-wait")
    file = "sample/low-pri-cluster.yml"
    planned = mlctl("plan", file, "--detailed-exitcode")
    assert (planned.code, "was not compared: it is creating" in planned.out) == (2, True)
    done = mlctl("apply", file, "--yes")
    assert "compute/low-pri-cluster is creating: waiting for it to end..." in done.err
    assert (done.code, "0 added, 1 changed, 0 destroyed." in done.out) == (0, True)


def test_jobs_in_a_folder_do_not_stop_destroy(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "infra" / "cpu.yml")
    assert mlctl("apply", "infra", "--yes").code == 0
    (tmp_path / "infra" / "job.yml").write_text("$schema: commandJob.schema.json\ncode: {}\n")
    done = mlctl("destroy", "infra", "--yes")
    assert (done.code, "1 destroyed" in done.out) == (0, True)


def test_destroy_leaves_out_files_with_errors_where_it_keeps_going(
    mlctl: Run, tmp_path: Path
) -> None:
    cluster(tmp_path / "infra" / "cpu.yml")
    assert mlctl("apply", "infra", "--yes").code == 0
    (tmp_path / "infra" / "broken.yml").write_text("$schema: amlCompute.schema.json\nname: <N>\n")
    assert mlctl("destroy", "infra", "--yes").code == 1
    done = mlctl("destroy", "infra", "--keep-going", "--yes")
    assert (done.code, "1 destroyed" in done.out) == (1, True)
    assert "left out: `infra/broken.yml`" in done.err


def test_the_flag_of_terraform_is_told_by_the_one_here(mlctl: Run) -> None:
    assert "Did you mean --yes?" in mlctl("apply", ".", "--auto-approve").err
