"""Conda and component files: what is wrong with their text is found where it stands."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds.address import Scope

SCOPE = Scope("00000000-0000-0000-0000-000000000000", "group", "workspace")
ENVIRONMENT = """\
$schema: https://azuremlschemas.azureedge.net/latest/environment.schema.json
name: scoring
version: 1
image: mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04:latest
conda_file: conda.yml
"""
DEPLOYMENT = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineComponentBatchDeployment.schema.json
name: nightly
endpoint_name: scoring-batch
type: pipeline
component: ./a.yml
"""
GOOD = "name: scoring\ndependencies:\n  - python=3.11\n"


def found(folder: Path, text: str, *, planning: bool = False) -> list[str]:
    """`CODE file:line:column` of each finding about `main.yml` and what it names."""
    (folder / "main.yml").write_text(text)
    report = Report()
    loader = Loader(report, date(2026, 11, 20), scope=SCOPE, planning=planning)
    loader.load([str(folder / "main.yml")])
    places = []
    for one in report:
        assert one.primary is not None
        span = one.primary.span
        at = f"{Path(span.source.name).name}:{span.line + 1}:{span.column + 1}"
        places.append(f"{one.rule.code} {at}")
    return places


@pytest.mark.parametrize("planning", [False, True])
@pytest.mark.parametrize(
    ("conda", "finding"),
    [
        (f"{GOOD}---\nchannels: [conda-forge]\n", "MLC205 conda.yml:5:1"),
        (f"{GOOD}name: again\n", "MLC002 conda.yml:4:1"),
        ("name: !secret x\n", "MLC007 conda.yml:1:7"),
        ("dependencies: [\n", "MLC001 conda.yml:1:15"),
        ("name: a\x1bb\n", "MLC001 conda.yml:1:8"),
        ("- a list\n", "MLC010 conda.yml:1:1"),
        ("", "MLC009 conda.yml:1:1"),
    ],
)
def test_what_is_wrong_with_a_conda_file_is_found_in_it(
    tmp_path: Path, conda: str, finding: str, planning: bool
) -> None:
    (tmp_path / "conda.yml").write_text(conda)
    assert found(tmp_path, ENVIRONMENT, planning=planning) == [finding]


def test_a_secret_in_a_named_file_is_found_in_it(tmp_path: Path) -> None:
    index = "--extra-index-url https://me:pa55w0rd@example.com/simple"
    pip = f"  - pip:\n      - {index}\n"
    (tmp_path / "conda.yml").write_text(GOOD + pip + "variables:\n  MY_TOKEN: abcdef012345\n")
    assert found(tmp_path, ENVIRONMENT) == ["MLC319 conda.yml:5:9", "MLC319 conda.yml:7:3"]
    step = "jobs:\n  one:\n    environment_variables: {MY_TOKEN: abcdef012345}\n"
    step += "    component: azureml:c:1\n"
    (tmp_path / "a.yml").write_text(f"type: pipeline\n{step}")
    assert found(tmp_path, DEPLOYMENT) == ["MLC319 a.yml:4:29"]


def test_a_secret_in_a_named_file_can_be_waived(tmp_path: Path) -> None:
    token = "variables:\n  MY_TOKEN: abcdef012345 # mlctl:ignore=MLC319\n"
    (tmp_path / "conda.yml").write_text(GOOD + token)
    assert found(tmp_path, ENVIRONMENT) == []


def test_a_conda_file_that_is_right_is_not_spoken_of(tmp_path: Path) -> None:
    (tmp_path / "conda.yml").write_text(GOOD)
    assert found(tmp_path, ENVIRONMENT) == []


