"""MLflow's model registry: the models of the workspace, as on Azure.

A version that a client registers names the artifacts of a run, which is where its files stay.
Aliases and stages are not kept: Azure's registry has neither ("Logging models with MLflow").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from mlctl.dataclasses import replace
from mlctl.emulator.arm import assets
from mlctl.emulator.mlflow import runs
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import Address
from mlctl.kinds.records.model import KIND
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.state.blob_store import ItemKind
from mlctl.simulator.control_plane.state.context import StoredResource

_FILTER = re.compile(r"\s*(name|run_id)\s*=\s*['\"](.*)['\"]\s*", re.IGNORECASE)
_OF_RUN = re.compile(r"(?:mlflow-artifacts:/+|runs:/)([^/]+)(?:/artifacts)?/(.+)")
_OF_JOB = re.compile(r"azureml://(?:.*/)?jobs/([^/]+)/outputs/artifacts/paths/(.+?)/?")
_NO_PROMPTS = re.compile(r"(?:^| AND )tag.`mlflow.prompt.is_prompt` != 'true'$")  # by MLflow 3
_LOGGED = "models:/"
_INVALID = "INVALID_PARAMETER_VALUE"
_NO_SUCH = "RESOURCE_DOES_NOT_EXIST"


def _create(call: Call) -> Data:
    name = runs.text(call, "name")
    if _is_there(call, name):
        text = f"Registered Model (name={name}) already exists."
        raise Permanent("RESOURCE_ALREADY_EXISTS", text)
    assets.write_container(_of_model(call, name))
    return {"registered_model": _model(name, [])}


def _get(call: Call) -> Data:
    name = runs.text(call, "name")
    return {"registered_model": _model(name, _versions_of(call, name))}


def _search(call: Call) -> Data:
    by_name: dict[str, list[StoredResource]] = {}
    for version in _matching(call):
        by_name.setdefault(version.address.name, []).append(version)
    listed = [_model(name, versions) for name, versions in by_name.items()]
    return {"registered_models": listed}


def _delete(call: Call) -> Data:
    name = runs.text(call, "name")
    _versions_of(call, name)
    assets.delete_container(_of_model(call, name))
    return {}


def _create_version(call: Call) -> Data:
    name = runs.text(call, "name")
    run, path = _artifact(call, runs.text(call, "source"))
    runs.find(call, run)
    numbers = [
        int(version.address.version)
        for version in _versions_of(call, name)
        if version.address.version and version.address.version.isdecimal()
    ]
    properties = {
        "modelUri": f"azureml://jobs/{run}/outputs/artifacts/paths/{path}/",
        "modelType": "mlflow_model",
        "jobName": run,
        "description": _description(call),
        "tags": {str(tag["key"]): str(tag.get("value", "")) for tag in call.data.get("tags") or ()},
    }
    address = Address(KIND.name, name, version=str(max(numbers, default=0) + 1))
    service.put(call.handle, address, {"properties": properties})
    return {"model_version": _version(call.require(address))}


def _description(call: Call) -> str | None:
    text = call.data.get("description")
    if text is not None and not isinstance(text, str):
        raise Permanent(_INVALID, "`description` must be text.")
    return text


def _artifact(call: Call, source: str) -> tuple[str, str]:
    """The run and the path that a source names: of a run, of a job, or of a model of MLflow 3."""
    logged = source.removeprefix(_LOGGED) if source.startswith(_LOGGED) else ""
    stored = call.blob_store.find(ItemKind.LOGGED_MODEL, f"{call.scope}/{logged}")
    if logged and stored is not None:
        source = str(stored.note["info"]["artifact_uri"])
    match = _OF_RUN.fullmatch(source) or _OF_JOB.fullmatch(source)
    if match is None:
        text = f"`{source}` names no artifact of a run: `runs:/RUN/PATH` does."
        raise Permanent(_INVALID, f"{text} Register other files by mlctl, az or the SDK.")
    return match[1], match[2].rstrip("/")


def _change(call: Call) -> Data:
    """Write a description or a tag of a version; a tag without a value is taken away."""
    stored = _stored(call)
    properties = dict(stored.body["properties"])
    if "key" in call.data:
        tags = {**(properties.get("tags") or {}), runs.text(call, "key"): call.data.get("value")}
        properties["tags"] = {key: str(text) for key, text in tags.items() if text is not None}
    else:
        properties["description"] = _description(call)
    service.put(call.handle, stored.address, {"properties": properties})
    return {"model_version": _version(_stored(call))}


def _delete_version(call: Call) -> Data:
    service.delete(call.handle, _stored(call).address)
    return {}


def _download(call: Call) -> Data:
    run, path = _artifact(call, str(_stored(call).body["properties"]["modelUri"]))
    return {"artifact_uri": f"mlflow-artifacts:/{run}/artifacts/{path}"}


def _of_model(call: Call, name: str) -> Call:
    return replace(call, kind=KIND.name, names={**call.names, "name": name})


def _is_there(call: Call, name: str) -> bool:
    try:
        assets.show_container(_of_model(call, name))
    except NotFound:
        return False
    return True


def _stored(call: Call) -> StoredResource:
    name, number = runs.text(call, "name"), runs.text(call, "version")
    for version in _versions_of(call, name):
        if version.address.version == number:
            return version
    text = f"Model Version (name={name}, version={number}) not found"
    raise NotFound(_NO_SUCH, text, status=404)


def _versions_of(call: Call, name: str) -> list[StoredResource]:
    """Return the versions of a model, oldest first."""
    listed = service.list_resources(call.handle, KIND.name, None)
    versions = [version for version in listed if version.address.name == name]
    if not versions and not _is_there(call, name):
        raise NotFound(_NO_SUCH, f"Registered Model with name={name} not found", status=404)
    return versions


def _matching(call: Call) -> Iterator[StoredResource]:
    """Return the versions that the filter of a search selects."""
    text = _NO_PROMPTS.sub("", call.request.query_value("filter"))
    match = _FILTER.fullmatch(text)
    if text and match is None:
        raise Permanent(_INVALID, f"Invalid filter `{text}`: `name = 'iris'` is one.")
    for version in service.list_resources(call.handle, KIND.name, None):
        values = {"name": version.address.name, "run_id": _run_of(version)}
        if match is None or values[match[1].casefold()] == match[2]:
            yield version


def _run_of(version: StoredResource) -> str:
    match = _OF_JOB.fullmatch(str(version.body["properties"].get("modelUri")))
    return match[1] if match else ""


def _model(name: str, versions: list[StoredResource]) -> dict[str, Data]:
    """Return a registered model in MLflow's shape."""
    return {"name": name, "latest_versions": [*map(_version, versions[-1:])]}


