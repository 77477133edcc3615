"""Conditions and loops of pipelines run here, and in jobs of the simulated cloud."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.shell import Done, Run

SCHEMAS = "https://azuremlschemas.azureedge.net/latest"
COUNT = """\
test ${{inputs.number}} != bad || exit 3;
echo $(( ${{inputs.number}} - 1 )) > ${{outputs.next}};
$[[cp ${{inputs.folder}}/* ${{outputs.folder}};]]
echo ${{inputs.number}} >> ${{outputs.folder}}/numbers;
if [ ${{inputs.number}} -gt 1 ]; then echo True; else echo False; fi > ${{outputs.more}}
"""
COMPONENT = {
    "$schema": f"{SCHEMAS}/commandComponent.schema.json",
    "name": "count",
    "version": "1",
    "type": "command",
    "inputs": {
        "number": {"type": "string"},
        "folder": {"type": "uri_folder", "optional": True},
    },
    "outputs": {
        "next": {"type": "integer", "is_control": True},
        "more": {"type": "boolean", "is_control": True},
        "folder": {"type": "uri_folder"},
    },
    "command": COUNT,
    "environment": "azureml:env@latest",
}
LOOP = {
    "type": "do_while",
    "body": "${{parent.jobs.count}}",
    "condition": "${{parent.jobs.count.outputs.more}}",
    "mapping": {"next": "number", "folder": "folder"},
    "limits": {"max_iteration_count": 5},
}


def step(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "environment": "azureml:env@latest", "command": command, **more}


def pipeline(folder: Path, number: str, jobs: dict[str, Any], **more: Any) -> None:
    """A pipeline whose step `count` counts down from a number; what other steps it has."""
    count = {"type": "command", "component": "./count.yml", "inputs": {"number": number}}
    document = {
        "$schema": f"{SCHEMAS}/pipelineJob.schema.json",
        "type": "pipeline",
        "settings": {"default_compute": "azureml:cpu"},
        "jobs": {"count": count, **jobs},
        **more,
    }
    (folder / "count.yml").write_text(json.dumps(COMPONENT))
    (folder / "job.yml").write_text(json.dumps(document))


def run(mlctl: Run, *more: str) -> tuple[Done, dict[str, str]]:
    """A run in `kept`, and the statuses of the steps."""
    done = mlctl("job", "run", "job.yml", "--keep", "kept", "--json", *more)
    steps = json.loads(done.out)["steps"] if done.out else []
    return done, {each["name"]: each["status"] for each in steps}


READ = step(
    "cp ${{inputs.folder}}/numbers ${{outputs.out}}/n; echo ${{inputs.n}} >> ${{outputs.out}}/n",
    inputs={
        "folder": "${{parent.jobs.count.outputs.folder}}",
        "n": "${{parent.jobs.count.outputs.next}}",
    },
    outputs={"out": "${{parent.outputs.last}}"},
)


def test_a_loop_runs_while_its_body_says_so_and_others_take_its_last_round(
    mlctl: Run, tmp_path: Path
) -> None:
    pipeline(tmp_path, "3", {"again": LOOP, "read": READ}, outputs={"last": {"type": "uri_folder"}})
    done, statuses = run(mlctl)
    assert done.code == 0, done.err
    assert "a private preview of the service" in done.err
    assert statuses == {
        "count-1": "Completed",
        "count-2": "Completed",
        "count-3": "Completed",
        "count-4": "Bypassed",
        "count-5": "Bypassed",
        "read": "Completed",
    }
    assert (tmp_path / "kept/outputs/last/n").read_text() == "3\n2\n1\n0\n"
    done, _ = run(mlctl)
    assert {each["reused"] for each in json.loads(done.out)["steps"][:3]} == {True}
    _, statuses = run(mlctl, "--only", "read")
    assert (statuses["count-4"], statuses["read"]) == ("Bypassed", "Completed")
    pipeline(tmp_path, "bad", {"again": LOOP, "read": READ}, outputs={"last": {}})
    done, statuses = run(mlctl)
    assert (done.code, {*statuses.values()}) == (1, {"Failed", "NotStarted"})


@pytest.mark.parametrize(("number", "ran"), [("1", "no"), ("2", "yes")])
def test_one_block_of_a_condition_runs_and_what_needs_the_other_does_not(
    mlctl: Run, tmp_path: Path, number: str, ran: str
) -> None:
    after = step("cat ${{inputs.x}}/y", inputs={"x": "${{parent.jobs.yes.outputs.x}}"})
    pipeline(
        tmp_path,
        number,
        {
            "after": after,
            "yes": step("echo y > ${{outputs.x}}/y", outputs={"x": {}}),
            "no": step("true"),
            "which": {
                "type": "if_else",
                "condition": "${{parent.jobs.count.outputs.more}}",
                "true_block": "${{parent.jobs.yes}}",
                "false_block": ["${{parent.jobs.no}}"],
            },
        },
    )
    done, statuses = run(mlctl)
    assert done.code == 0, done.err
    assert statuses["yes"] == statuses["after"]
    expected = {"yes": "Bypassed", "no": "Bypassed", ran: "Completed"}
    assert {name: statuses[name] for name in ("yes", "no")} == expected


def test_what_all_rounds_left_is_a_table_of_files_or_a_list_of_values(
    mlctl: Run, tmp_path: Path
) -> None:
    each = {
        "type": "parallel_for",
        "body": "${{parent.jobs.count}}",
        "items": '[{"number": "7"}, {"number": "9"}]',
        "outputs": {"folder": "${{parent.outputs.all}}"},
    }
    after = step(
        "cp ${{inputs.table}}/MLTable outputs; echo ${{inputs.n}} > outputs/n",
        inputs={
            "table": {"type": "mltable", "path": "${{parent.jobs.each.outputs.folder}}"},
            "n": "${{parent.jobs.each.outputs.next}}",
        },
    )
    pipeline(tmp_path, "1", {"each": each, "after": after}, outputs={"all": {"type": "mltable"}})
    done, statuses = run(mlctl)
    assert done.code == 0, done.err
    assert {*statuses} == {"count-1", "count-2", "after"}
    left = tmp_path / "kept/after/artifacts/outputs"
    assert (left / "n").read_text() == '["6", "8"]\n'
    for table in (left / "MLTable", tmp_path / "kept/outputs/all/MLTable"):
        folders = [Path(path["folder"]) for path in json.loads(table.read_text())["paths"]]
        assert [(folder / "numbers").read_text() for folder in folders] == ["7\n", "9\n"]


def test_a_condition_that_nobody_wrote_or_that_is_no_truth_fails_its_step(
    mlctl: Run, tmp_path: Path
) -> None:
    choice = {
        "type": "if_else",
        "condition": "${{parent.jobs.count.outputs.next}}",
        "true_block": "${{parent.jobs.yes}}",
    }
    pipeline(tmp_path, "1", {"yes": step("true"), "which": choice})
    done, statuses = run(mlctl)
    assert (done.code, statuses["yes"]) == (1, "Failed")
    assert "its condition is `0`, which is neither true nor false" in done.out
    choice["condition"] = "${{parent.jobs.none.outputs.x}}"
    nothing = step("true", outputs={"x": {}})
    pipeline(tmp_path, "1", {"yes": step("true"), "which": choice, "none": nothing})
    assert "`none` has written no value for `x`" in run(mlctl)[0].out


@pytest.mark.parametrize("condition", ["${{parent.jobs.yes.outputs.x}}", "${{parent.jobs.gone}}"])
def test_a_condition_of_nothing_or_of_itself_is_refused_before_anything_runs(
    mlctl: Run, tmp_path: Path, condition: str
) -> None:
    choice = {"type": "if_else", "condition": condition, "true_block": "${{parent.jobs.yes}}"}
    pipeline(tmp_path, "1", {"yes": step("true", outputs={"x": {}}), "which": choice})
    done, _ = run(mlctl)
    assert done.code == 1
    assert not (tmp_path / "kept").exists()


def test_a_job_of_the_simulated_cloud_has_the_rounds_that_ran(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    cluster = "$schema: x/amlCompute.schema.json\nname: cpu\ntype: amlcompute\n"
    (tmp_path / "cpu.yml").write_text(f"{cluster}size: Standard_DS3_v2\n")
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    outputs = {"last": {"type": "uri_folder"}}
    read = READ | {"environment": "azureml:AzureML-sklearn-1.5@latest"}
    pipeline(tmp_path, "3", {"again": LOOP, "read": read}, outputs=outputs)
    component = COMPONENT | {"environment": "azureml:AzureML-sklearn-1.5@latest"}
    (tmp_path / "count.yml").write_text(json.dumps(component))
    refused = mlctl("job", "create", "-f", "job.yml", "-n", "first")
    assert (refused.code, "private preview" in refused.err) == (1, True)
    done = mlctl("job", "create", "-f", "job.yml", "-n", "first", "--run-code")
    assert done.code == 0, done.err
    assert mlctl("job", "stream", "-n", "first").code == 0
    assert mlctl("job", "show", "-n", "first").json["children"]["total"] == 4
    assert mlctl("job", "download", "-n", "first", "--all", "-p", "got").code == 0
    assert (tmp_path / "got/named-outputs/last/n").read_text() == "3\n2\n1\n0\n"
