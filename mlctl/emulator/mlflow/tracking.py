"""The REST API of MLflow's tracking server (2.0), and its artifacts, which are those of jobs.

At `/api/2.0/mlflow` it is that of the workspace that always exists, at
`/mlflow/v1.0/subscriptions/.../workspaces/NAME/api/2.0/mlflow` that of any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from mlctl.dataclasses import replace
from mlctl.emulator.arm import jobs
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.mlflow import registry, runs
from mlctl.emulator.mlflow.runs import TrackedRun
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import blobs, uploads
from mlctl.pointer import Data
from mlctl.schema.compiled import compile_schema
from mlctl.service_errors import NotFound, Permanent, ServiceError
from mlctl.simulator.control_plane.jobs import mlflow_store, records
from mlctl.simulator.control_plane.jobs.mlflow_store import MetricValue
from mlctl.simulator.control_plane.resources import datastores
from mlctl.simulator.control_plane.state.blob_store import ItemKind

_MOST = 1000  # runs in an answer, unless it is asked for others
_NO_SUCH = "RESOURCE_DOES_NOT_EXIST"
_ROOT = "artifacts"
_WHOLE: dict[str, Data] = {"type": ["integer", "string", "null"], "pattern": r"^\d{0,18}$"}
_WHOLE |= {"minimum": 0, "maximum": 1 << 62}
_NUMBER: dict[str, Data] = {
    "type": ["number", "string"],
    "pattern": r"^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|NaN|Infinity)$",
}
_TEXTS: dict[str, Data] = {"type": ["array", "null"], "items": {"type": "string"}}
_TIMES: dict[str, Data] = {"timestamp": _WHOLE, "step": _WHOLE}


def _objects(**fields: Data) -> Data:
    item: dict[str, Data] = {"type": "object", "required": ["key"], "properties": fields}
    return {"type": ["array", "null"], "items": item}


_REQUEST: dict[str, Data] = {
    "properties": {
        **dict.fromkeys(("start_time", "end_time", "page_token", "max_results"), _WHOLE),
        **dict.fromkeys(("tags", "params"), _objects()),
        **dict.fromkeys(("experiment_ids", "order_by"), _TEXTS),
        **_TIMES,
        "metrics": _objects(**_TIMES, value=_NUMBER),
    }
}
_has_types = compile_schema(_REQUEST) or bool


def handle(call: Call) -> Response:
    """Handle any request to the tracking server."""

    def answer(call: Call) -> Response:
        what = call.names["what"]
        _check(call.data)
        handler = _HANDLERS.get(f"{call.request.method} {what}")
        if handler is not None:
            return json_response(handler(call))
        first, _, model = what.partition("/")
        if first == "logged-models" and model:
            return json_response(_logged_model(call, *model.split("/")))
        raise NotFound("ENDPOINT_NOT_FOUND", f"mlctl has no `{what}` of MLflow's REST API")

    return _answered(call, answer)


def artifact(call: Call) -> Response:
    """Handle artifacts: list, read, write or delete them."""
    return _answered(call, _artifact)


def _answered(call: Call, handler: Callable[[Call], Response]) -> Response:
    """The answer; errors are as MLflow's client reads them."""
    try:
        return handler(call if "workspace" in call.names else call.at_home())
    except ServiceError as error:
        code = _NO_SUCH if error.code == "ResourceNotFound" else error.code
        body: dict[str, Data] = {"error_code": code, "message": error.message}
        return json_response(body, error.status or 400)


def _check(data: Mapping[str, Data]) -> None:
    """Refuse a body with a value of a type that nobody can take for what it stands for."""
    if not _has_types(data):
        text = "The request has a value of a wrong type, or lacks one."
        raise Permanent("INVALID_PARAMETER_VALUE", text)


def _id(call: Call) -> str:
    return runs.text(call, "run_id", "run_uuid")


def _pairs(items: Iterable[Data] | None) -> dict[str, Data]:
    return {str(item["key"]): item.get("value", "") for item in items or ()}


def _create(call: Call) -> Data:
    name = uuid4().hex
    tags = _pairs(call.data.get("tags"))
    experiment = str(call.data.get("experiment_id") or "0")
    _experiment(call, "experiment_id", experiment)
    info = {
        "run_name": call.data.get("run_name") or tags.get("mlflow.runName") or name[:8],
        "experiment_id": experiment,
        "user_id": call.data.get("user_id") or "",
        "status": "RUNNING",
        "start_time": int(call.data.get("start_time") or 0),
    }
    mlflow_store.log_run(call.blob_store, call.scope, name, {"info": info, "tags": tags})
    return {"run": runs.find(call, name).body()}


def _get(call: Call) -> Data:
    name = _id(call)
    with suppress(NotFound):
        jobs.wait_for(replace(call, names={**call.names, "name": name}))
    return {"run": runs.find(call, name).body()}


def _update(call: Call) -> Data:
    sent_values = {key: call.data.get(key) for key in ("status", "end_time", "run_name")}
    info = {key: value for key, value in sent_values.items() if value}
    if "end_time" in info:
        info["end_time"] = int(info["end_time"])
    return {"run_info": _log(call, {"info": info}).body()["info"]}