def _version(stored: StoredResource) -> dict[str, Data]:
    """Return a version in MLflow's shape."""
    properties: Mapping[str, Data] = stored.body["properties"]
    stamps = stored.body["systemData"]
    created, changed = (
        round(datetime.fromisoformat(str(stamps[key])).timestamp() * 1000)
        for key in ("createdAt", "lastModifiedAt")
    )
    tags = properties.get("tags") or {}
    return {
        "name": stored.address.name,
        "version": stored.address.version,
        "creation_timestamp": created,
        "last_updated_timestamp": changed,
        "current_stage": "None",
        "description": properties.get("description") or "",
        "source": properties.get("modelUri"),
        "run_id": _run_of(stored),
        "status": "READY",
        "tags": [{"key": key, "value": value} for key, value in tags.items()],
    }


HANDLERS: Mapping[str, Callable[[Call], Data]] = {
    "POST registered-models/create": _create,
    "GET registered-models/get": _get,
    "GET registered-models/search": _search,
    "DELETE registered-models/delete": _delete,
    "POST registered-models/get-latest-versions": lambda call: {
        "model_versions": _model("", _versions_of(call, runs.text(call, "name")))["latest_versions"]
    },
    "POST model-versions/create": _create_version,
    "GET model-versions/get": lambda call: {"model_version": _version(_stored(call))},
    "GET model-versions/search": lambda call: {"model_versions": [*map(_version, _matching(call))]},
    "PATCH model-versions/update": _change,
    "POST model-versions/set-tag": _change,
    "DELETE model-versions/delete-tag": _change,
    "DELETE model-versions/delete": _delete_version,
    "GET model-versions/get-download-uri": _download,
}
