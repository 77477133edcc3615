"""One set of files, several environments: variables, overlays, and a command in each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, edit, finish, start

PROJECT = """\
variables:
  nodes: 4
  stage:
  net: {subnet: inner, ports: [22, 443]}
environments:
  dev: {workspace: ml-dev, variables: {stage: dev}}
  prod:
    workspace: ml-prod
    variables: {nodes: 10, stage: prod}
    overlays: [env/prod.yml]
"""
OVERLAY = """\
compute/cpu-prod:
  max_instances: 12  # more
  tags: {owner: null, cost: high}
"""
CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: cpu-${{ var.stage }}
type: amlcompute
size: Standard_D4ds_v5
max_instances: ${{ var.nodes }}
tags:
  owner: ${{env.OWNER}}
  net: ${{ var.net.subnet }} of ${{ var.stage }}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one cluster, in two environments."""
    monkeypatch.setenv("OWNER", "ada")
    (tmp_path / "env").mkdir()
    (tmp_path / "mlctl.yml").write_text(PROJECT)
    (tmp_path / "env" / "prod.yml").write_text(OVERLAY)
    (tmp_path / "cpu.yml").write_text(CLUSTER)
    return tmp_path


@pytest.mark.usefixtures("project")
def test_an_environment_has_its_own_workspace_variables_and_overlays(mlctl: Run) -> None:
    dev, prod = (mlctl("plan", ".", "--env", name, "-o", "json").json for name in ("dev", "prod"))
    assert [one["workspace"]["workspace"] for one in (dev, prod)] == ["ml-dev", "ml-prod"]
    dev, prod = (one["resource_changes"][0]["change"]["after"] for one in (dev, prod))
    assert (dev["name"], dev["max_instances"]) == ("cpu-dev", 4)
    assert dev["tags"] == {"owner": "ada", "net": "inner of dev"}
    assert (prod["name"], prod["max_instances"]) == ("cpu-prod", 12)
    assert prod["tags"] == {"net": "inner of prod", "cost": "high"}


@pytest.mark.usefixtures("project")
def test_what_an_overlay_changes_is_told(mlctl: Run) -> None:
    said = (
        "note: compute/cpu-prod: env/prod.yml:2 sets max_instances 10 -> 12, tags.owner, tags.cost"
    )
    assert said in mlctl("validate", "cpu.yml", "--env", "prod").err
    assert "says" not in mlctl("validate", "cpu.yml", "--env", "dev").err


@pytest.mark.usefixtures("project")
def test_an_environment_of_the_project_is_stronger_than_variables_of_the_shell(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLCTL_WORKSPACE", "elsewhere")
    assert "workspace local/ml-prod" in mlctl("compute", "list", "--env", "prod").err
    assert "workspace local/mine" in mlctl("compute", "list", "--env", "prod", "-w", "mine").err
    monkeypatch.setenv("MLCTL_ENV", "dev")
    assert "workspace local/ml-dev" in mlctl("compute", "list").err


@pytest.mark.usefixtures("project")
def test_a_variable_keeps_the_type_of_its_value_and_the_later_wins(
    mlctl: Run, project: Path
) -> None:
    (project / "more.yml").write_text("nodes: 5\n")
    line = ("render", "cpu.yml", "--env", "dev")
    assert "max_instances: 5\n" in mlctl(*line, "--var-file", "more.yml").out
    assert "max_instances: 6\n" in mlctl(*line, "--var-file", "more.yml", "--var", "nodes=6").out
    wrong = mlctl("validate", "cpu.yml", "--env", "dev", "--var", "nodes=many")
    assert "takes a whole number, not the text `many`\n --> cpu.yml:5:16\n" in wrong.out
    text = mlctl(*line, "--var", 'nodes="6"')
    assert (text.code, "az reads it as `6`" in text.err) == (0, True), text.out + text.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--var stage=x", None),
        ("", "variables only have values in dev, prod, and none is chosen\n --> mlctl.yml:"),
        ("--var stag=x", "mlctl.yml declares no variable `stag`: did you mean `stage`?"),
        ("--var stage", "`stage` is not NAME=VALUE"),
        ("--var-file no.yml", "`no.yml` cannot be read"),
        ("--env prdo", "there is no environment `prdo`; did you mean `prod`?"),
        ("--env x", "mlctl.yml describes dev, prod"),
        ("--var-file nowhere.yml", "ERROR: nowhere.yml cannot be used as it is"),
    ],
)
def test_what_has_no_value_and_what_is_misspelt_is_an_error_at_its_place(
    mlctl: Run, project: Path, line: str, said: str | None
) -> None:
    assert project.is_dir()
    done = mlctl("validate", "cpu.yml", *line.split())
    assert done.code == (0 if said is None else 1)
    assert said is None or said in done.out + done.err