def test_an_environment_of_a_scoring_script_is_read_from_its_conda_file(tmp_path: Path) -> None:
    scoring = (
        "$schema: https://azuremlschemas.azureedge.net/latest/batchDeployment.schema.json\n"
        "name: blue\nendpoint_name: heart\nmodel: azureml:m:1\ncompute: azureml:c\n"
        "environment: azureml:scoring:1\n"
        "code_configuration: {code: azureml:code:1, scoring_script: score.py}\n"
    )
    conda = tmp_path / "conda.yml"
    conda.write_text(GOOD)
    assert sorted(found(tmp_path, f"{ENVIRONMENT}---\n{scoring}")) == ["MLC332 main.yml:5:1"]
    conda.write_text(f"{GOOD}variables: {{MY_TOKEN: abcdef012345}}\n")  # told once
    assert sorted(found(tmp_path, f"{ENVIRONMENT}---\n{scoring}")) == [
        "MLC319 conda.yml:4:13",
        "MLC332 main.yml:5:1",
    ]
    conda.write_text(f"{GOOD}  - pip:\n      - azureml-core==1.57\n")
    assert found(tmp_path, f"{ENVIRONMENT}---\n{scoring}") == []


def test_components_that_components_name_are_read_too(tmp_path: Path) -> None:
    step = "type: pipeline\njobs:\n  next:\n    component: ./{}.yml\n"
    (tmp_path / "a.yml").write_text(step.format("b"))
    (tmp_path / "b.yml").write_text("command: run\ncommand: again\nenvironment: azureml:e:1\n")
    assert found(tmp_path, DEPLOYMENT) == ["MLC002 b.yml:2:1"]
    (tmp_path / "b.yml").write_text("command: run\nenvironment: azureml:e:1\ncod: ./src\n")
    assert found(tmp_path, DEPLOYMENT) == ["MLC358 b.yml:3:1"]


def test_a_date_without_quotes_is_no_text_where_az_takes_text(tmp_path: Path) -> None:
    (tmp_path / "conda.yml").write_text(GOOD)
    dated = ENVIRONMENT.replace("version: 1", "version: 2026-01-02")
    assert found(tmp_path, dated) == ["MLC103 main.yml:3:10"]
    assert found(tmp_path, dated.replace("2026-01-02", '"2026-01-02"')) == []
    assert found(tmp_path, f"{ENVIRONMENT}tags: {{made: 2026-01-02}}\n") == []


def test_a_flow_that_a_step_names_is_not_read_as_a_component(tmp_path: Path) -> None:
    flow = "https://azuremlschemas.azureedge.net/promptflow/latest/Flow.schema.json"
    (tmp_path / "flow.dag.yaml").write_text(f"$schema: {flow}\ninputs: {{url: {{type: string}}}}\n")
    step = "{type: parallel, component: ./flow.dag.yaml, inputs: {data: 1, connections.a.b: c}}"
    job = f"type: pipeline\ncompute: azureml:cpu\njobs: {{flow: {step}}}\n"
    assert found(tmp_path, job) == []


def test_components_in_a_circle_end_and_are_named(tmp_path: Path) -> None:
    step = "type: pipeline\njobs:\n  next:\n    component: ./{}.yml\n"
    (tmp_path / "a.yml").write_text(step.format("b"))
    (tmp_path / "b.yml").write_text(step.format("a"))
    assert found(tmp_path, DEPLOYMENT) == []
    assert found(tmp_path, DEPLOYMENT, planning=True) == ["MLC401 b.yml:4:16"]


def test_components_that_name_each_other_many_times_are_read_once_each(tmp_path: Path) -> None:
    for level in range(30):
        steps = "".join(f"  s{n}:\n    component: ./{level + 1}.yml\n" for n in range(10))
        (tmp_path / f"{level or 'a'}.yml").write_text(f"type: pipeline\njobs:\n{steps}")
    (tmp_path / "30.yml").write_text("command: run\nenvironment: azureml:e:1\n")
    assert found(tmp_path, DEPLOYMENT, planning=True) == []


def test_a_file_that_is_read_by_itself_and_for_another_one_says_each_finding_once(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/commandComponent.schema.json\n"
        "name: fit\nversion: 01\ntype: command\ncommand: echo\nenvironment: azureml:scoring:1\n"
    )
    (tmp_path / "main.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json\n"
        "type: pipeline\njobs:\n  fit: {component: ./a.yml, compute: azureml:cpu}\n"
    )
    report = Report()
    Loader(report, date(2026, 11, 20), scope=SCOPE).load([str(tmp_path)])
    assert [finding.rule.code for finding in report] == ["MLC005"]
