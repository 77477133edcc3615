"""Folders as people have them: what is left out is told briefly, once a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl import schema, source
from mlctl.diagnostics import Report
from mlctl.kinds.registry import others as others_by_name
from tests.builders.shell import Run, cluster

SCHEMAS = "$schema: https://azuremlschemas.azureedge.net/latest"


def unknown(path: Path, kind: str, more: str = "") -> None:
    """A document of a kind that mlctl does not have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{SCHEMAS}/{kind}.schema.json\nname: x\n{more}")


def test_one_note_tells_all_kinds_that_are_unknown(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    for name in ("a", "b"):
        unknown(tmp_path / f"{name}.yml", "zzzData")
    unknown(tmp_path / "c.yml", "yyyData")
    unknown(tmp_path / "d.yml", "ZzzData")
    done = mlctl("validate", ".")
    assert (done.code, done.out) == (0, "Success! 1 file is valid.\n")
    assert done.err == (
        "note: 4 files left out because mlctl does not know their kinds:"
        " `zzzData` (3), `yyyData` (1)\n"
    )


def test_a_file_of_policies_in_a_folder_is_left_out_without_a_word(
    mlctl: Run, tmp_path: Path
) -> None:
    cluster(tmp_path / "cpu.yml")
    (tmp_path / "policies.yml").write_text("policies: []\n")
    done = mlctl("validate", ".")
    assert (done.code, done.out, done.err) == (0, "Success! 1 file is valid.\n", "")


def test_one_note_tells_what_fits_no_kind_and_the_first_names(mlctl: Run, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.yml").write_text("a: b\n")
        (tmp_path / f"list{number}.yml").write_text("- a\n")
    assert mlctl("validate", ".").err.splitlines() == [
        "note: 5 files left out because they are not mappings:"
        " list0.yml, list1.yml, list2.yml and 2 more",
        "note: 5 files left out because they have no `$schema` and match no kind:"
        " 0.yml, 1.yml, 2.yml and 2 more",
    ]


def test_one_file_is_told_with_its_reason(mlctl: Run, tmp_path: Path) -> None:
    unknown(tmp_path / "a.yml", "zzzData")
    assert mlctl("validate", ".").err == (
        "note: a.yml: left out, mlctl does not know the kind `zzzData`\n"
    )


@pytest.mark.parametrize("inside", ["env/conda.yml", "env/deeper/conda.yaml"])
def test_what_a_document_names_belongs_to_it(mlctl: Run, tmp_path: Path, inside: str) -> None:
    (tmp_path / inside).parent.mkdir(parents=True)
    (tmp_path / inside).write_text("dependencies: [python]\n")
    (tmp_path / "environment.yml").write_text(
        f"{SCHEMAS}/environment.schema.json\nname: e\nimage: ubuntu\nconda_file: ./{inside}\n"
    )
    done = mlctl("validate", ".")
    assert (done.code, done.err) == (0, "")


def test_what_lies_in_a_folder_that_a_document_names_belongs_to_it(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "model" / "mlflow").mkdir(parents=True)
    (tmp_path / "model" / "mlflow" / "conda.yaml").write_text("dependencies: [python]\n")
    (tmp_path / "m.yml").write_text(f"{SCHEMAS}/model.schema.json\nname: m\npath: model\n")
    assert mlctl("validate", ".").err == ""
    (tmp_path / "models.yml").write_text("a: b\n")
    assert mlctl("validate", ".").err.startswith("note: models.yml: left out")


def test_what_an_unknown_kind_names_belongs_to_it(mlctl: Run, tmp_path: Path) -> None:
    unknown(tmp_path / "schedule.yml", "zzzData", "create_job: ./job/pipeline.yml\n")
    unknown(tmp_path / "job" / "pipeline.yml", "connection")
    assert mlctl("validate", ".").err == (
        "note: schedule.yml: left out, mlctl does not know the kind `zzzData`\n"
    )


def test_a_file_of_an_unknown_kind_is_told_though_a_job_takes_its_folder_as_code(
    mlctl: Run, tmp_path: Path
) -> None:
    jobs = tmp_path / "core" / "jobs"
    unknown(jobs / "schedules" / "drift.yml", "zzzData")
    (tmp_path / "core" / "conda.yml").write_text("dependencies: [python]\n")
    (jobs / "job.yml").write_text(
        f"{SCHEMAS}/commandJob.schema.json\ncode: ../\ncommand: ls\nenvironment: azureml:e:1\n"
    )
    assert mlctl("validate", ".").err == (
        "note: core/jobs/schedules/drift.yml: left out, mlctl does not know the kind `zzzData`\n"
    )


def test_strict_makes_kinds_that_are_unknown_errors(mlctl: Run, tmp_path: Path) -> None:
    unknown(tmp_path / "a.yml", "zzzData")
    (tmp_path / "conda.yml").write_text("dependencies: [python]\n")
    done = mlctl("validate", ".", "--strict")
    assert done.code == 1
    assert "error[MLC120]" in done.out
    assert "conda.yml: left out" in done.err


def test_a_file_of_another_tool_takes_no_component_away(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "asset.yaml").write_text("type: component\nspec: spec.yaml\n")
    (tmp_path / "spec.yaml").write_text(
        f"{SCHEMAS}/commandComponent.schema.json\nname: prepare\nversion: 1\ntype: command\n"
        "command: echo\nenvironment: azureml:e:1\n"
    )
    assert mlctl("graph", ".").out.startswith("prepare:1 (component)\n")


def test_what_others_make_is_one_line_a_kind_and_an_error_where_it_is_named(
    mlctl: Run, tmp_path: Path
) -> None:
    cluster(tmp_path / "cpu.yml")
    for name in ("a", "b"):
        unknown(tmp_path / f"{name}.yml", "workspaceConnection", "type: git\ntarget: https://x\n")
    unknown(tmp_path / "c.yml", "workspace", "locaton: westeurope\n")
    for command in ("validate", "plan"):
        done = mlctl(command, ".", "--strict")
        connections, workspace = (line for line in done.err.splitlines() if "left to" in line)
        assert done.code == 0, done.out
        assert connections == (
            "note: a.yml, b.yml: left to others, `workspaceConnection`:"
            " create it with `az ml connection create`"
        )
        assert "`workspace`, which does not fit its schema (unknown field `locaton`)" in workspace
    named = mlctl("validate", "c.yml")
    assert (named.code, "did you mean `location`?" in named.out) == (1, True)
    assert mlctl("validate", "a.yml").code == 0
    planned = mlctl("plan", "a.yml")
    assert planned.code == 1
    assert "mlctl does not plan `workspaceConnection`" in planned.out + planned.err


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("name: s\ntype: synapsespark\nresource_id: /subscriptions/x\n", "synapsespark"),
        ("name: w\nlocation: x\nkind: hub\nstorage_account: y\n", "workspace"),
        ("name: r\nlocation: x\nreplication_locations: [{location: x}]\n", "registry"),
        ("name: c\ntype: git\ntarget: https://x\n", "connection"),
        ("type: kubernetes\nname: blue\nendpoint_name: e\n", "kubernetesonlinedeployment"),
        ("type: import\nsource: {type: s3}\noutput: {type: mltable}\n", "importjob"),
    ],
)
def test_what_others_make_is_known_by_its_fields(
    mlctl: Run, tmp_path: Path, text: str, kind: str
) -> None:
    (tmp_path / "a.yml").write_text(text)
    done = mlctl("validate", "a.yml")
    assert (done.code, f"left to others, `{kind}`" in done.err) == (0, True), done.out + done.err


