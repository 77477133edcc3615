"""Deployments of the simulated cloud as scoring scripts with their folders."""

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
_WORKERS = "WORKER_COUNT"  # the inference server's setting for the number of processes


@dataclass(frozen=True, slots=True)
class CodeSettings:
    """How code runs: the Python and the environment; `locate` finds the files of a URI.

    `locate` returns None for unknown URIs.
    """

    python: str
    locate: Callable[[str], Path | None]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OnlineLimits:
    """Limits of an online deployment: seconds per request, requests at once, processes.

    "a maximum of `2 * max_concurrent_requests_per_instance * instance_count` requests to be
    processed in parallel" (how-to-troubleshoot-online-endpoints, 429).
    """

    timeout: float
    capacity: int
    workers: int

    @classmethod
    def of(cls, body: Mapping[str, Data]) -> OnlineLimits:
        """Read the limits of a deployment's ARM body."""
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
    """Return the script, the code and the model of a deployment's ARM body.

    Raises:
        Permanent: it has neither a script nor an MLflow model, or its files are missing.
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
    """Return the files of an asset that an id or a reference names."""
    return locate(asset_uri(workspace, kind, text), f"{kind} {text.rpartition('/')[2]}", code)


def uri_of(workspace: WorkspaceHandle, kind: str, text: str) -> str:
    """Return the URI of a text that is one, or names an asset."""
    reference = text if text.startswith("azureml://") else text.removeprefix("azureml:")
    is_asset = text.startswith(("azureml:", "/subscriptions/")) and "://" not in reference
    return asset_uri(workspace, kind, f"azureml:{reference}") if is_asset else text


def asset_uri(workspace: WorkspaceHandle, kind: str, text: str) -> str:
    """Return the URI of the files of an asset.

    Raises:
        Permanent: it is not in this workspace.
    """
    state = workspace.current
    address = batch_jobs.address_in(state, text, kind)
    stored = service.read(workspace, [address]).get(address) if address else None
    if stored is None or address is None:
        why = f"`{text}` is not a {kind} of this workspace: its files are not on this machine"
        raise Permanent("NoFiles", f"{why}; register a copy in the workspace")
    return str(stored.body["properties"].get(_URIS[kind]) or "")


def locate(uri: str, label: str, code: CodeSettings) -> Path:
    """Return the files that a URI names.

    Raises:
        Permanent: they are missing.
    """
    path = code.locate(uri)
    if path is None or not (files.is_file(path) or files.is_folder(path)):
        where = f"`{path}` is gone" if path else f"`{uri}` is unknown"
        raise Permanent(
            "NoFiles",
            f"the files of {label} are not on this machine: {where}; create it again from its file",
        )
    return path
