"""Components: the files of other people, the bodies that the SDK sends, and steps of every sort."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mlctl import source
from mlctl.backends.ports.backend import Backend
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS
from mlctl.kinds.registry import ALL, infer
from mlctl.kinds.values import complete, decode, encode, fingerprint
from mlctl.pointer import Data
from tests.builders.azure import azure, emulated
from tests.builders.findings import TODAY
from tests.builders.paths import SHARED
from tests.builders.plans import actions, applied, planned
from tests.builders.resources import declared
from tests.builders.workspace import SCOPE, cloud

COMPONENT = KINDS["component"]
JOB = ALL["job"]
CORPUS = SHARED / "corpus-kinds"
ENVIRONMENT = "azureml://registries/azureml/environments/sklearn-1.5/versions/1"
TRAIN = {"name": "train", "version": "1", "command": "python a.py", "environment": ENVIRONMENT}


def files(verdict: str) -> list[str]:
    index = CORPUS / "INDEX.tsv"
    if not index.is_file():
        return []
    rows = [line.split("\t") for line in index.read_text(encoding="utf-8").splitlines()[1:]]
    return [file for file, kind, _, _, told, *_ in rows if (kind, told) == ("component", verdict)]


def codes(file: Path) -> set[str]:
    """The errors of a file."""
    report = Report()
    loaded = Loader(report, TODAY).load([str(file)])
    assert {one.kind for one in loaded.resources} == {COMPONENT}
    return {one.rule.code for one in report if one.is_error}


@pytest.mark.parametrize("file", files("accept"))
def test_a_real_file_that_the_sdk_takes_is_valid(file: str) -> None:
    assert codes(CORPUS / file) == set()


@pytest.mark.parametrize("file", files("reject"))
def test_a_real_file_that_the_sdk_refuses_is_refused(file: str) -> None:
    assert codes(CORPUS / file) == {"MLC106"}  # capitals or dashes in the name


@pytest.mark.parametrize("name", ["Train", "train-model", "train.model", "1st", "_train", "tr ain"])
def test_a_name_has_small_letters_digits_and_underscores(tmp_path: Path, name: str) -> None:
    text = f"name: '{name}'\ncommand: run\nenvironment: {ENVIRONMENT}\n$schema: commandComponent\n"
    (tmp_path / "a.yml").write_text(text)
    assert codes(tmp_path / "a.yml") == {"MLC106"}


def spec(**said: Data) -> Data:
    found = declared("component", {**TRAIN, **said})
    body = encode(complete(found.values, found.form), found.form, SCOPE)
    return body["properties"]["componentSpec"]


# What azure-ai-ml 1.35.2 sends of each.
@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ({"type": "integer", "default": 10}, {"type": "integer", "default": "10"}),
        ({"type": "number", "default": 1}, {"type": "number", "default": "1.0"}),
        ({"type": "number", "default": 0.00001}, {"type": "number", "default": "1e-05"}),
        ({"type": "number", "min": 0, "max": "1"}, {"type": "number", "min": "0.0", "max": "1.0"}),
        ({"type": "boolean", "default": True}, {"type": "boolean", "default": "True"}),
        ({"type": "boolean", "default": "false"}, {"type": "boolean", "default": "False"}),
        ({"type": "string", "default": 3}, {"type": "string", "default": "3.0"}),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "uri_folder", "optional": "true"}, {"type": "uri_folder", "optional": True}),
    ],
)
def test_an_input_is_spelt_as_the_sdk_spells_it(said: Data, sent: Data) -> None:
    assert spec(inputs={"x": said})["inputs"] == {"x": sent}


def test_what_the_service_makes_of_a_component_is_no_change() -> None:
    backend = cloud()
    said = declared(
        "component",
        {
            **TRAIN,
            "is_deterministic": False,
            "inputs": {
                "data": {"type": "uri_folder", "mode": "ro_mount", "optional": False},
                "rate": {"type": "number", "default": 0.1, "min": 0, "max": 1},
                "n": {"type": "integer", "optional": True},
            },
            "outputs": {"model": {"type": "mlflow_model"}},
            "resources": {"instance_count": 2, "shm_size": "4g"},
            "distribution": {"type": "PyTorch", "process_count_per_instance": 2},
        },
    )
    applied(backend, said)
    (live,) = backend.list("component")
    kept = live.body["properties"]["componentSpec"]
    assert kept["is_deterministic"] == "False"
    limits = {"default": "0.1", "min": "0.0", "max": "1.0"}
    assert kept["inputs"]["rate"] == {"type": "number", **limits}
    assert kept["resources"] == {"instance_count": "2", "shm_size": "4g"}
    assert actions(planned(backend, said).plan) == {}


def test_a_version_keeps_its_content_and_takes_new_words() -> None:
    backend = cloud()
    applied(backend, declared("component", TRAIN))
    described = declared("component", {**TRAIN, "description": "all", "tags": {"by": "me"}})
    assert actions(planned(backend, described).plan) == {"component/train:1": "update"}
    applied(backend, described)
    (live,) = backend.list("component")
    assert live.body["properties"]["componentSpec"]["description"] == "all"
    other = planned(backend, declared("component", {**TRAIN, "command": "python b.py"})).plan
    assert [one.rule.code for one in other.rejections] == ["MLC403"]
    without = {key: held for key, held in TRAIN.items() if key != "version"}
    newer = declared("component", {**without, "command": "python b.py"})
    assert actions(planned(backend, newer).plan) == {"component/train:2": "create"}


def test_a_command_is_a_component_where_nothing_of_a_job_is_said() -> None:
    inputs = {"data": {"type": "uri_folder"}}
    assert infer({**TRAIN, "inputs": inputs}) is COMPONENT
    assert infer({**TRAIN, "inputs": {"data": {"type": "uri_folder", "path": "./a"}}}) is None
    assert infer({**TRAIN, "compute": "azureml:cpu"}) is not COMPONENT


STEP = "name: step\ncommand: python a.py\ncode: ./src\nenvironment: {name: mine, image: python}\n"
PIPELINE = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineComponent.schema.json
name: two_steps
type: pipeline
inputs:
  data: {type: uri_folder}
jobs:
  file: {type: command, component: ./step.yml}
  inline:
    type: command
    command: python a.py ${{inputs.data}} ${{inputs.n}}
    code: ./src
    environment: {image: python}
    inputs: {data: "${{parent.inputs.data}}", n: 3}
    outputs: {out: }
"""


