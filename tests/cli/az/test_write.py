"""The az-style verbs: create, show, list, delete."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.builders.shell import Run, cluster

KINDS = ["compute", "batch-endpoint", "batch-deployment", "model", "environment"]
ENVIRONMENT = "name: skl\nimage: mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu20.04:latest\n"
ENDPOINT = ("-e", "heart-classifier-batch")
NAMES: dict[str, tuple[str, ...]] = {
    "compute": ("-n", "low-pri-cluster"),
    "batch-endpoint": ("-n", "heart-classifier-batch"),
    "batch-deployment": ("-n", "classifier-xgboost", *ENDPOINT),
    "model": ("-n", "heart-classifier", "-v", "1"),
    "environment": ("-n", "skl"),
}
LISTED = {kind: ENDPOINT if kind == "batch-deployment" else () for kind in KINDS}
FILES = {
    "compute": "sample/low-pri-cluster.yml",
    "batch-endpoint": "sample/endpoint.yml",
    "batch-deployment": "sample/deployment.yml",
    "model": "sample/model.yml",
    "environment": "environment.yml",
}


@pytest.fixture
def full(applied: Run, sample: Path) -> Run:
    """mlctl in a workspace that holds one of each kind."""
    (sample.parent / "environment.yml").write_text(ENVIRONMENT)
    assert applied("apply", "environment.yml", "--yes").code == 0
    return applied


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_there_is_shown_and_listed(full: Run, kind: str) -> None:
    shown = full(kind, "show", *NAMES[kind]).json
    assert shown["name"] == NAMES[kind][1]
    assert full(kind, "list", *LISTED[kind], "--query", "[].name").json == [NAMES[kind][1]]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_there_exits_with_3(full: Run, kind: str) -> None:
    name = ("-n", "nope", *NAMES[kind][2:])
    assert full(kind, "show", *name).code == 3


@pytest.mark.parametrize("kind", KINDS)
def test_to_delete_what_is_not_there_is_done_already(full: Run, kind: str) -> None:
    done = full(kind, "delete", "-n", "nope", *NAMES[kind][2:])
    assert (done.code, done.out) == (0, "")
    assert "there is nothing to delete." in done.err


def test_a_name_to_delete_that_may_be_misspelt_is_told(full: Run) -> None:
    done = full("compute", "delete", "-n", "low-pri-clutser", "--yes")
    assert "Did you mean `low-pri-cluster`?" in done.err
    gone = full("batch-deployment", "delete", "-n", "blue", "-e", "nope", "--yes")
    assert (gone.code, "Did you mean" in gone.err) == (0, False)


@pytest.mark.parametrize("kind", KINDS)
def test_what_show_prints_as_yaml_can_be_created_again(full: Run, kind: str) -> None:
    Path("back.yml").write_text(full(kind, "show", *NAMES[kind], "-o", "yaml").out)
    done = full(kind, "create", "-f", "back.yml", "-o", "none")
    assert (done.code, done.out) == (0, "")
    assert "No changes" in done.err


@pytest.mark.parametrize("kind", KINDS)
def test_create_from_the_file_that_made_it_changes_nothing(full: Run, kind: str) -> None:
    done = full(kind, "create", "-f", FILES[kind])
    assert (done.code, "No changes" in done.err) == (0, True)
    assert done.json["name"] == NAMES[kind][1]


def test_a_cluster_with_a_secret_is_shown_without_and_can_be_created_again(
    mlctl: Run, tmp_path: Path
) -> None:
    text = cluster(tmp_path / "cpu.yml").read_text()
    ssh = "ssh_settings: {admin_username: me, admin_password: Hunter2hunter2}\n"
    (tmp_path / "cpu.yml").write_text(text + ssh)
    assert "Hunter2" not in mlctl("compute", "create", "-f", "cpu.yml", "-o", "yaml").out
    (tmp_path / "back.yml").write_text(mlctl("compute", "show", "-n", "cpu", "-o", "yaml").out)
    done = mlctl("compute", "create", "-f", "back.yml")
    assert (done.code, "No changes" in done.err) == (0, True)


@pytest.mark.parametrize("kind", ["compute", "batch-endpoint", "model", "environment"])
def test_delete_asks_first_and_without_a_terminal_it_refuses(full: Run, kind: str) -> None:
    if kind in ("compute", "model"):  # the deployment uses them
        full("batch-endpoint", "delete", "-n", "heart-classifier-batch", "--yes")
    assert full(kind, "delete", *NAMES[kind]).code == 1
    assert full(kind, "delete", *NAMES[kind], "--yes").code == 0
    assert full(kind, "show", *NAMES[kind]).code == 3


def test_create_is_an_upsert_that_shows_what_it_changes(mlctl: Run, tmp_path: Path) -> None:
    for most in (2, 5):
        done = mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml", most=most))
    assert (done.code, done.json["max_instances"]) == (0, 5)
    assert "~ max_instances: 2 -> 5" in done.err


def test_what_cannot_change_in_place_is_refused_unless_replaced(mlctl: Run, tmp_path: Path) -> None:
    create = ("compute", "create", "-f", tmp_path / "cpu.yml", "--query", "size")
    cluster(tmp_path / "cpu.yml")
    mlctl(*create)
    cluster(tmp_path / "cpu.yml", size="Standard_D8ds_v5")
    refused = mlctl(*create)
    assert (refused.code, refused.out) == (1, "")
    assert "`size` cannot be changed in place" in refused.err
    assert "--replace" in refused.err
    assert mlctl(*create, "--replace").json == "STANDARD_D8DS_V5"


def test_a_document_of_another_kind_names_the_right_command(mlctl: Run, sample: Path) -> None:
    done = mlctl("batch-endpoint", "create", "-f", "sample/deployment.yml")
    assert (done.code, done.out) == (1, "")
    assert "run: mlctl batch-deployment create -f sample/deployment.yml" in done.err


def test_the_name_of_the_flag_wins_over_the_file(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    assert mlctl("compute", "create", "-f", "cpu.yml", "-n", "gpu").json["name"] == "gpu"


def test_a_file_may_come_from_standard_input(mlctl: Run, tmp_path: Path) -> None:
    text = cluster(tmp_path / "cpu.yml").read_text()
    assert mlctl("compute", "create", "-f", "-", given=text).json["name"] == "cpu"


def test_what_the_backend_would_reject_is_not_tried(mlctl: Run, tmp_path: Path) -> None:
    mlctl("local", "quota", "set", "--dedicated-cores", "3")
    done = mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"))
    assert (done.code, done.out) == (1, "")
    assert "error[MLC405]" in done.err


def test_what_the_backend_takes_with_a_warning_is_made(mlctl: Run, tmp_path: Path) -> None:
    done = mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml", most=1000))
    assert done.code == 0
    assert "warning[MLC405]" in done.err


def test_what_the_backend_refuses_is_said_in_its_words(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    refuse = (
        "fail",
        "--operation",
        "put",
        "--status",
        "403",
        "--code",
        "No",
        "--message",
        "not you",
    )
    mlctl("local", "fault", "add", *refuse)
    done = mlctl("compute", "create", "-f", "cpu.yml")
    assert (done.code, "(No) not you" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '[\n  "cpu"\n]\n'),
        ("jsonc", '[\n  "cpu"\n]\n'),
        ("yaml", "- cpu\n"),
        ("yamlc", "- cpu\n"),
        ("tsv", "cpu\n"),
        ("none", ""),
    ],
)
def test_a_query_is_printed_in_every_form_of_az(
    mlctl: Run, tmp_path: Path, form: str, text: str
) -> None:
    mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"))
    assert mlctl("compute", "list", "--query", "[].name", "-o", form).out == text


def test_a_table_has_a_head_and_a_row_for_each(mlctl: Run, tmp_path: Path) -> None:
    mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"))
    done = mlctl("compute", "list", "--query", "[].{Name:name,Most:max_instances}", "-o", "table")
    assert [line.split() for line in done.out.splitlines()][::2] == [["Name", "Most"], ["cpu", "2"]]


def test_a_query_that_cannot_be_read_is_refused_before_anything_is_done(
    mlctl: Run, tmp_path: Path
) -> None:
    done = mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"), "--query", "[")
    assert (done.code, mlctl("compute", "list").json) == (2, [])


def test_a_name_is_listed_once_and_its_versions_where_it_is_named(
    mlctl: Run, tmp_path: Path
) -> None:
    for version in ("1", "2"):
        (tmp_path / "e.yml").write_text(f"{ENVIRONMENT}version: '{version}'\n")
        assert mlctl("environment", "create", "-f", "e.yml").code == 0
    assert mlctl("environment", "list", "--query", "[].latest_version").json == ["2"]
    named = mlctl("environment", "list", "-n", "skl", "--query", "[].version")
    assert named.json == ["2", "1"]
    assert mlctl("environment", "show", "-n", "skl", "--query", "version").json == "2"


def test_deployments_of_an_endpoint_that_is_not_there_are_not_found(mlctl: Run) -> None:
    assert mlctl("batch-deployment", "list", "-e", "nope").code == 3


def test_show_as_yaml_is_yaml(full: Run) -> None:
    shown = full("compute", "show", *NAMES["compute"], "-o", "yaml").out
    assert yaml.safe_load(shown) == full("compute", "show", *NAMES["compute"]).json


SCORED = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: cpu
type: amlcompute
size: Standard_D4ds_v5
max_instances: 2
---
$schema: https://azuremlschemas.azureedge.net/latest/batchEndpoint.schema.json
name: scores-of-files
---
$schema: https://azuremlschemas.azureedge.net/latest/modelBatchDeployment.schema.json
name: first
endpoint_name: scores-of-files
type: model
model: {path: model.txt}
compute: azureml:cpu
environment: {image: "mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu20.04:latest"}
code_configuration: {code: src, scoring_script: score.py}
settings: {mini_batch_size: 10}
"""


