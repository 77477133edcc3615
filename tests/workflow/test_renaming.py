"""`--replace-strategy blue-green`: nothing is missing while something is replaced."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend, Operation
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address
from mlctl.kinds.routes import main_child
from mlctl.kinds.values import state
from mlctl.planning.live_state import names_in
from mlctl.service_errors import Permanent
from tests.builders.azure import SCOPE, azure, emulated
from tests.builders.paths import SAMPLES
from tests.builders.shell import Run, edit

HEAD = "$schema: https://azuremlschemas.azureedge.net/latest/"
CLUSTER = f"""\
# where it runs
{HEAD}amlCompute.schema.json
name: "cpu"   # ours
type: amlcompute
size: Standard_D4ds_v5
max_instances: 2
"""
ENDPOINT = f"""\
{HEAD}batchEndpoint.schema.json
name: scores
defaults: {{deployment_name: blue}}
"""
DEPLOYMENT = f"""\
{HEAD}batchDeployment.schema.json
name: blue
endpoint_name: scores
type: model
model: azureml:heart:1
compute: azureml:cpu  # small
"""
MODEL = f"{HEAD}model.schema.json\nname: heart\nversion: 1\npath: azureml://datastores/d/paths/m\n"
FLAG = ("--replace-strategy", "blue-green")
NO_CHANGES = "No changes. Your workspace matches the configuration."


def journals(folder: Path) -> list[Path]:
    """The journals of applies that did not end."""
    return sorted(folder.rglob(".mlctl/journal/*.json"))


class Snapshots:
    """A backend all of whose states between writes are looked at; `refuses` fails some writes."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.wrong: list[str] = []
        self.writes: list[str] = []
        self.refuses: Callable[[str], bool] = lambda _write: False
        self._watched = False
        for verb in ("put", "delete"):
            setattr(backend, verb, self._noted(verb, getattr(backend, verb)))
        backend.close = lambda: None  # type: ignore[method-assign]

    def watch(self) -> None:
        """Look from now on: all is as it should be already."""
        self._watched = True
        self.writes.clear()
        self._look("before")

    def _noted(self, verb: str, real: Callable[..., Operation]) -> Callable[..., Operation]:
        def called(address: Address, *body: Mapping[str, Any]) -> Operation:
            text = f"{verb} {address}"
            if self.refuses(text):
                raise Permanent("Refused", "no, thank you", status=400)
            self.writes.append(text)
            done = real(address, *body)
            self._look(f"after {text}")
            return done

        return called

    def _look(self, when: str) -> None:
        if not self._watched:
            return
        clusters = {
            one.address for one in self.backend.list("compute") if state(one.body) != "deleting"
        }
        for endpoint in self.backend.list("batch-endpoint"):
            default = main_child(kind_of(endpoint.address), endpoint.body)
            beneath = self.backend.list("batch-deployment", endpoint.address.name)
            there = {one.address.name for one in beneath if state(one.body) != "deleting"}
            if default not in there:
                self.wrong.append(f"{when}: the default is {default!r} of {there}")
            for one in beneath:
                used = [at for at in names_in(one, self.backend.scope) if at.kind == "compute"]
                if one.address.name in there and not clusters.issuperset(used):
                    self.wrong.append(f"{when}: {one.address} has no cluster")

    @property
    def names(self) -> list[str]:
        """The clusters and deployments that there are."""
        found = [*self.backend.list("compute"), *self.backend.list("batch-deployment", "scores")]
        return [str(one.address) for one in found if state(one.body) != "deleting"]


@pytest.fixture(params=["local", "azure"])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Snapshots]:
    """A cloud that all commands of the test work on."""
    if request.param == "azure":
        yield opened(azure(emulated()).backend, monkeypatch)
    else:
        yield from simulated(monkeypatch)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Snapshots]:
    """The local cloud, that all commands of the test work on."""
    yield from simulated(monkeypatch)


def simulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Snapshots]:
    backend = LocalBackend(":memory:", SCOPE)
    close = backend.close
    yield opened(backend, monkeypatch)
    close()


