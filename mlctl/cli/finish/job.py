"""`mlctl finish` of jobs that are no shards: each run does all, or goes on from a checkpoint."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mlctl import pointer
from mlctl.backends.ports.backend import Backend
from mlctl.cli.az import submit
from mlctl.cli.finish.offer import Offer, Request, inputs_of
from mlctl.cli.finish.options import policies_of
from mlctl.cli.forecast.args import weather_of
from mlctl.cli.forecast.output import refusals
from mlctl.cli.forecast.subject import stated_prices, with_live
from mlctl.cli.local.workload_flags import workload_of
from mlctl.cli.shell import Session, UsageError
from mlctl.config import graph as graphs
from mlctl.config.graph import Graph
from mlctl.dataclasses import replace
from mlctl.finishing.begin import Option, ranked
from mlctl.forecast.fields import ForecastError
from mlctl.forecast.training.reading import TrainingSubject, TrainingWanted, read_job
from mlctl.forecast.training.recovery import RecoveryStudy, as_batch
from mlctl.forecast.training.rounds import of_steps, rounds_of
from mlctl.kinds import Address
from mlctl.kinds.resource import Resource


def offered(session: Session, request: Request) -> Offer | None:
    """The job in a file as it will be done; None where the file is not valid, which is said.

    Raises:
        ForecastError: it cannot go on from a checkpoint that is named, or cannot be forecast.
        ServiceError: the workspace cannot be read.
    """
    args = request.order
    output, _, resumes = (args.checkpoint or "").partition(":")
    with refusals(), session.backend() as backend:
        flags = submit.JobArgs(**_ONLY | {"file": args.file})
        resources = submit.resources(session, backend, flags)
        if resources is None:
            return None
        job, assets = resources
        submit.refuse(job)
        if output:
            _check(job, output, resumes or output)
        graph = with_live(graphs.build([job, *assets], backend.scope), backend, job.address)
        wanted = _wanted(session, backend, request)
        subject = read_job(graph, job, rounds_of(job), wanted)
        body = submit.body(job, backend.scope)["properties"]
    if subject.cluster is None and body["jobType"] == "Pipeline":
        raise UsageError("the steps run on serverless nodes: give them a cluster of low priority.")
    offer = request.offer(
        _compared(request, subject),
        wanted.workload,
        re.sub(r"[^A-Za-z0-9]+", "-", Path(str(args.file)).stem).strip("-") or "job",
        subject.cluster.address.name if subject.cluster is not None else "",
        endpoint="",
        inputs={},
        job=body,
        checkpoint=output,
        resumes=resumes or output,
        whole=not output,
    )

    def prepare(workspace: Backend) -> None:
        for asset in assets:
            submit.register(workspace, asset)

    return replace(offer, prepare=prepare)


def offered_component(session: Session, request: Request, deployment: Address) -> Offer | None:
    """A job of a deployment of a pipeline component as it will be done; None: it is of a model.

    Raises:
        ForecastError: it cannot be forecast.
        ServiceError: the workspace cannot be read.
    """
    with refusals(), session.backend() as backend:
        graph = with_live(Graph({}, ()), backend, deployment)
        resource = graph.resources.get(deployment)
        if resource is None or resource.get("type") != "pipeline":
            return None
        name, _, version = str(resource.get("component")).removeprefix("azureml:").partition(":")
        component = Address("component", name, None, version)
        live = backend.read([component]).get(component)
        at = ("properties", "componentSpec", "jobs")
        rounds = of_steps(pointer.get(live.body, at) or {} if live is not None else {})
        wanted = _wanted(session, backend, request)
        subject = read_job(graph, resource, rounds, wanted)
    return request.offer(
        _compared(request, subject),
        wanted.workload,
        str(deployment.parent),
        deployment.name,
        endpoint=deployment.parent,
        inputs=inputs_of(request.order.input),
        whole=True,
    )


def _wanted(session: Session, backend: Backend, request: Request) -> TrainingWanted:
    where = f"{backend.scope.resource_group}/{backend.scope.workspace}"
    workload = workload_of(request.training)
    return TrainingWanted(workload, request.settings, stated_prices(session, request.prices), where)


def _compared(request: Request, subject: TrainingSubject) -> list[Option]:
    """What could be done, the best first."""
    args, resumes = request.order, request.order.checkpoint is not None
    scenario = as_batch(subject.scenario).under(weather_of(args.weather).processes())
    studies = [
        RecoveryStudy(
            scenario,
            replace(policy, resumes=resumes, shards=None if resumes else 1),
            job=subject.scenario.job,
        )
        for policy in policies_of(args, request.deadline_s)
    ]
    makes_twin = args.sure is None and subject.cluster is not None
    return ranked(studies, request.deadline_s, makes_twin=makes_twin)


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
        text = f"each run has a separate folder for `{output}`: remove its path"
        raise ForecastError(text, job.label(("outputs", output, "path")))
    entry = inputs.get(resumes)
    if not isinstance(entry, dict) or str(entry.get("type") or "uri_folder") != "uri_folder":
        text = (
            f"the job has no input `{resumes}` of the type uri_folder, from which a run goes on:"
            " declare it, with an empty folder for the first run, or name another one:"
            f" --checkpoint {output}:INPUT"
        )
        raise ForecastError(text, job.label(("inputs",)))
