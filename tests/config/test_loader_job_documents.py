"""A job's document: checked like any other, and passed over where resources are planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.config.loader import LoadedConfig, Loader
from mlctl.diagnostics import Report
from mlctl.kinds import DOCUMENTS, KINDS
from mlctl.kinds.records.job import KIND as JOB
from mlctl.kinds.registry import infer
from mlctl.kinds.values import complete, encode, stored_values
from tests.builders.findings import TODAY, check, codes
from tests.builders.workspace import SCOPE

NAMELESS = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: echo ${{inputs.greeting}}
environment: azureml:torch@latest
compute: azureml:gpu-cluster
inputs:
  greeting: hello
"""
CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: gpu-cluster
type: amlcompute
size: Standard_D4s_v3
max_instances: 2
"""


def loaded(*paths: Path, planning: bool = True, kind: Any = None) -> LoadedConfig:
    """What reading the files finds."""
    return Loader(Report(), TODAY, kind, planning=planning).load([str(path) for path in paths])


def named(loaded: LoadedConfig) -> list[str]:
    return [str(address) for address in loaded.graph.resources]


def put_into(folder: Path, **texts: str) -> list[Path]:
    """Files `NAME.yml` of a folder."""
    paths = [folder / f"{name}.yml" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def body_of(**data: Any) -> dict[str, Any]:
    """The properties of the ARM body that a job's fields make."""
    form = JOB.forms[-1]
    body = encode(complete(form.written(data), form), form, SCOPE)
    properties: dict[str, Any] = body["properties"]
    return properties


def back(body: dict[str, Any]) -> dict[str, Any]:
    """The fields of a job that a body gives."""
    values = stored_values({"properties": body}, JOB.forms[0], SCOPE)
    return {str(at[0]): value for at, value in values.items() if len(at) == 1}


def test_a_job_is_no_kind_of_resource() -> None:
    assert set(DOCUMENTS) - set(KINDS) == {JOB.name}


def test_a_job_of_a_folder_is_left_out_of_a_plan_with_a_note(tmp_path: Path) -> None:
    _, job = put_into(tmp_path, cluster=CLUSTER, job=NAMELESS)
    found = loaded(tmp_path)
    assert (named(found), len(found.report)) == (["compute/gpu-cluster"], 0)
    assert found.notes == (f"{job}: left out, it is a job; run `mlctl job create -f {job}`",)


def test_a_job_that_is_named_to_be_planned_is_an_error_with_the_command(tmp_path: Path) -> None:
    (job,) = put_into(tmp_path, job=NAMELESS)
    (error,) = loaded(job).report
    assert (error.rule.code, error.hint) == ("MLC121", f"run: mlctl job create -f {job}")


def test_a_job_is_validated_with_the_resources_beside_it(tmp_path: Path) -> None:
    cluster, job = put_into(
        tmp_path, cluster=CLUSTER, job=NAMELESS + "resources: {instance_count: 3}\n"
    )
    found = loaded(cluster, job, planning=False)
    assert codes(found.report) == ["MLC343"]


def test_a_job_is_what_its_own_command_takes(tmp_path: Path) -> None:
    (job,) = put_into(tmp_path, job=NAMELESS)
    found = loaded(job, kind=JOB)
    assert (len(found.report), found.notes) == (0, ())


def test_the_command_of_another_kind_names_that_of_jobs(tmp_path: Path) -> None:
    (job,) = put_into(tmp_path, job=NAMELESS)
    (error,) = loaded(job, kind=KINDS["compute"]).report
    assert error.hint == f"run: mlctl job create -f {job}"


def test_jobs_without_a_name_go_by_their_places(tmp_path: Path) -> None:
    (jobs,) = put_into(tmp_path, jobs=f"{NAMELESS}---\n{NAMELESS}")
    found = loaded(jobs, planning=False)
    assert (named(found), len(found.report)) == ([f"job/{jobs}", f"job/{jobs}#2"], 0)


def test_two_jobs_of_one_name_are_an_error() -> None:
    job = NAMELESS + "name: train-1\n"
    assert codes(check(job, job)) == ["MLC201"]


def test_a_name_without_a_value_is_no_missing_name() -> None:
    assert codes(check(NAMELESS + "name:\n")) == ["MLC108"]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"command": "x", "compute": "c"}, "job"),
        ({"command": "x", "queue_settings": {}}, "job"),
        ({"command": "x", "type": "command", "environment": "azureml:e:1"}, None),  # a component?
        ({"type": "pipeline", "jobs": {}}, "job"),
        ({"type": "pipeline", "jobs": {}, "name": "p"}, None),  # a component?
        ({"vm_count": 2, "swagger_url": "https://h/swagger.json"}, "batch-pool"),
    ],
)
def test_a_kind_is_inferred_only_where_it_is_certain(
    fields: dict[str, Any], kind: str | None
) -> None:
    found = infer(fields)
    assert (found.name if found else None) == kind


