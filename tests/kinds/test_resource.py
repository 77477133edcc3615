"""Local content on its way to the workspace: named by steps, kept in plans, taken by backends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mlctl import planfile
from mlctl.assets.folders import code_hash
from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.resource import Upload
from mlctl.planning.steps.work import PlanStep
from mlctl.pointer import Data
from tests.builders.plans import Planned, plan, succeeded, workspace
from tests.builders.resources import CLUSTER, ENDPOINT
from tests.builders.workspace import SCOPE

MODEL = "$schema: https://x/model.schema.json\nname: heart\nversion: 1\npath: ./model\n"
DEPLOYMENT = (
    "$schema: https://x/batchDeployment.schema.json\nname: blue\nendpoint_name: scores\n"
    "model: azureml:heart:1\ncompute: azureml:cpu-cluster\nenvironment: azureml:e:1\n"
    "code_configuration: {code: ./src, scoring_script: score.py}\n"
)
ENVIRONMENT = (
    "$schema: https://x/environment.schema.json\nname: e\nversion: 1\nimage: ubuntu:22.04\n"
)


class Shelves(LocalBackend):
    """A local workspace that wants files first, and remembers what it was given."""

    def upload(
        self, address: Address, body: Mapping[str, Data], upload: Upload
    ) -> Mapping[str, Data]:
        given.append((str(address), upload))
        where = f"https://store/box/{upload.folder}/{Path(upload.path).name}/"
        return {**body, "properties": {**body["properties"], str(upload.wire[-1]): where}}


given: list[tuple[str, Upload]] = []


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    given.clear()
    for name in ("model/MLmodel", "src/score.py"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text("def run(): ...\n")


def planned(folder: Path, *texts: str, on: LocalBackend | None = None) -> Planned:
    return plan(*texts, backend=on, name=str(folder / "main.yml"))


def uploads(made: Planned) -> dict[str, list[Upload]]:
    return {str(step.target.kind): list(step.uploads) for step in made.work.steps if step.uploads}


def saved(made: Planned, folder: Path) -> planfile.SavedPlan:
    planfile.save(made.plan, made.work, folder / "plan.json")
    return planfile.load(folder / "plan.json")


def test_a_model_of_local_files_goes_up_before_it_is_made(tmp_path: Path) -> None:
    (found,) = uploads(planned(tmp_path, MODEL))["model"]
    assert (found.target, found.path) == (UploadTarget.ASSET, str(tmp_path / "model"))
    assert found.wire == ("properties", "modelUri")


def test_code_goes_up_as_an_asset_that_no_file_declares(tmp_path: Path) -> None:
    made = planned(tmp_path, CLUSTER, ENDPOINT, ENVIRONMENT, MODEL, DEPLOYMENT)
    (found,) = uploads(made)["code"]
    assert (found.target, found.digest) == (UploadTarget.CODE, code_hash(tmp_path / "src"))


def test_what_is_there_already_does_not_go_up_again(tmp_path: Path) -> None:
    backend = LocalBackend(":memory:", SCOPE)
    succeeded(planned(tmp_path, MODEL, on=backend).work, backend)
    assert uploads(planned(tmp_path, MODEL + "description: new\n", on=backend)) == {}


def test_code_that_somebody_uploaded_under_another_name_is_used(tmp_path: Path) -> None:
    backend = workspace(CLUSTER, ENDPOINT, ENVIRONMENT, MODEL.replace("./model", "azureml://m"))
    theirs = Address("code", "5f0e", None, "1")
    hashed = {"hash_sha256": code_hash(tmp_path / "src"), "hash_version": 202208}
    backend.put(theirs, {"properties": {"codeUri": "https://b", "properties": hashed}}).wait()
    made = plan(DEPLOYMENT, backend=backend, name=str(tmp_path / "main.yml"))
    body = made.step("batch-deployment/scores/blue").body
    assert body["properties"]["codeConfiguration"]["codeId"] == theirs.id(SCOPE)
    assert uploads(made) == {}


def test_a_backend_that_wants_files_says_where_they_are(tmp_path: Path) -> None:
    backend = Shelves(":memory:", SCOPE)
    succeeded(planned(tmp_path, MODEL, on=backend).work, backend)
    (live,) = backend.list("model")
    assert live.body["properties"]["modelUri"].startswith("https://store/box/LocalUpload/")
    assert [address for address, _ in given] == ["model/heart:1"]
    assert planned(tmp_path, MODEL, on=backend).plan.empty


def test_a_saved_plan_knows_what_goes_up(tmp_path: Path) -> None:
    made = planned(tmp_path, MODEL)
    found = saved(made, tmp_path)
    assert [step.uploads for step in found.work.steps] == [step.uploads for step in made.work.steps]
    assert planfile.fill_secrets(found.work, lambda _file, _index: None).steps


def changed(path: Path) -> None:
    path.write_text("def run(): return 1\n")


@pytest.mark.parametrize("spoil", [changed, Path.unlink])
def test_a_saved_plan_is_refused_when_what_goes_up_has_changed(
    tmp_path: Path, spoil: object
) -> None:
    found = saved(planned(tmp_path, MODEL.replace("./model", "./model/MLmodel")), tmp_path)
    assert callable(spoil)
    spoil(tmp_path / "model" / "MLmodel")
    with pytest.raises(planfile.PlanFileError, match="MLmodel"):
        planfile.fill_secrets(found.work, lambda _file, _index: None)


def test_the_code_of_a_step_of_a_component_counts_as_the_components_own(tmp_path: Path) -> None:
    (tmp_path / "step.yml").write_text(
        "type: command\ncode: ./src\ncommand: run\nenvironment: azureml:AzureML-e:1\n"
    )
    (tmp_path / "p.yml").write_text("type: pipeline\njobs: {one: {component: ./step.yml}}\n")
    text = (
        "$schema: https://x/pipelineComponentBatchDeployment.schema.json\ntype: pipeline\n"
        "name: blue\nendpoint_name: scores\ncomponent: ./p.yml\n"
    )
    backend = LocalBackend(":memory:", SCOPE)

    def version() -> PlanStep:
        made = planned(tmp_path, ENDPOINT, text, on=backend)
        return next(step for step in made.work.steps if step.target.kind == "component")

    before = version()
    changed(tmp_path / "src" / "score.py")
    assert version().target != before.target
