"""Every command that reads files reads them as the environment has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders.shell import Run, edit

PROJECT = """\
variables: {nodes: 1, stage: dev}
environments:
  prod:
    workspace: ml-prod
    variables: {nodes: 4, stage: prod}
    overlays: [prod.yml]
"""
OVERLAY = "batch-deployment/heart-prod/classifier-xgboost: {settings: {mini_batch_size: 7}}\n"
WORK = ("--files", "40", "--seconds-per-file", "5", "--runs", "10")


@pytest.fixture
def infra(sample: Path) -> Path:
    """The sample, of which names and numbers are variables, in an environment `prod`."""
    (sample / "mlctl.yml").write_text(PROJECT)
    (sample / "prod.yml").write_text(OVERLAY)
    for file in sample.glob("*.yml"):
        text = file.read_text().replace("heart-classifier-batch", "heart-${{ var.stage }}")
        text = re.sub("(max_instances|instance_count): 2", r"\1: ${{ var.nodes }}", text)
        file.write_text(text.replace("low-pri-cluster", "cpu-${{ var.stage }}"))
    return sample


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("validate", "sample"), "settings.mini_batch_size 2 -> 7"),
        (("render", "sample"), "mini_batch_size: 7"),
        (("graph", "sample"), "cpu-prod"),
        (("plan", "sample"), "compute/cpu-prod will be created"),
        (("apply", "sample", "--yes"), "max_instances:               4"),
        (("drift", "sample"), "compute/cpu-prod"),
        (("pull", "sample"), "batch-deployment/heart-prod/classifier-xgboost"),
        (("simulate", "sample", *WORK, "-o", "json"), '"mini_batch_size": 7'),
        (("advise", "sample", *WORK), "mini-batches of 7"),
        pytest.param(
            ("rehearse", "sample", "--input", "in", "--stub", "--kills", "0", "-o", "json"),
            '"mini_batch_size": 7',
            marks=pytest.mark.slow,
        ),
        (("compute", "create", "-f", "sample/low-pri-cluster.yml"), '"name": "cpu-prod"'),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_reads_files_as_the_environment_has_them(
    mlctl: Run, infra: Path, command: tuple[str, ...], said: str
) -> None:
    (infra.parent / "in").mkdir()
    for number in range(8):
        (infra.parent / "in" / f"{number}.csv").write_text("1\n")
    done = mlctl(*command, "--env", "prod")
    assert said in done.out + done.err


def test_an_invocation_has_the_variables_of_its_environment(mlctl: Run, infra: Path) -> None:
    assert mlctl("apply", "sample", "--yes", "--env", "prod").code == 0
    (infra / "job").write_text(
        "mini_batch_size: ${{ var.nodes }}\ninputs: {x: {type: uri_folder, path: sample/model}}\n"
    )
    invoke = ("batch-endpoint", "invoke", "-n", "heart-prod", "-f", "sample/job")
    assert '"mini_batch_size": 4' in mlctl(*invoke, "--env", "prod").out
    edit(infra / "job", "var.nodes", "var.node")
    assert "the variable `node` has no value" in mlctl(*invoke, "--env", "prod").err


def test_advice_does_not_overwrite_variables(mlctl: Run, infra: Path) -> None:
    before = (infra / "low-pri-cluster.yml").read_text()
    done = mlctl("advise", "sample", *WORK, "--patch", "--env", "prod")
    assert "max_instances is left: the file uses a variable there" in done.err
    assert (infra / "low-pri-cluster.yml").read_text() == before


def test_a_saved_plan_finds_its_secrets_in_the_environment_and_under_variables(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mlctl.yml").write_text("variables: {stage: a}\n")
    (tmp_path / "cpu.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json\n"
        "name: cpu-${{ var.stage }}\ntype: amlcompute\nsize: Standard_D4ds_v5\n"
        "ssh_settings: {admin_username: me, admin_password: '${{ env.PW_CPU }}'}\n"
    )
    monkeypatch.setenv("PW_CPU", "pa55-Word!of-the-cluster")
    assert mlctl("plan", ".", "--out", "plan.json").code == 0
    assert "pa55" not in (tmp_path / "plan.json").read_text()
    monkeypatch.delenv("PW_CPU")
    without = mlctl("apply", "plan.json")
    assert (without.code, "the environment variable `PW_CPU` is not set" in without.err) == (
        1,
        True,
    )
    monkeypatch.setenv("PW_CPU", "pa55-Word!of-the-cluster")
    assert mlctl("apply", "plan.json").code == 0
