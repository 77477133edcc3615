"""Read what to rehearse from the user's YAML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlctl import files
from mlctl.config.loader import LoadedConfig
from mlctl.kinds.records.batch_deployment import KIND as BATCH_DEPLOYMENT
from mlctl.kinds.resource import Resource
from mlctl.rehearsal import folders
from mlctl.rehearsal.inputs import RehearsalError
from mlctl.rehearsal.scoring import parallel
from mlctl.rehearsal.scoring.deployment import APPEND_ROW, Deployment
from mlctl.rehearsal.scoring.parallel import ParallelStep
from mlctl.rehearsal.training.job import from_job
from mlctl.rehearsal.training.model import Training

MLFLOW_DRIVER = "mlflow_model.py"
_DRIVERS = Path(__file__).parent / "drivers"


def from_documents(
    path: str,
    loaded: LoadedConfig,
    address: str | None = None,
    local_input: Path | None = None,
    nodes: int | None = None,
    *,
    stub: bool = False,
) -> Deployment | Training:
    """Return the batch deployment, parallel step or command job that a file or folder declares.

    `address` chooses one of several; `local_input` and `nodes` are those of a command job. An
    MLflow model without a script gets a driver; with `stub` one that needs no model.

    Raises:
        RehearsalError: there is none, or several, or it has no script, or cannot be read.
    """
    if loaded.report.failed:
        first = next(finding for finding in loaded.report if finding.is_error)
        raise RehearsalError(f"`{path}` is not valid: {first.message}; see `mlctl validate {path}`")
    subjects: dict[str, Resource | ParallelStep] = {
        str(resource.address): resource
        for resource in loaded.resources
        if resource.kind is BATCH_DEPLOYMENT or resource.get("command")
    }
    subjects |= {step.name: step for step in parallel.steps(loaded)}
    subject = _choose(path, subjects, address)
    if isinstance(subject, ParallelStep):
        return parallel.deployment(subject)
    if subject.kind is BATCH_DEPLOYMENT:
        return _deployment(subject, loaded, stub=stub)
    return from_job(subject, local_input, nodes)


def _choose(
    path: str, subjects: Mapping[str, Resource | ParallelStep], address: str | None
) -> Resource | ParallelStep:
    """Return the only subject, or the one with that address or name."""
    names = ", ".join(subjects)
    matching = [
        subject
        for name, subject in subjects.items()
        if address in (None, name, name.rpartition("/")[2])
    ]
    if not matching:
        has = f"; it has {names}" if names else ""
        missing = f"`{address}`" if address else "batch deployment, parallel step or command job"
        raise RehearsalError(f"`{path}` has no {missing}{has}")
    if len(matching) > 1:
        raise RehearsalError(f"`{path}` has several: choose one with --deployment ({names})")
    return matching[0]


def _deployment(resource: Resource, loaded: LoadedConfig, *, stub: bool) -> Deployment:
    folder = resource.document.folder
    script = resource.get("code_configuration", "scoring_script")
    if isinstance(script, str):
        code = files.real(folder / str(resource.get("code_configuration", "code") or "."))
    elif resource.get("component"):
        raise RehearsalError(f"{resource.address} has no scoring script: it runs a pipeline")
    else:
        code, script = _DRIVERS, "stub.py" if stub else MLFLOW_DRIVER
    if not files.is_file(code / script):
        raise RehearsalError(f"{resource.address}: there is no script `{script}` in `{code}`")

    def setting(*at: str, default: Any) -> Any:
        value = resource.effective(*at)
        return default if value is None else value

    retry = ("settings", "retry_settings")
    return Deployment(
        script=code / script,
        code=code,
        model=_model(resource, loaded),
        variables=folders.declared_variables(resource.get("environment_variables")),
        nodes=int(setting("resources", "instance_count", default=1)),
        slots=int(setting("settings", "max_concurrency_per_instance", default=1)),
        mini_batch_size=int(setting("settings", "mini_batch_size", default=10)),
        tries=int(setting(*retry, "max_retries", default=3)),
        timeout=float(setting(*retry, "timeout", default=30)),
        error_threshold=int(setting("settings", "error_threshold", default=-1)),
        output_action=str(setting("settings", "output_action", default=APPEND_ROW)),
        output_file_name=str(setting("settings", "output_file_name", default="predictions.csv")),
    )


def _model(resource: Resource, loaded: LoadedConfig) -> Path | None:
    """Return the local files of the model that a deployment names or declares inline."""
    inline = resource.get("model", "path") if isinstance(resource.get("model"), dict) else None
    if isinstance(inline, str):
        return _local(resource.document.folder / inline)
    for edge in loaded.graph.edges_of(resource.address):
        if edge.at == ("model",) and edge.target is not None:
            for address in loaded.graph.declared(edge.target):
                model = loaded.graph.resources[address]
                path = model.text("path")
                if path is not None:
                    return _local(model.document.folder / path)
    return None


def _local(path: Path) -> Path | None:
    real = files.real(path)
    return real if files.is_file(real) or files.is_folder(real) else None