def opened(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Snapshots:
    monkeypatch.setattr("mlctl.backends.open_backend", lambda *_: (backend, ""))
    return Snapshots(backend)


def project(mlctl: Run, folder: Path, *, project: bool = True, **other: str) -> Path:
    """A folder with a project that is applied."""
    infra = folder / "infra"
    infra.mkdir(exist_ok=True)
    files = {"cpu": CLUSTER, "scores": ENDPOINT, "blue": DEPLOYMENT, "heart": MODEL, **other}
    for name, text in files.items():
        if text:
            (infra / f"{name}.yml").write_text(text)
    if project and not (folder / "mlctl.yml").exists():
        (folder / "mlctl.yml").write_text("project: heart\n")
    done = mlctl("apply", "infra", "--yes")
    assert done.code == 0, done.err
    return infra


def resized(infra: Path) -> Path:
    return edit(infra / "cpu.yml", "D4ds", "D8ds")


def rescored(infra: Path) -> Path:
    """A deployment with another scoring script: it cannot be changed in place."""
    return edit(infra / "blue.yml", "a.py", "b.py")


def scored(folder: Path) -> str:
    """A deployment with code of its own."""
    (folder / "src").mkdir()
    for name in ("a", "b"):
        text = "def init(): pass\ndef run(batch): return batch\n"
        (folder / "src" / f"{name}.py").write_text(text)
    return (
        f"{DEPLOYMENT}environment: azureml://registries/azureml/environments/sklearn/versions/1\n"
        "code_configuration: {code: ../src, scoring_script: a.py}\n"
    )


def with_undeclared_default(mlctl: Run, tmp_path: Path) -> Path:
    """A project whose default deployment no file says, and must be replaced."""
    outside = tmp_path / "endpoint.yml"
    outside.write_text(ENDPOINT.replace("defaults: {deployment_name: blue}\n", ""))
    assert mlctl("apply", outside, "--yes").code == 0
    infra = project(mlctl, tmp_path, scores="", blue=scored(tmp_path))
    mlctl("batch-endpoint", "update", "-n", "scores", "--set", "defaults.deployment_name=blue")
    rescored(infra)
    return infra


def test_a_cluster_is_replaced_under_a_new_name_and_nothing_is_missing_meanwhile(
    mlctl: Run, tmp_path: Path, kept: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    resized(infra)
    kept.watch()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, kept.wrong) == (0, [])
    assert kept.writes == [
        "put compute/cpu-v2",
        "put batch-deployment/scores/blue",
        "delete compute/cpu",
    ]
    assert kept.names == ["compute/cpu-v2", "batch-deployment/scores/blue"]
    assert (infra / "cpu.yml").read_text() == CLUSTER.replace('"cpu"', '"cpu-v2"').replace(
        "D4ds", "D8ds"
    )
    assert (infra / "blue.yml").read_text() == DEPLOYMENT.replace("azureml:cpu", "azureml:cpu-v2")
    assert NO_CHANGES in mlctl("plan", "infra", "--prune").out


def test_in_place_is_the_default_and_leaves_a_gap(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    resized(infra)
    here.watch()
    assert mlctl("apply", "infra", "--yes").code == 0
    assert "after delete compute/cpu: batch-deployment/scores/blue has no cluster" in here.wrong


def test_a_deployment_is_the_default_until_its_successor_is(
    mlctl: Run, tmp_path: Path, kept: Snapshots
) -> None:
    infra = project(mlctl, tmp_path, project=False, blue=scored(tmp_path))
    rescored(infra)
    resized(infra)
    kept.watch()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, kept.wrong) == (0, []), done.err
    assert [one for one in kept.writes if not one.startswith("put code")] == [
        "put compute/cpu-v2",
        "put batch-deployment/scores/blue-2",
        "put batch-endpoint/scores",
        "delete batch-deployment/scores/blue",
        "delete compute/cpu",
    ]
    assert kept.names == ["compute/cpu-v2", "batch-deployment/scores/blue-2"]
    assert "deployment_name: blue-2}" in (infra / "scores.yml").read_text()
    assert NO_CHANGES in mlctl("plan", "infra").out


def test_a_default_that_no_file_says_goes_to_the_successor(
    mlctl: Run, tmp_path: Path, kept: Snapshots
) -> None:
    with_undeclared_default(mlctl, tmp_path)
    kept.watch()
    said = mlctl("plan", "infra", *FLAG).out
    assert "deployment_name: blue -> blue-2 # set once that deployment exists" in said
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, kept.wrong) == (0, []), done.err
    assert kept.writes[-2:] == ["put batch-endpoint/scores", "delete batch-deployment/scores/blue"]
    assert NO_CHANGES in mlctl("plan", "infra", "--prune").out