@pytest.fixture
def with_new_code(mlctl: Run, tmp_path: Path) -> Run:
    """mlctl where a deployment was applied whose code has changed since."""
    (tmp_path / "src").mkdir()
    (tmp_path / "model.txt").write_text("weights")
    (tmp_path / "all.yml").write_text(SCORED)
    (tmp_path / "deployment.yml").write_text(SCORED.rpartition("---\n")[2])
    script = "def init(): ...\ndef run(mini_batch): return mini_batch\n"
    (tmp_path / "src" / "score.py").write_text(script)
    assert mlctl("apply", "all.yml", "--yes").code == 0
    (tmp_path / "src" / "score.py").write_text(f"{script}# faster\n")
    return mlctl


def test_new_code_of_a_deployment_is_written_over_the_old_as_az_does(with_new_code: Run) -> None:
    code = ("--query", "code_configuration.code")
    before = with_new_code(
        "batch-deployment", "show", "-n", "first", "-e", "scores-of-files", *code
    )
    done = with_new_code("batch-deployment", "create", "-f", "deployment.yml", *code)
    assert (done.code, "will be updated in-place" in done.err) == (0, True), done.err
    assert done.json != before.json
    assert "No changes" in with_new_code("plan", "all.yml").out


def test_new_code_makes_another_deployment_where_that_is_asked_for(with_new_code: Run) -> None:
    assert "1 to change, 0 to destroy" in with_new_code("plan", "all.yml").out
    green = with_new_code("plan", "all.yml", "--replace-strategy", "blue-green")
    assert (
        green.code,
        "batch-deployment/scores-of-files/first-2 will be created" in green.out,
    ) == (
        0,
        True,
    ), green.out + green.err
