"""`mlctl validate`, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlctl.cli.files.validate import summary
from mlctl.config.document_kinds import UNKNOWN_KIND
from mlctl.config.rules.clusters import NO_MAX
from mlctl.diagnostics import Diagnostic, Report
from tests.builders.shell import Run, cluster, edit

TYPO = "$schema: amlCompute.schema.json\nname: c-lu\ntype: amlcompute\ntire: low_priority\n"


def test_valid_files_exit_with_0_and_are_counted(mlctl: Run, sample: Path) -> None:
    done = mlctl("validate", "sample", "--ignore", "retiring-size,MLC422")
    assert (done.code, done.out, done.err) == (0, "Success! 4 files are valid.\n", "")


def test_information_is_a_line_with_its_place(mlctl: Run, sample: Path) -> None:
    done = mlctl("validate", "sample", "--ignore", "retiring-size", "--strict")
    told, success, end = done.out.split("\n")
    assert told.startswith(
        "info: sample/low-pri-cluster.yml:8:7: low-priority nodes have been Spot VMs"
    )
    assert (done.code, success, end) == (0, "Success! 4 files are valid.", "")


def test_a_typo_is_underlined_with_the_right_suggestion(mlctl: Run, sample: Path) -> None:
    edit(sample / "low-pri-cluster.yml", "tier:", "tire:")
    done = mlctl("validate", "sample/low-pri-cluster.yml", "--select", "MLC1")
    assert done.code == 1
    assert done.out == (
        "error[MLC101]: unknown field `tire`\n"
        " --> sample/low-pri-cluster.yml:8:1\n"
        "  |\n"
        "8 | tire: low_priority\n"
        "  | ^^^^\n"
        "  = hint: did you mean `tier`?\n"
        "\n"
        "Found 1 error in 1 file.\n"
    )


def test_json_says_where_and_what(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text(TYPO)
    said = mlctl("validate", "c.yml", "-o", "json", "--select", "MLC101").json
    assert (said["format_version"], said["valid"], said["error_count"]) == ("1.0", False, 1)
    (found,) = said["diagnostics"]
    assert (found["code"], found["summary"]) == ("MLC101", "unknown field `tire`")
    assert found["range"] == {
        "filename": "c.yml",
        "start": {"line": 4, "column": 1, "byte": TYPO.index("tire")},
        "end": {"line": 4, "column": 5, "byte": TYPO.index("tire") + 4},
    }
    assert found["snippet"]["code"] == "tire: low_priority"


def test_sarif_is_version_2_1_0(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text(TYPO)
    said = mlctl("validate", "c.yml", "-o", "sarif", "--select", "MLC101").json
    assert (said["version"], said["runs"][0]["results"][0]["ruleId"]) == ("2.1.0", "MLC101")


def test_github_gets_an_annotation(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text(TYPO)
    done = mlctl("validate", "c.yml", "-o", "github", "--select", "MLC101")
    assert done.out == (
        "::error file=c.yml,line=4,endLine=4,col=1,endColumn=5,title=MLC101::"
        "unknown field `tire` (did you mean `tier`?)\n"
    )


def test_azure_pipelines_get_an_issue(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text(TYPO)
    done = mlctl("validate", "c.yml", "-o", "azure-pipelines", "--select", "MLC101")
    assert done.out.startswith("##vso[task.logissue type=error;sourcepath=c.yml;linenumber=4;")


@pytest.mark.parametrize("form", ["human", "json", "sarif", "github", "azure-pipelines"])
def test_the_exit_code_is_that_of_the_verdict_in_every_form(
    mlctl: Run, tmp_path: Path, form: str
) -> None:
    (tmp_path / "bad.yml").write_text(TYPO)
    cluster(tmp_path / "good.yml")
    assert [mlctl("validate", f, "-o", form).code for f in ("bad.yml", "good.yml")] == [1, 0]


def test_warnings_pass_unless_strict(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml", size="STANDARD_DS3_v2")
    assert [mlctl("validate", "cpu.yml", *flag).code for flag in ((), ("--strict",))] == [0, 1]


@pytest.mark.parametrize("flag", ["MLC305", "MLC3", "retiring-size", "MLC2,MLC305"])
def test_a_rule_is_left_out_by_code_prefix_or_name(mlctl: Run, tmp_path: Path, flag: str) -> None:
    cluster(tmp_path / "cpu.yml", size="STANDARD_DS3_v2")
    assert mlctl("validate", "cpu.yml", "--strict", "--ignore", flag).code == 0


def test_only_the_selected_rules_are_checked(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text(TYPO)
    assert mlctl("validate", "c.yml", "--select", "MLC3").code == 0


@pytest.mark.parametrize("flag", ["--ignore", "--select"])
def test_a_rule_that_is_not_there_is_a_usage_error(mlctl: Run, sample: Path, flag: str) -> None:
    done = mlctl("validate", sample, flag, "retiring-sizes")
    assert done.code == 1
    assert "`retiring-sizes` is not a rule: did you mean `retiring-size`?" in done.err


def test_a_waiver_in_the_file_is_honoured(mlctl: Run, tmp_path: Path) -> None:
    file = cluster(tmp_path / "cpu.yml", size="STANDARD_DS3_v2")
    edit(file, "DS3_v2", "DS3_v2 # mlctl:ignore=MLC305")
    assert mlctl("validate", "cpu.yml", "--strict").code == 0


def test_standard_input_is_a_file_named_stdin(mlctl: Run) -> None:
    done = mlctl("validate", "-", given=TYPO)
    assert (done.code, " --> <stdin>:4:1\n" in done.out) == (1, True)


def test_folders_globs_and_several_paths_go_together(mlctl: Run, tmp_path: Path) -> None:
    for name in ("a/one.yml", "a/deep/two.yaml", "b/three.yml", "four.yml"):
        cluster(tmp_path / name)
    done = mlctl("validate", "a", "b/*.yml", "four.yml", "a/one.yml", "--strict")
    assert done.out == "Success! 4 files are valid.\n"


def test_several_documents_of_one_file_are_each_checked(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text(f"{TYPO}---\n{TYPO.replace('c-lu', 'd-lu')}")
    assert mlctl("validate", "c.yml", "--select", "MLC101", "-o", "json").json["error_count"] == 2


def test_an_inferred_kind_is_said(mlctl: Run, tmp_path: Path) -> None:
    file = cluster(tmp_path / "good.yml")
    edit(file, file.read_text().splitlines()[0], "")
    done = mlctl("validate", "good.yml")
    assert done.err == "note: good.yml: read as a compute (it has no `$schema`)\n"


@pytest.mark.parametrize("path", ["nothing.yml", "nothing", "*.nothing", "."])
def test_a_path_without_files_is_an_error(mlctl: Run, path: str) -> None:
    done = mlctl("validate", path)
    assert (done.code, "error[MLC011]" in done.out) == (1, True)


def test_machines_get_valid_json_of_anything(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.yml").write_bytes(b"name: \x00\xff\x1b[31m\n")
    done = mlctl("validate", "odd.yml", "nothing.yml", "-o", "json")
    assert json.loads(done.out)["valid"] is False
    assert done.out.isascii()


def test_what_is_no_resource_is_noted_and_not_counted(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    (tmp_path / "conda.yml").write_text("dependencies: [python]\n")
    (tmp_path / "mlctl.yml").write_text("workspace: w\n")
    done = mlctl("validate", ".")
    assert (done.code, done.out) == (0, "Success! 1 file is valid.\n")
    assert [line.partition(",")[0] for line in done.err.splitlines()] == [
        "note: conda.yml: left out"
    ]


def test_another_tools_files_in_a_folder_are_nobodys_faults(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    (tmp_path / "workflow.yml").write_text("name: ci\non: [push]\njobs: {}\n")
    (tmp_path / "playbook.yml").write_text("- hosts: all\n")
    (tmp_path / "stack.yml").write_text("Resources:\n  a: !Ref b\n")
    done = mlctl("validate", ".")
    assert (done.code, done.out) == (0, "Success! 1 file is valid.\n")
    assert all(name in done.err for name in ("playbook.yml", "stack.yml", "workflow.yml"))
    assert mlctl("validate", "playbook.yml", "workflow.yml").code == 1


def test_a_file_that_cannot_be_read_is_an_error_wherever_it_lies(
    mlctl: Run, tmp_path: Path
) -> None:
    cluster(tmp_path / "cpu.yml")
    (tmp_path / "chart.yml").write_text("{{- if .x }}\na: 1\n{{- end }}\n")
    assert "error[MLC001]" in mlctl("validate", ".").out


def test_a_misspelt_schema_leaves_no_cluster_out(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    text = (tmp_path / "cpu.yml").read_text()
    (tmp_path / "cpu.yml").write_text(text.replace("amlCompute.", "amlCompte."))
    done = mlctl("validate", ".")
    assert (done.code, done.out) == (0, "Success! 1 file is valid.\n")
    assert "cpu.yml: read as a compute (its `$schema` is not one of Azure ML's)" in done.err


def test_the_default_of_an_input_of_a_component_is_a_field_of_it(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "pipeline.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/pipelineComponent.schema.json\n"
        "type: pipeline\nname: scoring\ninputs:\n  mode: {type: string, default: append}\n"
        "jobs:\n  one:\n    type: command\n    component: azureml:score@latest\n"
        "    inputs: {mode: '${{parent.inputs.mode}}'}\n"
    )
    done = mlctl("validate", ".")
    assert (done.code, done.out) == (0, "Success! 1 file is valid.\n")


def test_a_field_that_settings_do_not_have_is_told_by_their_key(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json\n"
        "type: pipeline\nsettings: {default_compute: serverless, is_deterministic: false}\n"
        "jobs: {train: {component: 'azureml:train:1'}}\n"
    )
    said = mlctl("validate", "pipeline.yml").out
    assert "warning[MLC358]: `settings` has no field `is_deterministic`" in said


@pytest.mark.parametrize(
    ("errors", "warnings", "files", "expected"),
    [
        (2, 1, 3, "Found 2 errors and 1 warning in 3 files."),
        (1, 0, 1, "Found 1 error in 1 file."),
        (0, 0, 3, "Success! 3 files are valid."),
        (0, 0, 1, "Success! 1 file is valid."),
        (0, 2, 1, "Success! 1 file is valid, with 2 warnings."),
    ],
)
def test_the_summary_counts(errors: int, warnings: int, files: int, expected: str) -> None:
    report = Report()
    report.extend(Diagnostic(UNKNOWN_KIND, str(number), None) for number in range(errors))
    report.extend(Diagnostic(NO_MAX, str(number), None) for number in range(warnings))
    assert summary(report, files) == expected + "\n"