@pytest.mark.parametrize("refused", ["put compute/cpu-v2", "put batch-deployment/scores/blue-2"])
def test_where_a_create_fails_the_old_one_stays_and_what_is_left_is_said(
    mlctl: Run, tmp_path: Path, here: Snapshots, refused: str
) -> None:
    infra = project(mlctl, tmp_path, blue=scored(tmp_path))
    rescored(infra)
    resized(infra)
    here.watch()
    here.refuses = lambda write: write == refused
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code != 0, here.wrong) == (True, [])
    assert {"compute/cpu", "batch-deployment/scores/blue"} <= set(here.names)
    assert "mlctl batch-deployment delete -n blue -e scores" in done.err
    assert "mlctl compute delete -n cpu" in done.err
    here.refuses = lambda _write: False
    again = mlctl("apply", "infra", "--prune", "--prune-limit", "2", "--yes")
    assert (again.code, here.wrong) == (0, []), again.err
    assert here.names == ["compute/cpu-v2", "batch-deployment/scores/blue-2"]
    assert NO_CHANGES in mlctl("plan", "infra", "--prune").out


def test_what_no_file_says_of_the_old_one_is_the_new_ones_too(
    mlctl: Run, tmp_path: Path, kept: Snapshots
) -> None:
    infra = project(mlctl, tmp_path, blue=scored(tmp_path))
    blue = ("batch-deployment", "update", "-n", "blue", "-e", "scores")
    assert mlctl("compute", "update", "-n", "cpu", "--set", "tags.team=ds").code == 0
    assert mlctl(*blue, "--set", "description=by hand").code == 0
    resized(infra)
    rescored(infra)
    said = mlctl("plan", "infra", *FLAG).out
    assert "description: by hand # from batch-deployment/scores/blue" in " ".join(said.split())
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert done.code == 0, done.err
    cluster = mlctl("compute", "show", "-n", "cpu-v2").json
    assert (cluster["tags"]["team"], cluster["size"].lower()) == ("ds", "standard_d8ds_v5")
    deployment = mlctl("batch-deployment", "show", "-n", "blue-2", "-e", "scores").json
    assert deployment["description"] == "by hand"
    assert NO_CHANGES in mlctl("plan", "infra", "--prune").out


def test_what_no_file_can_say_is_taken_over_and_a_name_in_the_workspace_passed_over(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path, blue=scored(tmp_path))
    blue = here.backend.read([Address("batch-deployment", "blue", "scores")])
    (old,) = blue.values()
    body = {**old.body, "kind": "mine"}
    for name in ("blue", "blue-2"):
        here.backend.put(replace(old.address, name=name), body)
        here.backend.wait(600)
    rescored(infra)
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert done.code == 0, done.err
    (new,) = here.backend.read([replace(old.address, name="blue-3")]).values()
    assert (new.body["kind"], new.body["name"]) == ("mine", "blue-3")


