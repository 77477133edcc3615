"""Real files through the real SDK: what it makes of them, the planner finds as declared."""

from __future__ import annotations

import csv
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlctl.applying import executor
from mlctl.backends.local.backend import LocalBackend
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address, Reference, Scope
from mlctl.planning import planner as planning
from mlctl.planning.refresh import refresh
from mlctl.planning.steps import work as steps
from mlctl.pointer import Data
from tests.builders.emulator import CLUSTER, World
from tests.builders.paths import SAMPLES, SHARED
from tests.builders.sdk import GROUP, SUBSCRIPTION, WORKSPACE, Sdk, lead_here, sdk

CORPUS = SHARED / "corpus"
TODAY = date(2026, 6, 18)
SCOPE = Scope(SUBSCRIPTION, GROUP, WORKSPACE)
COMPONENT = {
    "$schema": "https://azuremlschemas.azureedge.net/latest/pipelineComponent.schema.json",
    "name": "stub",
    "version": "1",
    "type": "pipeline",
    "jobs": {},
}

PLENTY = 10_000  # cores
# What the SDK itself refuses before any request, although the reference allows it.
REFUSED = {
    "Azure__mlops-project-template__classical__aml-cli-v2__mlops__azureml__batch-endpoint"
    "__at_2022-05-27_18087e3": "a model without a version or label",
}

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    lead_here(monkeypatch)


@dataclass(frozen=True)
class Case:
    """A file of the corpus."""

    file: Path
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.file.stem}"


def cases() -> list[Case]:
    index = CORPUS / "INDEX.tsv"
    if not index.is_file():
        return []
    with index.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    found = [
        Case(CORPUS / row["file"], row["kind"])
        for row in rows
        if row["verdict"] == "accept" and row["sdk_result"].startswith("ok")
    ]
    return [case for case in found if case.file.stem not in REFUSED]


def satisfied(case: Case, here: World, folder: Path) -> Path:
    """The file, beside stubs of the files that it names, in a workspace with what it names."""
    data = yaml.safe_load(case.file.read_text(encoding="utf-8"))
    for relative, content in locals_of(data):
        path = folder / "case" / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    for reference in references_of(data):
        make(here, reference)
    (folder / "case").mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(case.file, folder / "case" / "file.yml"))


def locals_of(data: Data) -> Iterator[tuple[str, str]]:
    code = data.get("code_configuration") or {}
    if is_local(code.get("code")):
        yield f"{code['code']}/{code['scoring_script']}", "def init(): ...\ndef run(b): return b\n"
    environment = data.get("environment")
    if isinstance(environment, dict) and is_local(environment.get("conda_file")):
        yield environment["conda_file"], "dependencies: [python=3.10]\n"
    model = data.get("model")
    if isinstance(model, dict) and is_local(model.get("path")):
        yield f"{model['path']}/weights.bin", "weights"
    if is_local(data.get("component")):
        yield data["component"], yaml.safe_dump(COMPONENT)


def is_local(value: Data) -> bool:
    return isinstance(value, str) and not value.startswith(("azureml:", "http"))


def references_of(data: Data) -> Iterator[Address]:
    named = {"compute": "compute", "model": "model", "environment": "environment"}
    named |= {"component": "component"}
    settings = data.get("settings") or {}
    values = [*((data.get(key), kind) for key, kind in named.items())]
    values.append((settings.get("default_compute"), "compute"))
    for value, kind in values:
        text = (
            value if isinstance(value, str) and not (kind != "compute" and is_local(value)) else ""
        )
        found = Reference.parse(text, kind) if text else None
        if found and found.address and found.scope is None:
            yield found.address
    if "endpoint_name" in data:
        yield Address("batch-endpoint", str(data["endpoint_name"]))


def make(here: World, address: Address) -> None:
    bodies: dict[str, Data] = {
        "compute": CLUSTER,
        "batch-endpoint": {"location": "eastus", "properties": {}},
        "model": {"properties": {"modelUri": "azureml://jobs/j/outputs/artifacts/paths/m/"}},
        "environment": {"properties": {"image": "busybox"}},
        "component": {"properties": {"componentSpec": COMPONENT}},
    }
    if address.is_newest:
        address = address.at("1")
    here.made(address.id(SCOPE), bodies[address.kind])


def loaded(kind: str, file: Path) -> Any:
    """What the SDK reads in a file."""
    from azure.ai.ml.entities import _load_functions as load

    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    loads = {
        "amlCompute": load.load_compute,
        "batchEndpoint": load.load_batch_endpoint,
        "environment": load.load_environment,
        "model": load.load_model,
        "pipeline": load.load_pipeline_component_batch_deployment,
        "modelDeployment": load.load_model_batch_deployment,
    }
    form = "modelDeployment" if data.get("type") == "model" else data.get("type")
    return loads.get(kind, loads.get(form, load.load_batch_deployment))(file)