def test_a_type_of_kubernetes_makes_a_managed_document_one_of_others(
    mlctl: Run, tmp_path: Path
) -> None:
    deployment = "name: blue\nendpoint_name: e\ntype: kubernetes\nresources: {limits: {cpu: '1'}}\n"
    unknown(
        tmp_path / "a.yml", "managedOnlineDeployment", f"{deployment}model: {{path: nowhere}}\n"
    )
    done = mlctl("validate", "a.yml")
    assert (done.code, "`kubernetesOnlineDeployment`" in done.err) == (0, True)
    assert "warning[MLC203]: model.path:" in done.out
    assert mlctl("validate", "a.yml", "--strict").code == 1


@pytest.mark.parametrize(
    "text", ["type: sweep\ntrial: {command: a}\n", "type: automl\ntask: regression\n"]
)
def test_a_job_without_a_schema_is_known_by_its_type(mlctl: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yml").write_text(text)
    assert "a.yml: read as a job" in mlctl("validate", "a.yml").err


@pytest.mark.parametrize("others", sorted({name for name, _ in others_by_name().values()}))
def test_what_others_make_has_a_schema_that_refuses_another_document(others: str) -> None:
    rules = schema.load(f"others/{others}")
    (document,) = source.load("x.yml", b"a: b\n", Report())
    assert [one.rule.code for one in schema.check(document, rules)]


def test_the_schema_of_monitors_is_one_of_schedules(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    unknown(tmp_path / "monitor.yml", "monitorSchedule", "create_monitor: {}\n")
    assert "`trigger` is missing" in mlctl("validate", ".").out
