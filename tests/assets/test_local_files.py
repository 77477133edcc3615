"""Local files and inline assets: what they become, and when they stay what they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.assets.local_files import resolve_local_files
from mlctl.diagnostics import Report
from mlctl.kinds.resource import Resource, is_local
from mlctl.pointer import Data
from tests.builders.resources import declared, deployment
from tests.builders.workspace import SCOPE

CONDA = {
    "name": "e",
    "channels": ["conda-forge"],
    "dependencies": ["python=3.11", {"pip": ["a>=1"]}],
}
SCORE = {"code": "./src", "scoring_script": "score.py"}
PIPE = "type: pipeline\njobs: {one: {"


def local(*resources: Resource) -> list[Resource]:
    """The resources without local files; everything must be readable."""
    report = Report()
    found = resolve_local_files(resources, SCOPE, report)
    assert [each.message for each in report] == []
    return found


def asset(**values: Data) -> Resource:
    """What a deployment's inline value becomes."""
    found, _ = local(deployment(**values))
    return found


def in_folder(folder: Path, **values: Data) -> Resource:
    data = {
        "name": "blue",
        "endpoint_name": "heart-batch",
        "compute": "cpu",
        "model": "azureml:m:1",
    }
    return declared("batch-deployment", {**data, **values}, str(folder / "deployment.yml"))


def code(folder: Path, text: str = "print()") -> Path:
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "score.py").write_text(text)
    return folder


@pytest.mark.parametrize("text", ["./a", "a/b.yml", "file:./a", "a", "C:\\models"])
def test_a_path_is_local(text: str) -> None:
    assert is_local(text)


@pytest.mark.parametrize("text", ["azureml:m:1", "azureml://x/y", "https://x/y", "a\nb", 1, None])
def test_references_uris_and_texts_are_not_local(text: Data) -> None:
    assert not is_local(text)


# Versions computed by azure-ai-ml 1.35.2: Environment(..., is_anonymous=True).version
def test_an_inline_environment_has_the_version_that_the_sdk_gives_it() -> None:
    found = asset(environment={"image": "ubuntu:22.04"})
    version = "8572c0d1256327d102a551a9efb331be20eb33dbb64beae87d71128fc5d457ff"
    assert str(found.address) == f"environment/CliV2AnonymousEnvironment:{version}"


def test_an_inline_environment_with_conda_has_the_version_that_the_sdk_gives_it() -> None:
    conda = {**CONDA, "dependencies": ["python=3.11", {"pip": ["mlflow==2.0", "a>=1"]}]}
    found = asset(environment={"image": "ubuntu:22.04", "conda_file": conda})
    assert found.address.version == (
        "d0c3e6769fa18d9cf3cbb376157a35e5f2c47f7c53a02c7285dcbf09b5c43650"
    )


def test_an_inline_build_context_has_the_version_that_the_sdk_gives_it(tmp_path: Path) -> None:
    folder = tmp_path / "ctx"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM ubuntu\n")
    plain = in_folder(tmp_path, environment={"build": {"path": "ctx"}})
    named = in_folder(tmp_path, environment={"build": {"path": "ctx", "dockerfile_path": "other"}})
    versions = [local(one)[0].address.version for one in (plain, named)]
    assert versions == [
        "77e35226bbdf283aa306f6a1aedf35e5e4147586dc9a8e368bbedfa6f5bbaab1",
        "b60eb2a08d7e8840c5f5f8d16d588b3315cb2a73dca8d78c8387d665de1b0319",
    ]


def test_a_conda_file_and_the_same_inline_are_one_environment(tmp_path: Path) -> None:
    (tmp_path / "conda.yml").write_text(
        "dependencies: [python=3.11, {pip: ['a>=1']}]\nname: e\nchannels: [conda-forge]\n"
    )
    in_file, _ = local(
        in_folder(tmp_path, environment={"image": "ubuntu", "conda_file": "conda.yml"})
    )
    assert in_file.address == asset(environment={"image": "ubuntu", "conda_file": CONDA}).address


def test_an_inline_asset_is_owned_and_the_reference_to_it_is_pinned() -> None:
    found, owner = local(deployment(environment={"image": "ubuntu"}))
    assert (found.owner, found.root) == (owner.address, ("environment",))
    assert found.anonymous
    pinned = f"azureml:{found.address.name}:{found.address.version}"
    assert owner.values["environment",] == pinned


def test_an_inline_asset_with_a_name_and_a_version_keeps_them() -> None:
    named = {"name": "torch", "version": 3, "image": "ubuntu"}
    assert str(asset(environment=named).address) == "environment/torch:3"


def test_a_model_inline_is_named_by_its_content_and_not_by_what_is_said_of_it() -> None:
    path = {"path": "azureml://jobs/j/outputs/model/"}
    plain, said, other = (
        asset(model={**path, **more}).address
        for more in (
            {},
            {"description": "d", "tags": {"a": 1}, "type": "CUSTOM_MODEL"},
            {"type": "mlflow_model"},
        )
    )
    assert plain == said
    assert plain != other