def _log(
    call: Call, changes: dict[str, dict[str, Data]], metrics: Iterable[Data] = ()
) -> TrackedRun:
    name = _id(call)
    runs.find(call, name)
    values = [
        MetricValue(
            str(entry["key"]),
            float(entry.get("value", 0.0)),
            int(entry.get("timestamp") or 0),
            int(entry.get("step") or 0),
        )
        for entry in metrics
    ]
    mlflow_store.log_run(call.blob_store, call.scope, name, changes, values)
    return runs.find(call, name)


def _batch(call: Call) -> Data:
    changes = {part: _pairs(call.data.get(part)) for part in ("params", "tags")}
    _log(call, changes, call.data.get("metrics") or ())
    return {}


def _logs(part: str, values: Callable[[Call], dict[str, Data]]) -> Callable[[Call], Data]:
    """Return a handler that logs values to a part of a run."""

    def handler(call: Call) -> Data:
        _log(call, {part: values(call)})
        return {}

    return handler


def _pair(call: Call) -> dict[str, Data]:
    """Return a parameter or a tag; a tag without a value is removed."""
    return {runs.text(call, "key"): call.data.get("value")}


def _log_metric(call: Call) -> Data:
    _check({"metrics": [call.data]})
    _log(call, {}, [call.data])
    return {}


def _search(call: Call) -> Data:
    ids = {str(entry) for entry in call.data.get("experiment_ids") or ()}
    test = runs.matching(str(call.data.get("filter") or ""))
    stages = {"DELETED_ONLY": ("deleted",), "ALL": ("active", "deleted")}.get(
        str(call.data.get("run_view_type")), ("active",)
    )
    listed = [
        run
        for run in runs.every(call)
        if run.info["experiment_id"] in ids and run.info["lifecycle_stage"] in stages and test(run)
    ]
    first = int(call.data.get("page_token") or 0)
    end = first + int(call.data.get("max_results") or _MOST)
    page = runs.ordered(listed, call.data.get("order_by") or ())
    next_page = {"next_page_token": str(end)} if end < len(page) else {}
    return {"runs": [run.body() for run in page[first:end]], **next_page}


def _history(call: Call) -> Data:
    key = runs.text(call, "metric_key")
    values = [entry for entry in runs.find(call, _id(call)).metrics if entry.name == key]
    return {"metrics": [runs.metric_body(entry) for entry in values]}


def _experiments(call: Call) -> list[dict[str, Data]]:
    """Return the experiments: those that were created, and those with jobs."""
    stored = {
        item.name[len(f"{call.scope}/") :]: item.note
        for item in call.blob_store.list(ItemKind.EXPERIMENT, f"{call.scope}/")
    }
    job_experiments = (job.row.note.get("experimentName") for job in records.list_jobs(call.handle))
    names = dict.fromkeys([runs.DEFAULT, *stored, *(str(name) for name in job_experiments if name)])
    return [
        {
            "experiment_id": (number := runs.experiment_id(call, name)),
            "name": name,
            "artifact_location": f"mlflow-artifacts:/{number}",
            "lifecycle_stage": "active",
            "tags": [{"key": k, "value": v} for k, v in stored.get(name, {}).items()],
        }
        for name in names
    ]


def _experiment(call: Call, key: str, value: str) -> Data:
    match = next((entry for entry in _experiments(call) if entry[key] == value), None)
    if match is None:
        raise NotFound(_NO_SUCH, f"There is no experiment with the {key} `{value}`", status=404)
    return {"experiment": match}


def _create_experiment(call: Call) -> Data:
    name = runs.text(call, "name")
    if any(entry["name"] == name for entry in _experiments(call)):
        raise Permanent("RESOURCE_ALREADY_EXISTS", f"The experiment `{name}` already exists.")
    call.blob_store.put(ItemKind.EXPERIMENT, f"{call.scope}/{name}", _pairs(call.data.get("tags")))
    return {"experiment_id": runs.experiment_id(call, name)}


def _create_model(call: Call) -> Data:
    """A model of MLflow 3: its files are artifacts of its run, where `runs:/ID/NAME` finds them."""
    run, name = runs.text(call, "source_run_id"), runs.text(call, "name")
    runs.find(call, run)
    number = f"m-{uuid4().hex}"
    info: dict[str, Data] = {
        "model_id": number,
        "name": name,
        "experiment_id": call.data.get("experiment_id") or "0",
        "source_run_id": run,
        "model_type": call.data.get("model_type") or "",
        "status": "LOGGED_MODEL_PENDING",
        "artifact_uri": f"mlflow-artifacts:/{run}/{_ROOT}/{name}",
        "tags": call.data.get("tags") or [],
    }
    model = {"info": info, "data": {"params": call.data.get("params") or []}}
    call.blob_store.put(ItemKind.LOGGED_MODEL, f"{call.scope}/{number}", model)
    return {"model": model}