def pipeline(folder: Path) -> Path:
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("print()\n")
    (folder / "step.yml").write_text(STEP)
    (folder / "pipeline.yml").write_text(PIPELINE)
    return folder / "pipeline.yml"


def loaded(file: Path) -> list[Data]:
    report = Report()
    found = Loader(report, TODAY, scope=SCOPE, planning=True).load([str(file)])
    assert [one.message for one in report if one.is_error] == []
    return list(found.graph.resources.values())


@pytest.mark.parametrize("make", [cloud, lambda: azure(emulated()).backend], ids=["local", "azure"])
def test_steps_become_components_of_their_own(make: Callable[[], Backend], tmp_path: Path) -> None:
    file, backend = pipeline(tmp_path), make()
    applied(backend, *loaded(file))
    made = {live.address.name: live.body for live in backend.list("component")}
    assert set(made) == {"two_steps", "azureml_anonymous"}
    assert len(backend.list("component")) == 3
    assert len(backend.list("environment")) == 1  # the name of an inline one does not count
    nodes = made["two_steps"]["properties"]["componentSpec"]["jobs"]
    said = {"command", "code", "environment"}
    assert [set(node) & said for node in nodes.values()] == [set(), set()]
    assert actions(planned(backend, *loaded(file)).plan) == {}


def test_a_step_that_says_what_it_runs_has_the_inputs_of_its_values(tmp_path: Path) -> None:
    (inline,) = [one for one in loaded(pipeline(tmp_path)) if one.root == ("jobs", "inline")]
    assert inline.values["inputs",] == {
        "data": {"type": "uri_folder"},
        "n": {"type": "integer", "default": 3},
    }
    assert inline.values["outputs",] == {"out": {"type": "uri_folder"}}


def test_a_changed_step_is_a_change_of_the_version(tmp_path: Path) -> None:
    file, backend = pipeline(tmp_path), cloud()
    file.write_text(PIPELINE.replace("two_steps\n", "two_steps\nversion: 1\n"))
    applied(backend, *loaded(file))
    (tmp_path / "src" / "a.py").write_text("print(1)\n")
    assert {one.rule.code for one in planned(backend, *loaded(file)).plan.rejections} == {"MLC403"}
    file.write_text(file.read_text().replace("  inline:", "  other:"))
    assert {one.rule.code for one in planned(backend, *loaded(file)).plan.rejections} == {"MLC403"}


def test_a_component_that_another_file_names_belongs_to_it(tmp_path: Path) -> None:
    pipeline(tmp_path)
    report = Report()
    both = Loader(report, TODAY).load([str(tmp_path)])
    assert [str(one.address) for one in both.resources] == ["component/two_steps"]
    alone = Loader(report, TODAY).load([str(tmp_path / "step.yml"), str(tmp_path / "pipeline.yml")])
    assert len(alone.resources) == 2


def test_the_definition_of_a_component_is_text_of_its_own() -> None:
    (document,) = source.load("a.yml", json.dumps(TRAIN).encode(), Report())
    assert COMPONENT.form_of(document.data).name == "command"
    assert COMPONENT.form_of({**TRAIN, "type": "Spark"}).name == "spark"


@pytest.mark.parametrize("value", [1, "a", [1], {"a": 1}, {"a": {"inputs": 1, "outputs": [2]}}])
def test_what_the_service_may_say_of_a_component_is_read_whatever_it_is(value: Data) -> None:
    body = {"type": "pipeline", "jobs": value, "inputs": value, "outputs": value}
    found = {"properties": {"componentSpec": body}}
    form = COMPONENT.form_of({"type": "pipeline"})
    assert decode(found, form, SCOPE)["jobs",] is not None
    assert fingerprint(found, COMPONENT, SCOPE)


def test_a_program_without_a_schema_is_a_component_by_its_type_unless_it_names_a_compute() -> None:
    spark = {"type": "spark", "name": "count", "entry": {"file": "main.py"}}
    assert infer(spark) is COMPONENT
    assert infer({**spark, "compute": "azureml:pool"}) is JOB
    assert infer({"type": "parallel", "name": "score", "task": {}}) is COMPONENT
    pipeline = {"type": "pipeline", "name": "whole", "version": 1, "jobs": {}}
    assert infer(pipeline) is COMPONENT
    assert infer({**pipeline, "compute": "azureml:cpu"}) is JOB
