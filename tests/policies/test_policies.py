"""Policies of a project: on files, on changes, on costs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run, cluster, edit

HEAD = "policies:\n"
TWO = """\
  - name: two-nodes
    rule: compute.tier != 'low_priority' || compute.max_instances >= `2`
    message: one low-priority node is no cluster
    hint: take two
"""
LOW = "tier: low_priority\n"


def project(folder: Path, *policies: str, more: str = "") -> None:
    """A project with these policies."""
    (folder / "mlctl.yml").write_text(f"policies: [own.yml]\n{more}")
    (folder / "own.yml").write_text(HEAD + "".join(policies))


def low_priority(folder: Path, most: int) -> Path:
    """A low-priority cluster."""
    file = cluster(folder / "cpu.yml", most=most)
    file.write_text(file.read_text() + LOW)
    return file


def test_a_file_that_breaks_a_policy_is_underlined_where_it_does(
    mlctl: Run, tmp_path: Path
) -> None:
    project(tmp_path, TWO)
    low_priority(tmp_path, 1)
    done = mlctl("validate", "cpu.yml")
    said = "error[two-nodes]: one low-priority node is no cluster\n --> cpu.yml:5:16\n"
    assert (done.code, said in done.out, "hint: take two" in done.out) == (1, True, True)
    for line in ("plan cpu.yml", "apply cpu.yml --yes", "compute create -f cpu.yml"):
        assert (mlctl(*line.split()).code, mlctl(*line.split()).err.count("two-nodes")) == (1, 1)
    assert mlctl("validate", "cpu.yml", "--ignore", "two-nodes").code == 0
    low_priority(tmp_path, 2)
    assert mlctl("validate", "cpu.yml").code == 0


def test_a_policy_speaks_the_spelling_of_show_whatever_the_file_spells(
    mlctl: Run, tmp_path: Path
) -> None:
    project(tmp_path, TWO)
    edit(low_priority(tmp_path, 1), "low_priority", "Low_Priority")
    assert "two-nodes" in mlctl("validate", "cpu.yml").out


def test_a_policy_that_warns_stops_nothing_but_strict(mlctl: Run, tmp_path: Path) -> None:
    project(tmp_path, TWO + "    severity: warning\n")
    low_priority(tmp_path, 1)
    assert mlctl("validate", "cpu.yml").code == 0
    assert mlctl("validate", "cpu.yml", "--strict").code == 1


def test_a_waiver_counts_until_its_day_and_is_told_of_afterwards(
    mlctl: Run, tmp_path: Path
) -> None:
    low_priority(tmp_path, 1)
    waiver = "    waive: [{{address: compute/c*, until: {}}}]\n"
    project(tmp_path, TWO + waiver.format("9999-12-31"))
    assert mlctl("validate", "cpu.yml").code == 0
    project(tmp_path, TWO + waiver.format("2001-02-03"))
    done = mlctl("validate", "cpu.yml")
    assert done.code == 1
    assert "warning[MLC702]: the waiver of `two-nodes` for `compute/c*` ended" in done.out
    assert "own.yml:6:42" in done.out
    project(tmp_path, TWO + waiver.format("2001-02-30"))
    assert "`2001-02-30` is not a date" in mlctl("validate", "cpu.yml").err


def test_a_schema_is_checked_against_the_documents_of_its_kind(mlctl: Run, tmp_path: Path) -> None:
    schema = "{properties: {tags: {required: [cost-center]}}, required: [tags]}"
    project(
        tmp_path, f"  - {{name: who-pays, kind: compute, schema: {schema}, message: who pays}}\n"
    )
    cluster(tmp_path / "cpu.yml")
    done = mlctl("validate", "cpu.yml")
    assert "error[who-pays]: who pays: 'tags' is a required property" in done.out
    with (tmp_path / "cpu.yml").open("a") as file:
        file.write("tags: {a: b}\n")
    assert "cpu.yml:6:7" in mlctl("validate", "cpu.yml").out
    edit(tmp_path / "cpu.yml", "{a: b}", "{cost-center: x}")
    assert mlctl("validate", "cpu.yml").code == 0


def test_a_deployment_is_held_against_the_cluster_that_it_names(
    mlctl: Run, tmp_path: Path, sample: Path
) -> None:
    rule = "batch_deployment.resources.instance_count <= compute.max_instances"
    project(tmp_path, f"  - {{name: fits, rule: {rule}}}\n")
    assert mlctl("validate", str(sample)).code == 0
    file = next(one for one in sample.glob("*.yml") if "max_instances" in one.read_text())
    text = file.read_text().splitlines()
    file.write_text("\n".join("max_instances: 1" if "max_inst" in one else one for one in text))
    done = mlctl("validate", str(sample), "--select", "fits")
    assert f"error[fits]: this must be true: {rule}" in done.out


def test_a_policy_on_changes_refuses_them_in_one_environment_alone(
    mlctl: Run, tmp_path: Path
) -> None:
    rule = "env != 'prod' || change.action != 'replace'"
    more = "environments: {dev: {workspace: d}, prod: {workspace: p}}\n"
    policy = f'{{name: keep, rule: "{rule}", message: nothing is replaced}}'
    project(tmp_path, f"  - {policy}\n", more=more)
    edit(cluster(tmp_path / "cpu.yml"), "name: cpu", "name: cpu-${{ var.stage }}")
    for name in ("dev", "prod"):
        line = ("apply", "cpu.yml", "--yes", "--env", name, "--var", f"stage={name}")
        assert mlctl(*line).code == 0
    edit(tmp_path / "cpu.yml", "Standard_D4ds_v5", "Standard_D8ds_v5")
    assert mlctl("plan", "cpu.yml", "--env", "dev", "--var", "stage=dev").code == 0
    done = mlctl("plan", "cpu.yml", "--env", "prod", "--var", "stage=prod")
    assert "error[keep]: compute/cpu-prod: nothing is replaced" in done.out + done.err
    assert "cpu.yml:4:7" in done.out + done.err
    assert done.code == 5
    refused = mlctl("apply", "cpu.yml", "--yes", "--env", "prod", "--var", "stage=prod")
    assert refused.code == 5
    assert (
        mlctl("compute", "show", "-n", "cpu-prod", "--env", "prod").json["size"].endswith("D4DS_V5")
    )


def test_a_policy_on_costs_refuses_a_plan(mlctl: Run, tmp_path: Path) -> None:
    project(tmp_path, "  - {name: ceiling, rule: plan.monthly_ceiling <= `200`}\n")
    cluster(tmp_path / "cpu.yml", most=1)
    assert mlctl("plan", "cpu.yml").code == 0
    cluster(tmp_path / "cpu.yml", most=2)
    done = mlctl("plan", "cpu.yml")
    assert done.code == 5
    assert "error[ceiling]: this must be true: plan.monthly_ceiling <= `200`" in done.out + done.err
    assert mlctl("plan", "cpu.yml", "--ignore", "ceiling").code == 0
    assert mlctl("apply", "cpu.yml", "--yes").code == 5


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            "{name: a, rule: compute.teir == `1`}",
            "`teir` is not a field of compute\n --> own.yml:2:21\n",
        ),
        ("{name: a, rule: compute.teir == `1`}", "did you mean `tier`?"),
        ("{name: a, rule: computer.tier == `1`}", "did you mean `compute`?"),
        ("{name: a, rule: change.actoin == `1`}", "did you mean `action`?"),
        ("{name: a, rule: plan.cost < `1`}", "`cost` is not a part of `plan`"),
        ("{name: a, rule: '`1` < `2`'}", "does not name any resource"),
        ("{name: a, rule: compute.tier === 1}", "means nothing in a rule\n --> own.yml:2:36\n"),
        ('{name: a, rule: compute.tier == "x"}', "put texts in single quotes"),
        ("{name: a, rule: compute.size != null}", "put null between backticks"),
        ("{name: a, kind: computer, schema: {}}", "did you mean `compute`?"),
        ("{name: a, kind: compute, schema: {type: 3}}", "this schema cannot be used"),
        ("{name: a}", "error[MLC1"),
        ("{name: A, rule: compute.size}", "error[MLC1"),
        ("{name: a, rule: compute.size, severty: error}", "did you mean `severity`?"),
    ],
)
def test_a_broken_policy_is_an_error_at_its_column(
    mlctl: Run, tmp_path: Path, policy: str, said: str
) -> None:
    project(tmp_path, f"  - {policy}\n")
    cluster(tmp_path / "cpu.yml")
    done = mlctl("validate", "cpu.yml")
    assert (done.code, said in done.err) == (1, True)
    assert done.err.endswith("ERROR: own.yml cannot be used as it is\n")


def test_a_project_ignores_its_own_policies_by_name_in_one_environment(
    mlctl: Run, tmp_path: Path
) -> None:
    more = "environments: {dev: {ignore: [two-nodes]}, prod: {ignore: [two-nods]}}\n"
    project(tmp_path, TWO, more=more)
    low_priority(tmp_path, 1)
    done = mlctl("validate", "cpu.yml")
    assert "`two-nods` is not a rule\n --> mlctl.yml:2:60\n" in done.err
    edit(tmp_path / "mlctl.yml", "two-nods", "MLC308")
    assert mlctl("validate", "cpu.yml", "--env", "dev").code == 0
    assert "two-nodes" in mlctl("validate", "cpu.yml", "--env", "prod").out


def test_two_policies_of_one_name_are_an_error(mlctl: Run, tmp_path: Path) -> None:
    project(tmp_path, TWO, TWO)
    cluster(tmp_path / "cpu.yml")
    assert "two policies have the name `two-nodes`" in mlctl("validate", "cpu.yml").err


def test_the_ten_sample_policies_are_read_and_find_something(mlctl: Run, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "policies", tmp_path, dirs_exist_ok=True)
    shutil.copytree(SAMPLES / "clusters", tmp_path / "clusters")
    found = {one["code"] for one in mlctl("validate", "clusters", "-o", "json").json["diagnostics"]}
    assert {"clusters-say-who-pays", "approved-sizes", "no-ssh-from-outside"} <= found
    low_priority(tmp_path, 1)
    assert "low-priority-needs-two-nodes" in mlctl("validate", "cpu.yml").out
    assert (SAMPLES / "policies" / "policies.yml").read_text().count("- name:") == 10


@pytest.mark.parametrize(
    "policy",
    [
        "rule: starts_with(environment.image, 'mcr.microsoft.com/')",
        "kind: environment\n    schema: {properties: {image: {pattern: '^mcr'}}}",
        "rule: batch_deployment.type != 'model' || starts_with(environment.image, 'mcr')",
    ],
)
def test_what_is_written_inline_is_held_against_policies(
    policy: str, mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "mlctl.yml").write_text("policies: [own.yml]\n")
    (tmp_path / "own.yml").write_text(f"policies:\n  - name: own\n    {policy}\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "s.py").write_text("")
    (tmp_path / "d.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/batchDeployment.schema.json\n"
        "endpoint_name: endpoint\nname: deployment\ntype: model\nmodel: azureml:model@latest\n"
        "compute: azureml:cluster\ncode_configuration: {code: src, scoring_script: s.py}\n"
        "environment:\n  image: docker.io/stranger/image\n"
    )
    done = mlctl("validate", "d.yml")
    assert (done.code, "error[own]" in done.out) == (1, True)
    edit(tmp_path / "d.yml", "docker.io/stranger", "mcr.microsoft.com")
    assert mlctl("validate", "d.yml").code == 0


@pytest.mark.parametrize("step", ["{IMAGE}", "component: {type: command, command: ls, {IMAGE}}"])
def test_what_is_written_inline_in_a_step_is_held_against_policies(
    step: str, mlctl: Run, tmp_path: Path
) -> None:
    own = "  - {name: own, rule: \"starts_with(environment.image, 'mcr')\"}\n"
    project(tmp_path, own)
    step = step.replace("{IMAGE}", "environment: {image: docker.io/stranger/image}")
    (tmp_path / "p.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/pipelineComponent.schema.json\n"
        "name: p\nversion: '1'\ntype: pipeline\njobs:\n"
        f"  one:\n    type: command\n    command: ls\n    {step}\n"
    )
    assert " --> p.yml:9:" in mlctl("validate", "p.yml").out.partition("error[own]")[2]


def test_a_rule_of_two_kinds_is_asked_of_every_environment_of_a_pipeline(
    mlctl: Run, tmp_path: Path
) -> None:
    rule = "component.type != 'pipeline' || starts_with(environment.image, 'mcr')"
    project(tmp_path, f'  - {{name: own, rule: "{rule}"}}\n')
    steps = "".join(
        f"  {name}:\n    type: command\n    command: ls\n    environment: {{image: {image}/a}}\n"
        for name, image in (("first", "mcr.microsoft.com"), ("second", "docker.io"))
    )
    (tmp_path / "p.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/pipelineComponent.schema.json\n"
        f"name: p\nversion: '1'\ntype: pipeline\njobs:\n{steps}"
    )
    done = mlctl("validate", "p.yml")
    assert (done.code, "error[own]" in done.out) == (1, True)
    edit(tmp_path / "p.yml", "docker.io", "mcr.microsoft.com")
    assert mlctl("validate", "p.yml").code == 0


def test_a_component_in_a_file_that_a_document_names_is_held_against_policies(
    mlctl: Run, tmp_path: Path
) -> None:
    own = "  - {name: own, rule: \"starts_with(environment.image, 'mcr')\"}\n"
    waived = own.replace("}", ", waive: [{address: 'gone/*', until: 2020-01-01, reason: x}]}")
    project(tmp_path, waived)
    schema = "$schema: https://azuremlschemas.azureedge.net/latest"
    (tmp_path / "step.yml").write_text(
        f"{schema}/commandComponent.schema.json\ntype: command\nname: step\ncommand: ls\n"
        "environment:\n  image: docker.io/stranger/image\n"
    )
    (tmp_path / "p.yml").write_text(
        f"{schema}/pipelineComponent.schema.json\nname: p\nversion: '1'\ntype: pipeline\n"
        "jobs: {one: {type: command, component: ./step.yml}}\n"
    )
    done = mlctl("validate", "p.yml")
    assert " --> step.yml:6:10" in done.out.partition("error[own]")[2]
    assert done.out.count("MLC702") == 1