def test_code_is_named_by_its_content(tmp_path: Path) -> None:
    one, other, changed = (
        local(in_folder(code(tmp_path / name, text), code_configuration=SCORE))[0]
        for name, text in (("a", "1"), ("b", "1"), ("c", "2"))
    )
    assert one.address == other.address
    assert one.address != changed.address
    assert one.address.kind == "code"


def test_registered_code_stays_a_reference() -> None:
    (only,) = local(deployment(code_configuration={**SCORE, "code": "azureml:c0de:1"}))
    assert only.values["code_configuration", "code"] == "azureml:c0de:1"


def test_the_content_of_a_pipelines_steps_counts(tmp_path: Path) -> None:
    code(tmp_path)
    (tmp_path / "inner.yml").write_text("command: run\nenvironment: azureml:e:1\ncode: ./src\n")
    (tmp_path / "pipe.yml").write_text(f"{PIPE}component: ./inner.yml}}}}\n")
    pipeline = in_folder(tmp_path, type="pipeline", component="./pipe.yml")
    before = [one.address for one in local(pipeline)]
    code(tmp_path, "changed")
    after = [one.address for one in local(pipeline)]
    assert [one.kind for one in before] == ["code", "component", "component", "batch-deployment"]
    assert all(one != other for one, other in zip(before[:3], after[:3], strict=True))


@pytest.mark.parametrize("text", ["jobs: 1\n", "jobs: [1]\n", "jobs: {a: 1}\n"])
def test_steps_that_are_none_are_left_to_the_schema(tmp_path: Path, text: str) -> None:
    (tmp_path / "pipe.yml").write_text(f"type: pipeline\n{text}")
    assert len(local(in_folder(tmp_path, type="pipeline", component="./pipe.yml"))) == 2


@pytest.mark.parametrize("text", ["1\n", ""])
def test_a_file_that_holds_no_component_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "pipe.yml").write_text(text)
    pipeline = in_folder(tmp_path, type="pipeline", component="./pipe.yml")
    assert "it is not a component" in unreadable(pipeline)


def unreadable(resource: Resource, code: str = "MLC401") -> str:
    report = Report()
    resolve_local_files([resource], SCOPE, report)
    (only,) = report
    assert only.rule.code == code
    return only.message


def test_a_job_that_has_run_becomes_a_component(tmp_path: Path) -> None:
    one, owner = local(in_folder(tmp_path, type="pipeline", job_definition="azureml:a-job"))
    other, _ = local(in_folder(tmp_path, type="pipeline", job_definition="azureml:b-job"))
    assert (one.kind.name, one.values["source_job_id",]) == ("component", "a-job")
    assert owner.values["component",] == f"azureml:azureml_anonymous:{one.address.version}"
    assert other.address != one.address


def test_a_job_that_is_only_written_down_is_no_component(tmp_path: Path) -> None:
    job: Data = {"type": "pipeline", "jobs": {}}
    pipeline = in_folder(tmp_path, type="pipeline", job_definition=job)
    assert "no `component`" in unreadable(pipeline, "MLC410")


def test_a_job_beside_a_component_is_left_alone(tmp_path: Path) -> None:
    uri = "azureml://registries/r/components/c/versions/1"
    local(in_folder(tmp_path, type="pipeline", job_definition="azureml:a-job", component=uri))


def test_a_missing_path_is_told_where_it_is_named(tmp_path: Path) -> None:
    assert "No such file" in unreadable(in_folder(tmp_path, code_configuration=SCORE))


def test_a_component_of_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / "pipe.yml").write_text(f"{PIPE}component: ./pipe.yml}}}}\n")
    pipeline = in_folder(tmp_path, type="pipeline", component="./pipe.yml")
    assert "the component contains itself" in unreadable(pipeline)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "conda.yml").write_bytes(b"\xff\xfe\xfa")
    environment = {"image": "ubuntu", "conda_file": "conda.yml"}
    assert "UTF-8" in unreadable(in_folder(tmp_path, environment=environment))


# The name that azure-ai-ml 1.35.2 sends: the hash of `get_object_hash` of `weights`.
def test_a_model_of_local_files_has_the_name_that_the_sdk_gives_it(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.bin").write_text("w")
    found, _ = local(in_folder(tmp_path, model={"path": "./model"}))
    digest = "d962567b14191e7aef0c6bb83e4e4c48b3bd35eea360cb152e50e300d5682202"
    assert str(found.address) == f"model/{digest}:1"
    assert found.anonymous


def test_an_inline_asset_with_a_name_keeps_it() -> None:
    found = asset(environment={"name": "torch", "image": "ubuntu"})
    assert found.address.name == "torch"
    assert not found.anonymous
