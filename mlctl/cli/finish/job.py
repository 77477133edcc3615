"""`mlctl finish -f`: a command job, whose runs go on from each other's checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlctl.backends.ports.backend import Backend
from mlctl.cli.az import submit
from mlctl.cli.forecast.args import FileArgs
from mlctl.cli.forecast.subject import stated_prices, with_live
from mlctl.cli.local import workload_flags
from mlctl.cli.local.workload_flags import TrainingFlags
from mlctl.cli.shell import Session
from mlctl.config import graph as graphs
from mlctl.dataclasses import asdict, replace
from mlctl.forecast.fields import ForecastError
from mlctl.kinds.resource import Resource

if TYPE_CHECKING:
    from mlctl.finishing.order import Order
    from mlctl.forecast.batch.policy import RecoveryPolicy
    from mlctl.simulator.engine.model import SimulationSettings
    from mlctl.simulator.engine.processes import PreemptionProcess

Prepare = Callable[[Backend], None]  # what has to be in the workspace before the first run


def ordered(
    session: Session,
    file: str,
    checkpoint: str,
    *,
    work: TrainingFlags,
    prices: FileArgs,
    settings: SimulationSettings,
    weather: tuple[PreemptionProcess, ...],
    policies: Sequence[RecoveryPolicy],
    deadline_s: float | None,
    sure: str | None,
    facts: Mapping[str, Any],
) -> tuple[Order, list[dict[str, Any]], Prepare] | None:
    """The order of the job in a file, its forecasts, and what to prepare.

    `checkpoint` is OUTPUT, or OUTPUT:INPUT; `facts` are the fields of the order that flags say.
    None where something is wrong with the file, which has been said.

    Raises:
        ForecastError: it is no job that can go on from a checkpoint, or none that can be forecast.
        ServiceError: the workspace cannot be read.
    """
    from mlctl.finishing import begin
    from mlctl.forecast.training.reading import TrainingWanted, read
    from mlctl.forecast.training.recovery import RecoveryStudy, as_batch

    workload = workload_flags.workload_of(work)
    output, _, resumes = checkpoint.partition(":")
    resumes = resumes or output
    with session.backend() as backend:
        resources = submit.resources(session, backend, submit.JobArgs(**_ONLY | {"file": file}))
        if resources is None:
            return None
        job, assets = resources
        submit.refuse(job)
        _check(job, output, resumes)
        graph = with_live(graphs.build([job, *assets], backend.scope), backend, job.address)
        stated = stated_prices(session, prices)
        where = f"{backend.scope.resource_group}/{backend.scope.workspace}"
        subject = read(graph, TrainingWanted(workload, settings, stated, where))
        body = submit.body(job, backend.scope)["properties"]
    scenario, cluster = subject.scenario, subject.cluster
    spec = scenario.job
    batch = as_batch(scenario).under(weather)
    studies = [RecoveryStudy(batch, replace(policy, resumes=True), job=spec) for policy in policies]
    makes_twin = sure is None and cluster is not None
    compared = begin.ranked(studies, deadline_s, makes_twin=makes_twin)
    name = cluster.address.name if cluster is not None else ""
    order = begin.order_of(
        compared[0],
        deadline_s,
        endpoint="",
        deployment=name,
        dedicated=sure or (f"{name}-dedicated" if name else ""),
        makes_twin=makes_twin,
        inputs={},
        files=(),
        job=body,
        checkpoint=output,
        resumes=resumes,
        workload={key: part for key, part in asdict(workload).items() if part is not None},
        **facts,
    )

    def prepare(backend: Backend) -> None:
        for asset in assets:
            submit.register(backend, asset)

    return order, [option.document() for option in compared], prepare


_ONLY: dict[str, Any] = dict.fromkeys(submit.JobArgs.__dataclass_fields__)


def _check(job: Resource, output: str, resumes: str) -> None:
    """Refuse a job of which no run can go on from the checkpoint of another one."""
    outputs, inputs = job.get("outputs") or {}, job.get("inputs") or {}
    if output not in outputs:
        listed = ", ".join(map(str, outputs)) or "none"
        text = f"the job has no output `{output}` for its checkpoints: it has {listed}"
        raise ForecastError(text, job.label(("outputs",)))
    declared = outputs[output] or {}
    if declared.get("mode") == "upload":
        text = (
            f"`{output}` is uploaded when a run ends, so that a lost run leaves no checkpoint:"
            " set mode: rw_mount"
        )
        raise ForecastError(text, job.label(("outputs", output, "mode")))
    if declared.get("path"):
        text = f"every run has a folder of its own for `{output}`: leave its path out"
        raise ForecastError(text, job.label(("outputs", output, "path")))
    entry = inputs.get(resumes)
    if not isinstance(entry, dict) or str(entry.get("type") or "uri_folder") != "uri_folder":
        text = (
            f"the job has no input `{resumes}` of the type uri_folder, from which a run goes on:"
            " declare it, with an empty folder for the first run, or name another one:"
            f" --checkpoint {output}:INPUT"
        )
        raise ForecastError(text, job.label(("inputs",)))


def stem(file: str) -> str:
    """What a job is called after its file."""
    return Path(file).stem if file != "-" else "job"
