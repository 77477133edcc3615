"""`mlctl finish` of jobs that are no shards: each run does all, or goes on from a checkpoint."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlctl import pointer
from mlctl.backends.ports.backend import Backend
from mlctl.cli.az import submit
from mlctl.cli.finish.offer import Offer, inputs_of
from mlctl.cli.finish.options import OrderArgs, policies_of
from mlctl.cli.forecast.args import FileArgs, weather_of
from mlctl.cli.forecast.output import refusals
from mlctl.cli.forecast.subject import stated_prices, with_live
from mlctl.cli.local import workload_flags
from mlctl.cli.local.workload_flags import TrainingFlags
from mlctl.cli.shell import Session, UsageError
from mlctl.config import graph as graphs
from mlctl.config.graph import Graph
from mlctl.dataclasses import replace
from mlctl.finishing import begin
from mlctl.forecast.fields import ForecastError
from mlctl.forecast.training.reading import TrainingSubject, TrainingWanted, read_job
from mlctl.forecast.training.recovery import RecoveryStudy, as_batch
from mlctl.forecast.training.rounds import of_steps, rounds_of
from mlctl.kinds import Address
from mlctl.kinds.resource import Resource
from mlctl.workload import Workload

if TYPE_CHECKING:
    from mlctl.finishing.order import Order
    from mlctl.simulator.engine.model import SimulationSettings


def offered(
    session: Session,
    order_args: OrderArgs,
    work: TrainingFlags,
    prices: FileArgs,
    settings: SimulationSettings,
    deadline_s: float | None,
) -> Offer | None:
    """The job in a file as it will be done; None where the file is not valid, which is said.

    Raises:
        ForecastError: it cannot go on from a checkpoint that is named, or cannot be forecast.
        ServiceError: the workspace cannot be read.
    """
    output, _, resumes = (order_args.checkpoint or "").partition(":")
    with refusals(), session.backend() as backend:
        flags = submit.JobArgs(**_ONLY | {"file": order_args.file})
        resources = submit.resources(session, backend, flags)
        if resources is None:
            return None
        job, assets = resources
        submit.refuse(job)
        if output:
            _check(job, output, resumes or output)
        graph = with_live(graphs.build([job, *assets], backend.scope), backend, job.address)
        wanted = _wanted(session, backend, work, prices, settings)
        subject = read_job(graph, job, rounds_of(job), wanted)
        body = submit.body(job, backend.scope)["properties"]
    if subject.cluster is None and body["jobType"] == "Pipeline":
        raise UsageError("the steps run on serverless nodes: give them a cluster of low priority.")
    cluster = subject.cluster.address.name if subject.cluster is not None else ""
    order, compared = _order(
        order_args,
        subject,
        wanted.workload,
        deadline_s,
        name=order_args.name or f"{_stem(order_args)}-{secrets.token_hex(3)}",
        endpoint="",
        deployment=cluster,
        dedicated=order_args.sure or (f"{cluster}-dedicated" if cluster else ""),
        inputs={},
        job=body,
        checkpoint=output,
        resumes=resumes or output,
    )

    def prepare(backend: Backend) -> None:
        for asset in assets:
            submit.register(backend, asset)

    return Offer(order, compared, prepare)


def offered_component(
    session: Session,
    order_args: OrderArgs,
    deployment: Address,
    work: TrainingFlags,
    prices: FileArgs,
    settings: SimulationSettings,
    deadline_s: float | None,
) -> Offer:
    """A job of a deployment of a pipeline component as it will be done: a whole run, or none.

    Raises:
        ForecastError: it cannot be forecast.
        ServiceError: the workspace cannot be read.
    """
    with refusals(), session.backend() as backend:
        graph = with_live(Graph({}, ()), backend, deployment)
        resource = graph.resources[deployment]
        name, _, version = str(resource.get("component")).removeprefix("azureml:").partition(":")
        component = Address("component", name, None, version)
        live = backend.read([component]).get(component)
        at = ("properties", "componentSpec", "jobs")
        rounds = of_steps(pointer.get(live.body, at) or {} if live is not None else {})
        wanted = _wanted(session, backend, work, prices, settings)
        subject = read_job(graph, resource, rounds, wanted)
    order, compared = _order(
        order_args,
        subject,
        wanted.workload,
        deadline_s,
        name=order_args.name or f"{order_args.endpoint}-{secrets.token_hex(3)}",
        endpoint=deployment.parent,
        deployment=deployment.name,
        dedicated=order_args.sure or f"{deployment.name}-dedicated",
        inputs=inputs_of(order_args.input),
    )
    return Offer(order, compared)


def _wanted(
    session: Session,
    backend: Backend,
    work: TrainingFlags,
    prices: FileArgs,
    settings: SimulationSettings,
) -> TrainingWanted:
    where = f"{backend.scope.resource_group}/{backend.scope.workspace}"
    workload = workload_flags.workload_of(work)
    return TrainingWanted(workload, settings, stated_prices(session, prices), where)


def _order(
    order_args: OrderArgs,
    subject: TrainingSubject,
    workload: Workload,
    deadline_s: float | None,
    **facts: Any,
) -> tuple[Order, list[dict[str, Any]]]:
    """The order by the best policy, and all that were compared as data."""
    resumes, makes_twin = bool(facts.get("checkpoint")), order_args.sure is None
    scenario = as_batch(subject.scenario).under(weather_of(order_args.weather).processes())
    studies = [
        RecoveryStudy(
            scenario,
            replace(policy, resumes=resumes, shards=None if resumes else 1),
            job=subject.scenario.job,
        )
        for policy in policies_of(order_args, deadline_s)
    ]
    makes_twin = makes_twin and subject.cluster is not None
    options = begin.ranked(studies, deadline_s, makes_twin=makes_twin)
    facts |= {"files": (), "makes_twin": makes_twin, "whole": not resumes, **order_args.limits}
    order = begin.order_of(options[0], deadline_s, workload, **facts)
    return order, [option.document() for option in options]


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


def _stem(order_args: OrderArgs) -> str:
    """What a job is called after its file."""
    return "job" if order_args.file in (None, "-") else Path(str(order_args.file)).stem