def test_a_local_input_that_does_not_exist_is_found() -> None:
    data = "  data: {type: uri_folder, path: ./data}\n  url: {path: 'https://host/x'}\n"
    report = check(NAMELESS + data, exists=lambda path: path.name != "data")
    assert [(found.rule.code, found.message) for found in report] == [
        ("MLC203", "inputs.data.path: `data` does not exist")
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("inputs: {a: null}", "MLC108"),
        ("inputs: {a: [1]}", "MLC103"),
        ("inputs: {a: {path: x, mode: rw_mount}}", "MLC104"),
        ("inputs: {a: {mode: download}}", "MLC102"),
        ("outputs: {a: 3}", "MLC103"),
        ("outputs: {a: {mode: download}}", "MLC104"),
        ("resources: {instance_count: 0}", "MLC105"),
        ("queue_settings: {job_tier: low_priority}", "MLC104"),
        ("limits: {timeout: 1h}", "MLC103"),
        ("name: a b", "MLC106"),
        ("tier: low_priority", "MLC101"),
    ],
)
def test_a_job_is_held_to_its_schema(line: str, code: str) -> None:
    job = "$schema: commandJob.schema.json\ncommand: echo\nenvironment: azureml:e:1\n"
    assert codes(check(f"{job}{line}\n")) == [code]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("resources: {instance_type: Standard_NC6}", "MLC304"),
        ("resources: {instance_type: Standard_DS3_v2}", "MLC305"),
        ("resources: {instance_type: Standard_Banana}", "MLC306"),
        ("resources: {instance_type: Standard_B2s}\nqueue_settings: {job_tier: Spot}", "MLC318"),
    ],
)
def test_the_size_of_a_serverless_job_is_looked_up(lines: str, code: str) -> None:
    job = NAMELESS.replace("compute: azureml:gpu-cluster\n", "")
    assert code in codes(check(f"{job}{lines}\n"))
    kubernetes = NAMELESS + "resources: {instance_type: a size of our own}\n"
    assert codes(check(kubernetes)) == []


def test_inputs_and_outputs_are_spelt_as_the_sdk_spells_them() -> None:
    made = body_of(
        inputs={
            "data": {"type": "uri_folder", "path": "azureml:heart:1", "mode": "RO_mount"},
            "rate": 0.1,
            "again": True,
            "written_out": {"value": 42},
        },
        outputs={"model": {"type": "mlflow_model", "mode": "rw_mount"}, "plain": None},
    )
    assert made["inputs"] == {
        "data": {
            "jobInputType": "uri_folder",
            "uri": f"{SCOPE.id}/data/heart/versions/1",
            "mode": "ReadOnlyMount",
        },
        "rate": {"jobInputType": "literal", "value": "0.1"},
        "again": {"jobInputType": "literal", "value": "True"},
        "written_out": {"jobInputType": "literal", "value": "42"},
    }
    assert made["outputs"] == {
        "model": {"jobOutputType": "mlflow_model", "mode": "ReadWriteMount"},
        "plain": {"jobOutputType": "uri_folder"},
    }


def test_a_body_says_what_the_sdk_would_send() -> None:
    made = body_of(
        command="python train.py",
        compute="azureml:gpu",
        environment="azureml:torch:1",
        limits={"timeout": 3600},
        queue_settings={"job_tier": "Spot", "priority": "medium"},
        resources={"instance_count": 2},
    )
    assert made == {
        "jobType": "Command",
        "command": "python train.py",
        "computeId": f"{SCOPE.id}/computes/gpu",
        "environmentId": f"{SCOPE.id}/environments/torch/versions/1",
        "limits": {"jobLimitsType": "Command", "timeout": "PT1H"},
        "queueSettings": {"jobTier": "Spot", "priority": 2},
        "resources": {"instanceCount": 2, "shmSize": "2g"},
    }


PATHS = st.sampled_from(["azureml:d:1", "azureml:d:1:2", "./x", "azureml://a/b", "https://h/x"])
SORTS = st.sampled_from(["uri_file", "uri_folder", "mltable", "custom_model"])
DATA = st.fixed_dictionaries(
    {"type": SORTS, "path": PATHS},
    optional={"mode": st.sampled_from(["ro_mount", "download", "direct", "eval_mount"])},
)
OUTPUTS = st.fixed_dictionaries(
    {"type": SORTS},
    optional={
        "path": PATHS,
        "mode": st.sampled_from(["rw_mount", "upload", "direct"]),
        "name": st.just("model"),
        "version": st.just("3"),
    },
)


@given(
    st.dictionaries(st.text(max_size=3), DATA | st.text(max_size=4), max_size=3),
    st.dictionaries(st.text(max_size=3), OUTPUTS, max_size=3),
)
def test_inputs_and_outputs_come_back_as_they_went(
    inputs: dict[str, Any], outputs: dict[str, Any]
) -> None:
    assert back(body_of(inputs=inputs, outputs=outputs)) | {"type": "command"} == {
        "type": "command",
        "inputs": inputs,
        "outputs": outputs,
    }