def _logged_model(call: Call, number: str, part: str = "") -> Data:
    """Return a model, unchanged or finished (PATCH) or with more tags or parameters."""
    body: dict[str, Data] = call.data

    def change(model: Data) -> Data:
        if model is None:
            raise NotFound(_NO_SUCH, f"There is no logged model `{number}`", status=404)
        info, data = model["info"], model["data"]
        if part == "params":
            data = {**data, "params": [*data["params"], *(body.get("params") or [])]}
        elif part == "tags":
            info = {**info, "tags": [*info["tags"], *(body.get("tags") or [])]}
        elif body.get("status"):
            info = {**info, "status": body["status"]}
        return {"info": info, "data": data}

    return {
        "model": call.blob_store.update(ItemKind.LOGGED_MODEL, f"{call.scope}/{number}", change)
    }


def _artifacts_of(call: Call, path: str) -> dict[str, Any]:
    """The blobs of the artifacts below a path, `RUN/artifacts/...`, by their own paths."""
    run, _, _ = path.partition("/")
    with suppress(NotFound):
        uploads.write_job_files(call, jobs.get_job(call, run))
    root = _blob(call, f"{run}/{_ROOT}/")
    listed = call.blob_store.list(ItemKind.BLOB, root)
    return {f"{run}/{_ROOT}/{item.name.removeprefix(root)}": item for item in listed}


def _blob(call: Call, path: str) -> str:
    run, _, inner = path.partition("/")
    name = inner.removeprefix(_ROOT).lstrip("/")
    return f"{uploads.artifacts_folder(call, run)}/{name}"


def _list(call: Call, path: str) -> Data:
    """List what is directly below a path; for a file, the file."""
    folder, listed = path.rstrip("/") + "/", dict[str, Data]()
    for name, item in _artifacts_of(call, path).items():
        if name == path:
            return [
                {"path": name.rpartition("/")[2], "is_dir": False, "file_size": item.note["size"]}
            ]
        first, below, _ = name.removeprefix(folder).partition("/")
        if name.startswith(folder):
            size = {} if below else {"file_size": item.note["size"]}
            listed[first] = {"path": first, "is_dir": bool(below), **size}
    return list(listed.values())


def _artifact(call: Call) -> Response:
    path, method = call.names.get("path", ""), call.request.method
    if not path:
        return json_response({"files": _list(call, runs.text(call, "path"))})
    if method == "PUT":
        container = uploads.container(call, datastores.ARTIFACTS)
        name = _blob(call, path).removeprefix(f"{container}/")
        blobs.write_blob(call, container, name, call.request.body)
        return json_response({})
    item = _artifacts_of(call, path).get(path)
    if item is None:
        raise NotFound(_NO_SUCH, f"There is no artifact `{path}`", status=404)
    if method == "DELETE":
        call.blob_store.delete(ItemKind.BLOB, item.name)
        return json_response({})
    content = call.blob_store.content(ItemKind.BLOB, item.name)
    return Response(200, {"content-type": "application/octet-stream"}, content)


def _list_of_run(call: Call) -> Data:
    root = f"{_id(call)}/{_ROOT}"
    path = call.request.query_value("path")
    listed = _list(call, f"{root}/{path}".rstrip("/"))
    files = [{**entry, "path": f"{path}/{entry['path']}".lstrip("/")} for entry in listed]
    return {"root_uri": f"mlflow-artifacts:/{root}", "files": files}


def _nothing(call: Call) -> Data:
    """Accept datasets and models of runs, which are not stored."""
    runs.find(call, _id(call))
    return {}


_HANDLERS: dict[str, Callable[[Call], Data]] = {
    "POST runs/create": _create,
    "GET runs/get": _get,
    "POST runs/update": _update,
    "POST runs/delete": _logs("info", lambda _: {"lifecycle_stage": "deleted"}),
    "POST runs/restore": _logs("info", lambda _: {"lifecycle_stage": "active"}),
    "POST runs/log-metric": _log_metric,
    "POST runs/log-parameter": _logs("params", _pair),
    "POST runs/set-tag": _logs("tags", _pair),
    "POST runs/delete-tag": _logs("tags", _pair),
    "POST runs/log-batch": _batch,
    "POST runs/log-inputs": _nothing,
    "POST runs/outputs": _nothing,
    "POST runs/log-model": _nothing,
    "POST runs/search": _search,
    "GET metrics/get-history": _history,
    "GET artifacts/list": _list_of_run,
    "GET experiments/get": lambda call: _experiment(
        call, "experiment_id", runs.text(call, "experiment_id")
    ),
    "GET experiments/get-by-name": lambda call: _experiment(
        call, "name", runs.text(call, "experiment_name")
    ),
    "POST experiments/create": _create_experiment,
    "POST experiments/search": lambda call: {"experiments": _experiments(call)},
    "GET experiments/search": lambda call: {"experiments": _experiments(call)},
    "POST logged-models": _create_model,
    # Clients ask for those of a run beside its artifacts, among which theirs are already.
    "POST logged-models/search": lambda _call: {"models": []},
    **registry.HANDLERS,
}
