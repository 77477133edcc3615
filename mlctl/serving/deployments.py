"""A deployment of the simulated cloud as a scoring script with its folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mlctl import files, rehearsal
from mlctl.dataclasses import dataclass, field
from mlctl.durations import parse_iso
from mlctl.kinds.address import Address
from mlctl.pointer import Data, get
from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.jobs import batch_jobs
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

BATCH_DRIVER, ONLINE_DRIVER = "mlflow_model.py", "mlflow_online.py"
_DRIVERS = Path(rehearsal.__file__).parent / "drivers"
_WORKERS = "WORKER_COUNT"  # of the inference server: how many processes answer


@dataclass(frozen=True, slots=True)
class CodeSettings:
    """Where code is run: by which Python, with which environment; `locate` finds what a URI names.

    `locate` gives None where nothing is known of a URI.
    """

    python: str
    locate: Callable[[str], Path | None]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OnlineLimits:
    """How an online deployment answers: seconds for a request, how many at once, by how many.

    "a maximum of `2 * max_concurrent_requests_per_instance * instance_count` requests to be
    processed in parallel" (how-to-troubleshoot-online-endpoints, 429).
    """

    timeout: float
    capacity: int
    workers: int

    @classmethod
    def of(cls, body: Mapping[str, Data]) -> OnlineLimits:
        """The limits of a deployment's ARM body."""
        settings = get(body, ("properties", "requestSettings")) or {}
        variables = get(body, ("properties", "environmentVariables")) or {}
        instances = int(get(body, ("sku", "capacity")) or 1)
        workers = str(variables.get(_WORKERS) or 1)
        return cls(
            parse_iso(str(settings.get("requestTimeout") or "PT5S")),
            2 * int(settings.get("maxConcurrentRequestsPerInstance") or 1) * instances,
            int(workers) if workers.isdecimal() and int(workers) else 1,
        )


def of_body(
    workspace: WorkspaceHandle, address: Address, body: Mapping[str, Data], code: CodeSettings
) -> Deployment:
    """The script, the code and the model of a deployment's ARM body.

    Raises:
        Permanent: it has neither a script nor an MLflow model, or its files are not here.
    """
    properties = body["properties"]
    model_id = properties.get("model")
    if isinstance(model_id, Mapping):
        model_id = model_id.get("assetId")
    model = _files(workspace, "model", str(model_id), code) if model_id else None
    configuration = properties.get("codeConfiguration") or {}
    script = configuration.get("scoringScript")
    if script:
        folder = _files(workspace, "code", str(configuration.get("codeId")), code)
    else:
        script = ONLINE_DRIVER if properties.get("instanceType") else BATCH_DRIVER
        folder = _DRIVERS
        if model is None or not any(model.rglob("MLmodel")):
            why = "has neither a scoring script nor an MLflow model"
            raise Permanent("NoCode", f"{address} {why}: there is no code to run")
    if not files.is_file(folder / script):
        raise Permanent("NoScript", f"{address}: there is no `{script}` in its code, `{folder}`")
    declared = properties.get("environmentVariables") or {}
    variables = {str(name): str(value) for name, value in declared.items()}
    return Deployment(folder / script, folder, model, variables)


_URIS = {"model": "modelUri", "code": "codeUri", "data": "dataUri"}


def _files(workspace: WorkspaceHandle, kind: str, text: str, code: CodeSettings) -> Path:
    """The files of an asset that an id or a reference names.

    Raises:
        Permanent: it is of elsewhere, or its files are not here.
    """
    return located(asset_uri(workspace, kind, text), f"{kind} {text.rpartition('/')[2]}", code)


def asset_uri(workspace: WorkspaceHandle, kind: str, text: str) -> str:
    """The URI of the files of an asset.

    Raises:
        Permanent: it is not of this workspace.
    """
    with workspace.store.read() as db:
        state = workspace.state(db)
    address = batch_jobs.address_in(state, text, kind)
    stored = service.read(workspace, [address]).get(address) if address else None
    if stored is None or address is None:
        why = f"`{text}` is no {kind} of this workspace: its files are not here"
        raise Permanent("NoFiles", f"{why}; register a copy in the workspace")
    return str(stored.body["properties"].get(_URIS[kind]) or "")


def located(uri: str, label: str, code: CodeSettings) -> Path:
    """The files that a URI names.

    Raises:
        Permanent: they are not here.
    """
    path = code.locate(uri)
    if path is None or not (files.is_file(path) or files.is_folder(path)):
        where = f"`{path}` is gone" if path else f"nothing is known of `{uri}`"
        raise Permanent(
            "NoFiles",
            f"the files of {label} are not on this machine: {where}; write it again from its file",
        )
    return path
