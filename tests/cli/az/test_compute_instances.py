"""`mlctl compute` of compute instances, and their files in plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run, cluster

FILE = SAMPLES / "compute-instances" / "workstation.yml"
MADE = ("compute", "create", "-n", "mine", "--type", "ComputeInstance")


def test_an_instance_of_a_file_is_created_stopped_started_and_deleted(mlctl: Run) -> None:
    made = mlctl("compute", "create", "-f", str(FILE)).json
    assert (made["type"], made["state"]) == ("computeinstance", "Running")
    assert made["idle_time_before_shutdown_minutes"] == 30
    [schedule] = made["schedules"]["compute_start_stop"]
    assert (schedule["action"], schedule["state"]) == ("stop", "enabled")
    state = ("compute", "show", "-n", "workstation", "--query", "state")
    states = []
    for action in ("stop", "start", "restart"):
        assert mlctl("compute", action, "-n", "workstation").code == 0
        states.append(mlctl(*state).json)
    assert states == ["Stopped", "Running", "Running"]
    assert mlctl("compute", "delete", "-n", "workstation", "-y").code == 0
    assert mlctl(*state).code == 3
    assert mlctl("compute", "list").json == []


def test_an_instance_of_flags_may_be_of_somebody_else(mlctl: Run) -> None:
    user = ("--user-object-id", "object", "--user-tenant-id", "tenant")
    made = mlctl(*MADE, "--size", "Standard_DS2_v2", *user).json
    assert made["create_on_behalf_of"] == {"user_tenant_id": "tenant", "user_object_id": "object"}
    assert made["size"] == "STANDARD_DS2_V2"


def test_clusters_and_instances_are_in_one_list_which_a_type_narrows(
    mlctl: Run, tmp_path: Path
) -> None:
    mlctl(*MADE)
    mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"))
    names = ("compute", "list", "--query", "[].name")
    assert mlctl(*names).json == ["cpu", "mine"]
    assert mlctl(*names, "--type", "ComputeInstance").json == ["mine"]
    assert mlctl(*names, "--type", "AmlCompute").json == ["cpu"]


def test_a_name_is_of_a_cluster_or_of_an_instance(mlctl: Run, tmp_path: Path) -> None:
    mlctl(*MADE)
    second = mlctl("compute", "create", "-f", cluster(tmp_path / "mine.yml"))
    assert (second.code, "taken by a compute of another type" in second.err) == (1, True)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "create -n new --type ComputeInstance --tier dedicated",
            "--tier is not for a compute inst",
        ),
        ("update -n mine --max-instances 3", "--max-instances is not for a compute instance"),
        ("create -n mine --type ComputeInstance --size Standard_DS2_v2", "Pass --replace"),
        ("stop -n cpu", "cpu is a cluster, which scales by itself"),
        ("stop -n nope", "There is no compute/nope"),
        ("attach -n k8s", "Terraform"),
        ("connect-ssh -n mine", "use az, or the studio"),
    ],
)
def test_what_no_instance_takes_is_refused_with_its_reason(
    mlctl: Run, tmp_path: Path, line: str, why: str
) -> None:
    mlctl(*MADE)
    mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"))
    done = mlctl("compute", *line.split())
    assert (done.code != 0, why in done.err) == (True, True), done.err


def test_tags_of_an_instance_change_in_place(mlctl: Run) -> None:
    mlctl(*MADE)
    assert mlctl("compute", "update", "-n", "mine", "--tags", "a=b", "--query", "tags").json == {
        "a": "b"
    }


def test_the_idle_time_of_an_instance_changes_in_place(mlctl: Run) -> None:
    mlctl("compute", "create", "-f", str(FILE))
    minutes = "idle_time_before_shutdown_minutes"
    changed = mlctl("compute", "update", "-n", "workstation", "--set", f"{minutes}=60")
    assert changed.json[minutes] == 60


@pytest.mark.parametrize("kind", ["computeinstance", "amlcompute"])
def test_a_file_of_standard_input_says_which_compute_it_is(mlctl: Run, kind: str) -> None:
    text = f"{{type: {kind}, name: mine, size: Standard_D4ds_v5}}"
    made = mlctl("compute", "create", "-f", "-", "--query", "type", given=text)
    assert made.json == kind


def test_an_exported_instance_plans_to_no_change(mlctl: Run) -> None:
    mlctl("compute", "create", "-f", str(FILE))
    mlctl("compute", "stop", "-n", "workstation")
    assert mlctl("export", "--to", "live").code == 0
    assert "No changes" in mlctl("plan", "live").out
    assert "idle_time_before_shutdown_minutes: 30" in Path(
        "live", "compute-instance", "workstation.yml"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("idle_time_before_shutdown_minutes: 5", "15"),
        ("idle_time_before_shutdown: PT5M", "15 minutes to 3 days"),
        (
            "schedules: {compute_start_stop: [{action: nap, trigger: {type: cron}}]}",
            "write `start` or `stop`",
        ),
        (
            "schedules: {compute_start_stop: [{action: stop, trigger: "
            "{type: cron, expression: daily}}]}",
            "five fields of cron",
        ),
        (
            "schedules: {compute_start_stop: [{action: stop, trigger: "
            "{type: recurrence, frequency: often, interval: 1}}]}",
            "`minute`, `hour`, `day`",
        ),
        ("min_instances: 1", "min_instances"),
    ],
)
def test_a_file_of_an_instance_is_checked(mlctl: Run, tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "ci.yml"
    path.write_text(f"name: mine\ntype: computeinstance\n{text}\n")
    done = mlctl("validate", str(path))
    assert (done.code, why in done.out + done.err) == (1, True), done.out + done.err


def test_an_older_word_for_the_idle_time_means_the_same(mlctl: Run, tmp_path: Path) -> None:
    path = tmp_path / "ci.yml"
    path.write_text("name: mine\ntype: computeinstance\nidle_time_before_shutdown: PT45M\n")
    made = mlctl("compute", "create", "-f", str(path)).json
    assert made["idle_time_before_shutdown_minutes"] == 45
    assert "No changes" in mlctl("plan", str(path)).out


def test_a_job_may_name_an_instance_of_the_same_files(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text("name: mine\ntype: computeinstance\n")
    (tmp_path / "job.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json\n"
        "command: python -V\nenvironment: azureml:env@latest\ncompute: azureml:mine\n"
    )
    shown = mlctl("graph", str(tmp_path / "ci.yml"), str(tmp_path / "job.yml")).out
    assert "compute: mine (compute instance)\n" in shown