def test_a_deployment_of_another_type_takes_over_no_properties(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path, blue=scored(tmp_path))
    by_hand = ("--set", "tags.team=ds", "--set", "description=by hand")
    mlctl("batch-deployment", "update", "-n", "blue", "-e", "scores", *by_hand)
    pipeline = "component: azureml://registries/azureml/components/c/versions/1\n"
    head = DEPLOYMENT.partition("type: model")[0]
    settings = "settings: {default_compute: azureml:cpu}\n"
    (infra / "blue.yml").write_text(f"{head}type: pipeline\n{pipeline}{settings}")
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert done.code == 0, done.err
    shown = mlctl("batch-deployment", "show", "-n", "blue-2", "-e", "scores").json
    assert (shown["tags"]["team"], shown.get("description")) == ("ds", None)
    assert NO_CHANGES in mlctl("plan", "infra").out


def test_a_name_that_another_workspace_of_the_region_has_is_passed_over(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    assert isinstance(here.backend, LocalBackend)
    infra = project(mlctl, tmp_path)
    (cluster,) = here.backend.list("compute")
    other = LocalBackend(here.backend.handle.store, replace(SCOPE, workspace="other"))
    other.put(Address("compute", "cpu-v2"), cluster.body)
    resized(infra)
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert done.code == 0, done.err
    assert here.names == ["compute/cpu-v3", "batch-deployment/scores/blue"]


def test_what_nothing_refers_to_goes_last_too(mlctl: Run, tmp_path: Path, here: Snapshots) -> None:
    resized(project(mlctl, tmp_path, scores="", blue=""))
    here.refuses = lambda write: write == "put compute/cpu-v2"
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code != 0, [str(one.address) for one in here.backend.list("compute")]) == (
        True,
        ["compute/cpu"],
    )


def test_a_default_that_the_file_moves_elsewhere_goes_there(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    green = scored(tmp_path).replace("name: blue", "name: green")
    infra = project(mlctl, tmp_path, blue=green.replace("name: green", "name: blue"), green=green)
    rescored(infra)
    edit(infra / "scores.yml", "deployment_name: blue", "deployment_name: green")
    here.watch()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, here.wrong) == (0, []), done.err
    (endpoint,) = here.backend.list("batch-endpoint")
    assert main_child(kind_of(endpoint.address), endpoint.body) == "green"


