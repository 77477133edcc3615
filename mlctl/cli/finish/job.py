"""`mlctl finish` for jobs without shards: each run does the whole job, or resumes a checkpoint."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mlctl import pointer
from mlctl.backends.ports.backend import Backend
from mlctl.cli.az import submit
from mlctl.cli.finish.options import FinishFlags, Offer, build_inputs, select_policies
from mlctl.cli.forecast.args import refusals
from mlctl.cli.forecast.subject import stated_prices, with_live
from mlctl.cli.local.flags import weather_of, workload_of
from mlctl.cli.shell import Session, UsageError
from mlctl.config import graph as graphs
from mlctl.config.graph import Graph
from mlctl.dataclasses import replace
from mlctl.finishing.begin import PolicyForecast, rank_studies
from mlctl.forecast.batch.reading import Wanted
from mlctl.forecast.fields import ForecastError
from mlctl.forecast.training.reading import TrainingSubject, of_steps, read_job, rounds_of
from mlctl.forecast.training.recovery import RecoveryStudy, as_batch
from mlctl.kinds import Address
from mlctl.kinds.resource import Resource


def build_offer(session: Session, request: FinishFlags) -> Offer | None:
    """Build the offer for the job in a file; None if the file is invalid, which is reported.

    Raises:
        ForecastError: the job cannot be forecast, or cannot resume from the checkpoint.
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
            _check_checkpoint(job, output, resumes or output)
        graph = with_live(graphs.build([job, *assets], backend.scope), backend, job.address)
        forecast_request = _build_request(session, backend, request)
        subject = read_job(graph, job, rounds_of(job), forecast_request)
        body = submit.body(job, backend.scope)["properties"]
    if subject.cluster is None and body["jobType"] == "Pipeline":
        raise UsageError("the steps run on serverless compute: give them a low-priority cluster.")
    offer = request.offer(
        _compare_policies(request, subject),
        forecast_request.workload,
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


def build_component_offer(
    session: Session, request: FinishFlags, deployment: Address
) -> Offer | None:
    """Build the offer for a deployment of a pipeline component; None if it deploys a model.

    Raises:
        ForecastError: the job cannot be forecast.
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
        forecast_request = _build_request(session, backend, request)
        subject = read_job(graph, resource, rounds, forecast_request)
    return request.offer(
        _compare_policies(request, subject),
        forecast_request.workload,
        str(deployment.parent),
        deployment.name,
        endpoint=deployment.parent,
        inputs=build_inputs(request.order.input),
        whole=True,
    )


def _build_request(session: Session, backend: Backend, request: FinishFlags) -> Wanted:
    workspace = f"{backend.scope.resource_group}/{backend.scope.workspace}"
    workload = workload_of(request.training)
    return Wanted(
        workload,
        prices=stated_prices(session, request.prices),
        settings=request.settings,
        workspace=workspace,
    )


def _compare_policies(request: FinishFlags, subject: TrainingSubject) -> list[PolicyForecast]:
    """Forecast the policies and return the options, best first."""
    args, resumes = request.order, request.order.checkpoint is not None
    scenario = as_batch(subject.scenario).under(weather_of(args.weather).processes())
    studies = [
        RecoveryStudy(
            scenario,
            replace(policy, resumes=resumes, shards=None if resumes else 1),
            job=subject.scenario.job,
        )
        for policy in select_policies(args, request.deadline_s)
    ]
    makes_twin = args.sure is None and subject.cluster is not None
    return rank_studies(studies, request.deadline_s, makes_twin=makes_twin)


_ONLY: dict[str, Any] = dict.fromkeys(submit.JobArgs.__dataclass_fields__)


def _check_checkpoint(job: Resource, output: str, resumes: str) -> None:
    """Refuse a job whose runs cannot resume from a checkpoint."""
    outputs, inputs = job.get("outputs") or {}, job.get("inputs") or {}
    if output not in outputs:
        listed = ", ".join(map(str, outputs)) or "none"
        text = f"the job has no output `{output}` for its checkpoints; its outputs: {listed}"
        raise ForecastError(text, job.label(("outputs",)))
    declared = outputs[output] or {}
    if declared.get("mode") == "upload":
        text = (
            f"`{output}` is uploaded only when a run ends, so a lost run leaves no checkpoint:"
            " set mode: rw_mount"
        )
        raise ForecastError(text, job.label(("outputs", output, "mode")))
    if declared.get("path"):
        text = f"each run has a separate folder for `{output}`: remove its path"
        raise ForecastError(text, job.label(("outputs", output, "path")))
    entry = inputs.get(resumes)
    if not isinstance(entry, dict) or str(entry.get("type") or "uri_folder") != "uri_folder":
        text = (
            f"the job has no input `{resumes}` of type uri_folder for a run to resume from:"
            " declare it, with an empty folder for the first run, or name another one with"
            f" --checkpoint {output}:INPUT"
        )
        raise ForecastError(text, job.label(("inputs",)))