def created(here: Sdk, kind: str, entity: Any) -> None:
    """Let the SDK create what it read in a file."""
    ml = here.ml
    match kind:
        case "amlCompute":
            ml.compute.begin_create_or_update(entity).result()
        case "batchEndpoint":
            ml.batch_endpoints.begin_create_or_update(entity).result()
        case "environment":
            ml.environments.create_or_update(entity)
        case "model":
            ml.models.create_or_update(entity)
        case _:
            ml.batch_deployments.begin_create_or_update(entity).result()


def read_back(here: Sdk, kind: str, entity: Any) -> Any:
    """What the SDK gets of what it read in a file."""
    match kind:
        case "amlCompute":
            return here.ml.compute.get(entity.name)
        case "batchEndpoint":
            return here.ml.batch_endpoints.get(entity.name)
        case "environment":
            return here.ml.environments.get(entity.name, version=entity.version)
        case "model":
            return here.ml.models.get(entity.name, version=entity.version)
        case _:
            return here.ml.batch_deployments.get(entity.name, entity.endpoint_name)


FIELDS = (
    *("description", "size", "tier", "location", "min_instances", "max_instances", "image"),
    *("idle_time_before_scale_down", "auth_mode", "mini_batch_size", "error_threshold"),
    *("max_concurrency_per_instance", "output_action", "output_file_name", "logging_level"),
    *("environment_variables", "retry_settings.max_retries", "retry_settings.timeout"),
    "resources.instance_count",
)


def fields(entity: Any) -> dict[str, Data]:
    """What an entity says of what a file and the service can say; its settings are its own."""
    found = {}
    for name in FIELDS:
        for holder in (entity, getattr(entity, "settings", None)):
            value = holder
            for step in name.split("."):
                value = getattr(value, step, None)
            plain = getattr(value, "value", value)  # the SDK's enums
            if plain not in (None, "", {}):
                found[name] = plain.casefold() if isinstance(plain, str) else plain
    return found


def roomy() -> Sdk:
    """The SDK on an emulator whose quotas nothing exceeds."""
    here = sdk()
    local = LocalBackend(here.world.store, SCOPE)
    for region in ("eastus", "westeurope"):
        local.set_quota(region, low_priority=PLENTY, dedicated=PLENTY)
    return here


def changes(here: Sdk, *files: Path) -> list[str]:
    """What a plan of the files would change in the workspace."""
    report, backend = Report(), LocalBackend(here.world.store, SCOPE)
    loaded = Loader(report, TODAY, scope=SCOPE, planning=True).load([str(file) for file in files])
    assert not report.failed, [each.message for each in report]
    world = refresh(loaded.graph, backend, destroying=False)
    made = planning.plan(loaded.graph, world, backend="local", destroying=False)
    return [f"{each.action.name} {each.address}" for each in made.pending]


def applied(here: Sdk, *files: Path) -> None:
    """The files, applied by mlctl."""
    report, backend = Report(), LocalBackend(here.world.store, SCOPE)
    loaded = Loader(report, TODAY, scope=SCOPE, planning=True).load([str(file) for file in files])
    world = refresh(loaded.graph, backend, destroying=False)
    made = planning.plan(loaded.graph, world, backend="local", destroying=False)
    work = steps.work(made, loaded.graph)
    events = list(executor.apply(work, backend, parallelism=1, stop=threading.Event()))
    assert [str(event.error) for event in events if event.error] == []


def parts(folder: Path) -> list[tuple[str, Path]]:
    """The files of a sample with their kinds, what others need first."""
    order = ("amlCompute", "model", "environment", "batchEndpoint")
    found = []
    for file in folder.glob("*.yml"):
        schema = str(yaml.safe_load(file.read_text())["$schema"]).strip()
        found.append((schema.rsplit("/", 1)[-1].removesuffix(".schema.json"), file))
    return sorted(found, key=lambda one: (order.index(one[0]) if one[0] in order else 9, one[1]))


@pytest.mark.parametrize("folder", ["clusters", "low-priority-batch"])
def test_what_the_sdk_makes_of_a_sample_needs_no_change(folder: str) -> None:
    here = roomy()
    for kind, file in parts(SAMPLES / folder):
        entity = loaded(kind, file)
        if kind == "batchEndpoint":
            entity.defaults = None  # there is no deployment yet that could be the default one
        created(here, kind, entity)
    for kind, file in parts(SAMPLES / folder):
        if kind == "batchEndpoint":
            created(here, kind, loaded(kind, file))
    assert changes(here, *(file for _, file in parts(SAMPLES / folder))) == []


@pytest.mark.parametrize("folder", ["clusters", "low-priority-batch", "pipeline-batch"])
def test_the_sdk_reads_back_what_was_applied(folder: str) -> None:
    here = roomy()
    applied(here, *(file for _, file in parts(SAMPLES / folder)))
    for kind, file in parts(SAMPLES / folder):
        said = fields(loaded(kind, file))
        assert said.items() <= fields(read_back(here, kind, loaded(kind, file))).items()