def test_a_folder_of_code_with_the_file_in_it_is_hashed_as_it_will_be(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    text = scored(tmp_path).replace("code: ../src, scoring_script: a", "code: ., scoring_script: a")
    (tmp_path / "infra").mkdir()
    for one in ("a", "b"):
        (tmp_path / "src" / f"{one}.py").rename(tmp_path / "infra" / f"{one}.py")
    infra = project(mlctl, tmp_path, blue=text)
    rescored(infra)
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert done.code == 0, done.err
    assert NO_CHANGES in mlctl("plan", "infra").out


def test_a_component_of_a_pipeline_that_runs_there_is_edited(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    shutil.copytree(SAMPLES / "pipeline-batch", tmp_path / "infra")
    pipeline = edit(
        tmp_path / "infra" / "pipeline" / "pipeline.yml",
        "  count:\n    type: command\n",
        "  count:\n    type: command\n    compute: azureml:pipeline-cluster  # here\n",
    )
    done = mlctl("apply", "infra", "--yes")
    assert done.code == 0, done.err
    edit(tmp_path / "infra" / "cluster.yml", "Standard_D4s_v3", "Standard_D2s_v3")
    here.watch()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, here.wrong) == (0, []), done.err
    assert "compute: azureml:pipeline-cluster-v2  # here\n" in pipeline.read_text()
    assert NO_CHANGES in mlctl("plan", "infra").out


def test_a_plan_shows_the_patch_and_writes_it_with_write_alone(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    resized(infra)
    before = (infra / "cpu.yml").read_text()
    planned = mlctl("plan", "infra", *FLAG)
    assert '-name: "cpu"   # ours\n+name: "cpu-v2"   # ours\n' in planned.out
    assert "-compute: azureml:cpu  # small\n+compute: azureml:cpu-v2  # small\n" in planned.out
    assert "compute/cpu-v2 replaces it; it is deleted last" in planned.out
    assert "Plan: 1 to add, 1 to change, 1 to destroy." in planned.out
    assert "The files are unchanged" in planned.err
    assert (infra / "cpu.yml").read_text() == before
    document = mlctl("plan", "infra", *FLAG, "-o", "json").json
    (old,) = (one for one in document["resource_changes"] if one["address"] == "compute/cpu")
    assert old["action_reason"] == "delete_because_superseded"
    assert '+name: "cpu-v2"' in document["patch"]
    assert "```diff\n--- infra/cpu.yml" in mlctl("plan", "infra", *FLAG, "-o", "markdown").out
    saved = mlctl("plan", "infra", *FLAG, "--write", "--out", "plan.json")
    assert "wrote infra/cpu.yml" in saved.err
    assert mlctl("apply", "plan.json").code == 0
    assert here.names == ["compute/cpu-v2", "batch-deployment/scores/blue"]
    assert NO_CHANGES in mlctl("plan", "infra", "--prune").out


def test_a_saved_plan_holds_against_named_files_where_the_project_says_the_move(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    resized(infra)
    assert mlctl("plan", "infra", *FLAG, "--write", "--out", "plan.json").code == 0
    refused = mlctl("apply", "plan.json", "infra")
    move = "moved: [{from: compute/cpu, to: compute/cpu-v2}]"
    assert (refused.code, move in refused.err) == (1, True), refused.err
    with (tmp_path / "mlctl.yml").open("a") as file:
        file.write(f"\n{move}\n")
    assert mlctl("apply", "plan.json", "infra").code == 0
    assert here.names == ["compute/cpu-v2", "batch-deployment/scores/blue"]


def test_after_write_the_ordinary_plan_with_prune_deletes_the_old_one(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path, blue=scored(tmp_path))
    rescored(infra)
    written = mlctl("plan", "infra", *FLAG, "--write")
    assert (written.code, "only a saved plan takes over (--out)" in written.err) == (0, True)
    here.watch()
    done = mlctl("apply", "infra", "--prune", "--prune-limit", "1", "--yes")
    assert (done.code, here.wrong) == (0, [])
    assert here.names == ["compute/cpu", "batch-deployment/scores/blue-2"]


def test_pruning_at_the_same_time_deletes_the_old_one_once_and_does_not_count_it(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    resized(infra)
    done = mlctl("apply", "infra", *FLAG, "--prune", "--prune-limit", "0", "--yes")
    assert done.code == 0, done.err
    assert here.names == ["compute/cpu-v2", "batch-deployment/scores/blue"]


def test_nothing_to_replace_is_the_ordinary_plan(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    assert NO_CHANGES in mlctl("plan", "infra", *FLAG).out
    edit(infra / "cpu.yml", "max_instances: 2", "max_instances: 3")
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, "wrote" in done.err) == (0, False)
    assert here.names == ["compute/cpu", "batch-deployment/scores/blue"]


def test_an_endpoint_is_refused_with_the_line_that_forces_it(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    (infra / "scores.yml").write_text(f"{ENDPOINT}location: westus2\n")
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert done.code == 1
    assert "error[MLC418]: batch-endpoint/scores must be replaced" in done.err
    assert "infra/scores.yml:4:11" in done.err
    assert here.names == ["compute/cpu", "batch-deployment/scores/blue"]


def test_what_somebody_else_runs_on_the_old_one_is_not_taken_from_them(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    other = tmp_path / "green.yml"
    infra = project(mlctl, tmp_path)
    other.write_text(DEPLOYMENT.replace("name: blue", "name: green"))
    assert mlctl("apply", other, "--yes").code == 0
    before = resized(infra).read_text()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert done.code != 0
    assert "MLC407" in done.out
    assert "batch-deployment/scores/green" in done.out
    assert (infra / "cpu.yml").read_text() == before


def test_what_is_protected_is_not_replaced_so_either(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    (tmp_path / "mlctl.yml").write_text("project: heart\nprotect: [compute/cpu]\n")
    infra = project(mlctl, tmp_path)
    before = resized(infra).read_text()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, "MLC412" in done.out) == (5, True)
    assert "mlctl.yml:2 still mentions compute/cpu, and is unchanged" in done.err
    assert (infra / "cpu.yml").read_text() == before


def test_both_count_for_the_quotas(mlctl: Run, tmp_path: Path, here: Snapshots) -> None:
    assert isinstance(here.backend, LocalBackend)
    infra = project(mlctl, tmp_path, scores="", blue="")  # nothing else refers to the cluster
    edit(infra / "cpu.yml", "D4ds_v5", "D2ds_v5")
    here.backend.set_quota("eastus", computes=1)
    assert mlctl("plan", "infra").code == 0
    done = mlctl("plan", "infra", *FLAG)
    assert (done.code, "MLC405" in done.out) == (1, True)
    assert "eastus allows 1 computes; 1 are in use, and this plan needs 1 more" in done.out


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("plan", "--out", "x.json", *FLAG), "add --write, and commit the files"),
        (("plan", "--write"), "--replace-strategy blue-green chooses"),
        (("plan", "--destroy", *FLAG), "destroy deletes what they declare"),
        (("plan", "--target", "compute/cpu", *FLAG), "targets are only part of what they declare"),
        (("apply", "--env", "a,b", *FLAG), "one environment at a time"),
    ],
)
def test_flags_that_make_no_sense_with_it_are_refused(
    mlctl: Run, tmp_path: Path, here: Snapshots, flags: tuple[str, ...], why: str
) -> None:
    (tmp_path / "mlctl.yml").write_text("environments: {a: {}, b: {}}\n")
    infra = project(mlctl, tmp_path, project=False)
    resized(infra)
    verb, *more = flags
    done = mlctl(verb, "infra", *more)
    assert (done.code, why in done.err) == (1, True), done.err
    assert not (tmp_path / "x.json").exists()


def test_a_saved_plan_says_itself_how_things_are_replaced(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    resized(project(mlctl, tmp_path))
    assert mlctl("plan", "infra", "--out", "x.json").code == 0
    done = mlctl("apply", "x.json", *FLAG)
    assert (done.code, "a saved plan already says" in done.err) == (1, True)


def test_an_answer_but_yes_leaves_files_and_workspace(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    before = resized(infra).read_text()
    done = mlctl("apply", "infra", *FLAG)
    assert (done.code, "pass --yes" in done.err) == (1, True)
    assert (infra / "cpu.yml").read_text() == before


def test_overlays_of_all_environments_follow(mlctl: Run, tmp_path: Path, here: Snapshots) -> None:
    (tmp_path / "mlctl.yml").write_text(
        "environments:\n  dev: {overlays: [dev.yml]}\n  prod: {overlays: [prod.yml]}\n"
    )
    prod = (
        'compute/cpu:  # big\n  max_instances: 4\nbatch-deployment/scores/blue: {compute: "cpu"}\n'
    )
    (tmp_path / "prod.yml").write_text(prod)
    (tmp_path / "dev.yml").write_text("compute/cpu: {size: Standard_D2ds_v5}\n")
    mlctl_dev = ("--env", "dev")
    infra = project(mlctl, tmp_path, project=False)
    done = mlctl("apply", "infra", *mlctl_dev, *FLAG, "--yes")
    assert done.code == 0, done.err
    assert "other environments use these files and get the new names, too: prod" in done.err
    assert (tmp_path / "prod.yml").read_text() == prod.replace("cpu:", "cpu-v2:").replace(
        '"cpu"', '"cpu-v2"'
    )
    assert (tmp_path / "dev.yml").read_text() == "compute/cpu-v2: {size: Standard_D2ds_v5}\n"
    assert "azureml:cpu-v2" in (infra / "blue.yml").read_text()
    assert NO_CHANGES in mlctl("plan", "infra", *mlctl_dev).out


def test_a_name_of_a_variable_is_gone_on_with(mlctl: Run, tmp_path: Path, here: Snapshots) -> None:
    (tmp_path / "mlctl.yml").write_text("variables: {stage: dev}\n")
    cluster = CLUSTER.replace('"cpu"', "cpu-${{ var.stage }}")
    deployment = DEPLOYMENT.replace("azureml:cpu", '"azureml:cpu-${{ var.stage }}"')
    infra = project(mlctl, tmp_path, project=False, cpu=cluster, blue=deployment)
    for name, old, new in (("cpu-dev-v2", "D4ds", "D8ds"), ("cpu-dev-v3", "D8ds", "D2ds")):
        edit(infra / "cpu.yml", old, new)
        done = mlctl("apply", "infra", *FLAG, "--yes")
        assert done.code == 0, done.err
        assert here.names == [f"compute/{name}", "batch-deployment/scores/blue"]
    assert "name: cpu-${{ var.stage }}-v3   # ours" in (infra / "cpu.yml").read_text()
    assert 'compute: "azureml:cpu-${{ var.stage }}-v3"' in (infra / "blue.yml").read_text()


def test_a_name_that_does_not_stand_there_is_refused_with_its_place(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    cluster = CLUSTER.replace('name: "cpu"', "tags: {a: &it cpu}\nname: *it")
    infra = project(mlctl, tmp_path, cpu=cluster)
    before = resized(infra).read_text()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, "MLC418" in done.err) == (1, True)
    assert "compute/cpu cannot become compute/cpu-v2 here" in done.err
    assert "infra/cpu.yml:4:7" in done.err
    assert (infra / "cpu.yml").read_text() == before


def test_a_deployment_that_takes_its_cluster_from_a_variable_follows(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    (tmp_path / "mlctl.yml").write_text("variables: {cluster: azureml:cpu}\n")
    text = DEPLOYMENT.replace("azureml:cpu", "${{ var.cluster }}")
    infra = project(mlctl, tmp_path, project=False, blue=text)
    resized(infra)
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert done.code == 0, done.err
    assert "compute: ${{ var.cluster }}-v2  # small" in (infra / "blue.yml").read_text()
    assert "mlctl.yml:1 still mentions compute/cpu, and is unchanged" in done.err


def test_other_files_that_name_the_old_one_are_said(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    job = f"{HEAD}commandJob.schema.json\ncommand: x\ncompute: azureml:cpu\n"
    (infra / "job.yml").write_text(f"{job}environment: azureml:e@latest\n")
    resized(infra)
    done = mlctl("plan", "infra", *FLAG)
    assert "infra/job.yml:3 still mentions compute/cpu, and is unchanged" in done.err


def test_files_that_change_meanwhile_are_not_overwritten(
    mlctl: Run, tmp_path: Path, here: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    infra = project(mlctl, tmp_path)
    resized(infra)
    later = f"{DEPLOYMENT}# mine\n"
    monkeypatch.setattr(
        "mlctl.cli.change.execution.show_plan",
        lambda *_, **__: (infra / "blue.yml").write_text(later),
    )
    here.watch()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, here.writes) == (1, [])
    assert "infra/blue.yml has changed since it was read: nothing was written" in done.err
    assert 'name: "cpu"' in (infra / "cpu.yml").read_text()
    assert (infra / "blue.yml").read_text() == later


def test_jobs_on_the_old_cluster_are_named(mlctl: Run, tmp_path: Path, here: Snapshots) -> None:
    resized(project(mlctl, tmp_path))
    given = ("--input", "https://h/d", "--input-type", "uri_folder", "--files", "900")
    job = mlctl("batch-endpoint", "invoke", "-n", "scores", *given)
    assert job.code == 0, job.err
    done = mlctl("plan", "infra", *FLAG)
    assert "1 job runs or waits on compute/cpu" in " ".join(done.out.split())


def test_after_a_failure_the_next_apply_makes_the_rest_and_prune_deletes_the_old(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    with_undeclared_default(mlctl, tmp_path)
    here.refuses = lambda write: write == "put batch-endpoint/scores"
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert "mlctl apply --resume infra" in done.err
    assert len(journals(tmp_path)) == 1
    here.refuses = lambda _write: False
    assert "moves the default deployment, as the unfinished apply" in mlctl("plan", "infra").out
    assert mlctl("apply", "infra", "--yes").code == 0
    assert journals(tmp_path) == []
    assert mlctl("apply", "infra", "--prune", "--prune-limit", "1", "--yes").code == 0
    assert here.names == ["compute/cpu", "batch-deployment/scores/blue-2"]


def test_one_file_of_all_with_ids_and_line_ends_of_windows_stays_as_it_is_written(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    by_id = f"{here.backend.scope.id}/computes/cpu"
    deployment = scored(tmp_path).replace("azureml:cpu", by_id)
    second = deployment.replace("name: blue", "name: green")
    text = "---\n".join([CLUSTER, ENDPOINT, deployment, second, MODEL]).replace("\n", "\r\n")
    (tmp_path / "infra").mkdir()
    file = tmp_path / "infra" / "all.yml"
    file.write_bytes(text.encode())
    done = mlctl("apply", "infra", "--yes")
    assert done.code == 0, done.err
    changed = text.replace("a.py", "b.py").replace("D4ds", "D8ds")
    file.write_bytes(changed.encode())
    here.watch()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, here.wrong) == (0, []), done.err
    for old, new in (("blue", "blue-2"), ("green", "green-2")):
        changed = changed.replace(f"name: {old}", f"name: {new}")
    wanted = changed.replace('"cpu"', '"cpu-v2"').replace(by_id, f"{by_id}-v2")
    assert file.read_bytes().decode() == wanted
    assert sorted(here.names) == [
        "batch-deployment/scores/blue-2",
        "batch-deployment/scores/green-2",
        "compute/cpu-v2",
    ]
    assert NO_CHANGES in mlctl("plan", "infra").out


def test_a_job_that_runs_keeps_a_strict_apply_from_writing_anything(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    before = resized(project(mlctl, tmp_path)).read_text()
    given = ("--input", "https://h/d", "--input-type", "uri_folder", "--files", "900")
    assert mlctl("batch-endpoint", "invoke", "-n", "scores", *given).code == 0
    done = mlctl("apply", "infra", *FLAG, "--yes", "--strict")
    assert done.code != 0
    assert (tmp_path / "infra" / "cpu.yml").read_text() == before


def test_files_that_cannot_be_written_leave_all_as_it_is(
    mlctl: Run, tmp_path: Path, here: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resized(project(mlctl, tmp_path)).read_text()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "infra/cpu.yml")

    monkeypatch.setattr("mlctl.files.write_all", full)
    here.watch()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, here.writes) == (1, [])
    assert "cannot write infra/cpu.yml: No space left on device; nothing was changed" in done.err
    assert (tmp_path / "infra" / "cpu.yml").read_text() == before
    assert journals(tmp_path) == []


def test_without_a_journal_the_files_stay_as_they_are(
    mlctl: Run, tmp_path: Path, here: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resized(project(mlctl, tmp_path)).read_text()
    (tmp_path / "full").write_text("")
    monkeypatch.setenv("MLCTL_JOURNAL_DIR", str(tmp_path / "full" / "journal"))
    here.watch()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, here.writes, "cannot write" in done.err) == (1, [], True)
    assert (tmp_path / "infra" / "cpu.yml").read_text() == before


def test_a_document_from_standard_input_has_no_file_to_write(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    infra = project(mlctl, tmp_path)
    text = resized(infra).read_text()
    done = mlctl("plan", "-", str(infra / "blue.yml"), *FLAG, given=text)
    assert (done.code, "the document came from standard input" in done.err) == (1, True)


def test_nothing_is_written_through_a_link_out_of_the_folder(
    mlctl: Run, tmp_path: Path, here: Snapshots
) -> None:
    file = resized(project(mlctl, tmp_path))
    file.rename(tmp_path / "mine.yml")
    file.symlink_to(tmp_path / "mine.yml")
    before = file.read_text()
    done = mlctl("apply", "infra", *FLAG, "--yes")
    assert (done.code, file.read_text()) == (1, before)
    assert "infra/cpu.yml cannot be written: a link points outside the folder" in done.err