def test_a_variable_of_the_environment_that_is_not_set_is_an_error(
    mlctl: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OWNER")
    done = mlctl("validate", "cpu.yml", "--env", "dev")
    said = "error[MLC122]: the environment variable `OWNER` is not set\n --> cpu.yml:7:10\n"
    assert (done.code, said in done.out) == (1, True)
    edit(project / "cpu.yml", "${{env.OWNER}}", "${{ env }} ${{ var.net.ports }}")
    done = mlctl("validate", "cpu.yml", "--env", "dev")
    assert "`${{env}}` names no variable" in done.out
    edit(project / "cpu.yml", "${{ env }} ", "ports ")
    assert "is a list, which cannot be part of" in mlctl("validate", ".", "--env", "dev").out


def test_a_finding_in_a_value_of_an_overlay_points_at_the_overlay(
    mlctl: Run, project: Path
) -> None:
    edit(project / "env" / "prod.yml", "12", "many")
    done = mlctl("validate", ".", "--env", "prod")
    assert "not the text `many`\n --> env/prod.yml:2:18\n" in done.out
    edit(project / "env" / "prod.yml", "cpu-prod", "cpu-prd")
    done = mlctl("validate", "cpu.yml", "--env", "prod")
    assert "error[MLC123]: no document declares `compute/cpu-prd`" in done.out
    assert "env/prod.yml:1:1\n" in done.out
    assert "did you mean `compute/cpu-prod`?" in done.out
    edit(project / "env" / "prod.yml", "compute/cpu-prd", "compute.cpu")
    done = mlctl("validate", "cpu.yml", "--env", "prod")
    assert "`compute.cpu` is not an address" in done.err
    assert done.err.endswith("ERROR: env/prod.yml cannot be used as it is\n")


def test_an_overlay_of_a_resource_of_another_file_is_no_error_where_one_file_is_planned(
    mlctl: Run, project: Path
) -> None:
    with (project / "env" / "prod.yml").open("a") as file:
        file.write("model/other: {description: x}\n")
    done = mlctl("validate", "cpu.yml", "--env", "prod")
    assert (done.code, "model/other is not in these files" in done.err) == (0, True)
    assert mlctl("validate", ".", "--env", "prod").code == 1


def test_files_of_other_tools_keep_their_expressions(mlctl: Run, project: Path) -> None:
    (project / "workflow.yml").write_text("on: push\njobs: {a: {name: '${{ env.NOT_SET }}'}}\n")
    assert mlctl("validate", ".", "--env", "dev").code == 0


def test_a_secret_of_the_environment_is_no_plain_secret_and_never_shown(
    mlctl: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2-hunter2")
    edit(project / "cpu.yml", "  owner: ${{env.OWNER}}", "  db_password: ${{ env.DB_PASSWORD }}")
    for command in ("validate", "render", "plan"):
        done = mlctl(command, "cpu.yml", "--env", "dev")
        assert done.code == 0
        assert "MLC319" not in done.out + done.err
        assert "hunter2" not in done.out + done.err


def test_a_forgotten_environment_is_one_finding_however_many_files(
    mlctl: Run, project: Path
) -> None:
    text = (project / "cpu.yml").read_text()
    for number in range(20):
        (project / f"c{number}.yml").write_text(text.replace("name: cpu-", f"name: c{number}-"))
    done = mlctl("validate", ".")
    assert done.out.count("error[") == 1, done.out
    assert "  = hint: choose one: --env dev, --env prod\n" in done.out
    assert mlctl("validate", ".", "--env", "dev").code == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PAT", "abcd-efgh"),
        ("DB_PASS", "correct"),
        ("DB_PASSWORD", "12345678"),
        ("HOOK_SECRET", "https://hooks.example/T0/B1"),
        ("OWNER", "some-team"),
        ("PIN", "4711"),
    ],
)
def test_what_the_environment_fills_in_is_masked_unless_the_project_calls_it_plain(
    mlctl: Run, project: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    edit(project / "cpu.yml", "  owner: ${{env.OWNER}}", f"  t: ${{{{ env.{name} }}}}")
    plan = ("plan", "cpu.yml", "--env", "dev")
    commands = [plan, (*plan, "-o", "json"), (*plan, "-o", "markdown")]
    for command in (*commands, ("render", "cpu.yml", "--env", "dev")):
        done = mlctl(*command)
        assert done.code == 0
        assert value not in done.out + done.err
        assert "***" in done.out
    edit(project / "mlctl.yml", "environments:", f"plain_env: [{name}]\nenvironments:")
    assert value in mlctl(*plan).out


@pytest.mark.usefixtures("project")
def test_an_az_style_command_takes_the_file_as_the_environment_has_it(mlctl: Run) -> None:
    done = mlctl("compute", "create", "-f", "cpu.yml", "--env", "prod")
    assert (done.json["name"], done.json["max_instances"]) == ("cpu-prod", 12)
    again = mlctl("plan", ".", "--env", "prod", "--detailed-exitcode")
    assert (again.code, "No changes." in again.out) == (0, True)


@pytest.mark.slow
def test_a_command_runs_in_each_environment_and_ends_with_the_worst_code(
    project: Path,
) -> None:
    def run(*line: str) -> tuple[int, str]:
        done = finish(start(project, *line))
        return done.code, done.out

    code, out = run("plan", ".", "--env", "dev,prod", "--detailed-exitcode")
    assert code == 2
    assert out.index("== dev ==") < out.index("compute/cpu-dev will be created")
    assert out.index("== prod ==") < out.index("compute/cpu-prod will be created")
    assert run("plan", ".", "--env", "all", "--out", "plan-{env}.json")[0] == 0
    assert run("apply", "plan-{env}.json", "--env", "all")[0] == 0
    code, out = run("plan", ".", "--env", "all", "--detailed-exitcode")
    assert (code, out.count("No changes.")) == (0, 2)
    edit(project / "env" / "prod.yml", "12", "0")
    assert run("validate", ".", "--env=all")[0] == 1


@pytest.mark.slow
def test_an_apply_in_several_environments_tells_the_lines_of_each_as_one_document(
    project: Path,
) -> None:
    done = finish(start(project, "apply", ".", "--env", "all", "--yes", "-o", "json"))
    assert (done.code, list(done.json)) == (0, ["dev", "prod"])
    assert [done.json[name][-1]["type"] for name in ("dev", "prod")] == ["change_summary"] * 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("plan . --env all --out plan.json", "write {env} in its name"),
        ("validate . --env all -o sarif", "one environment at a time"),
        ("validate . --env dev,prdo", "did you mean `prod`?"),
    ],
)
@pytest.mark.usefixtures("project")
def test_what_makes_no_sense_in_several_environments_is_refused(
    mlctl: Run, line: str, said: str
) -> None:
    done = mlctl(*line.split())
    assert (done.code, said in done.err) == (1, True)


def test_all_environments_need_some(mlctl: Run) -> None:
    done = mlctl("validate", ".", "--env", "all")
    assert (done.code, "describes no `environments:`" in done.err) == (1, True)


def test_what_is_said_in_several_environments_comes_through_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("environments: {a: {}, b: {}}\n")
    (tmp_path / "cpu.yml").write_text("name: café\ntype: amlcompute\n", encoding="utf-8")
    variables = {"PYTHONIOENCODING": "latin-1"}
    line = ("validate", "cpu.yml", "--env", "all")
    done = finish(start(tmp_path, *line, env=variables, encoding="latin-1"))
    assert (done.code, done.out.count("`café` is no valid name")) == (1, 2)
