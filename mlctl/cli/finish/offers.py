"""The offers of `mlctl finish`: for a job in a file, a pipeline component, or an endpoint."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mlctl import pointer
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.jobs import SupportsFolders
from mlctl.cli.az import submit
from mlctl.cli.finish.options import FinishFlags, Offer, OrderArgs, build_inputs, select_policies
from mlctl.cli.forecast.args import SubjectArgs, refusals
from mlctl.cli.forecast.subject import default_deployment, read_subject, stated_prices, with_live
from mlctl.cli.local.flags import BatchFlags, TrainingFlags, weather_of, workload_of
from mlctl.cli.shell import InvalidValue, Session, UsageError
from mlctl.cli.shell.rule_choice import new_report
from mlctl.config import graph as graphs
from mlctl.config.graph import Graph
from mlctl.dataclasses import asdict, replace
from mlctl.files import expanded
from mlctl.finishing import begin
from mlctl.finishing.begin import PolicyForecast, rank_studies
from mlctl.finishing.order import Order, Split, split_by_folders
from mlctl.forecast.batch.reading import Subject, Wanted
from mlctl.forecast.fields import ForecastError
from mlctl.forecast.training.reading import TrainingSubject, of_steps, read_job, rounds_of
from mlctl.forecast.training.recovery import RecoveryStudy, as_batch
from mlctl.kinds import Address
from mlctl.kinds.records.batch_deployment import KIND as BATCH_DEPLOYMENT
from mlctl.kinds.records.batch_endpoint import KIND as BATCH_ENDPOINT
from mlctl.kinds.resource import Resource, is_local, local_path
from mlctl.rehearsal.inputs import Inputs, RehearsalError
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import Permanent


def offer_of_file(session: Session, request: FinishFlags) -> Offer | None:
    """Build the offer for the job in a file; None if the file is invalid, which is reported.

    Raises:
        ForecastError: the job cannot be forecast, or cannot resume from the checkpoint.
    """
    file = request.order.file
    output, _, resumes = (request.order.checkpoint or "").partition(":")
    with refusals(), session.backend() as backend:
        flags = submit.JobArgs(**_ONLY | {"file": file})
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
        _compare_recoveries(request, subject),
        forecast_request.workload,
        re.sub(r"[^A-Za-z0-9]+", "-", Path(str(file)).stem).strip("-") or "job",
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


def offer_of_component(session: Session, request: FinishFlags, deployment: Address) -> Offer | None:
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
        _compare_recoveries(request, subject),
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


def _compare_recoveries(request: FinishFlags, subject: TrainingSubject) -> list[PolicyForecast]:
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


def set_target_from_files(session: Session, paths: list[str], order_args: OrderArgs) -> OrderArgs:
    """Take the endpoint and deployment from the files, if no flag names an endpoint."""
    if order_args.endpoint is not None:
        return order_args
    report = new_report(session, None)
    resources = session.loader(report).load([*paths]).graph.resources.values()
    deployments = [resource.address for resource in resources if resource.kind is BATCH_DEPLOYMENT]
    if len(deployments) != 1:
        names = ", ".join(address.name for address in deployments) or "none"
        raise UsageError(
            f"the files declare {len(deployments)} batch deployments ({names});"
            " choose one with -n ENDPOINT -d DEPLOYMENT."
        )
    [address] = deployments
    deployment = order_args.deployment or address.name
    return replace(order_args, endpoint=address.parent, deployment=deployment)


def check_duration(work: BatchFlags, training: TrainingFlags) -> None:
    """Refuse work of unknown duration, before any file is applied."""
    workload = workload_of(work, training)
    seconds = workload.seconds_per_file, workload.seconds_per_mini_batch, workload.seconds_per_step
    if not any(seconds) and workload.times is None:
        raise UsageError(
            "the duration of the work is unknown: give --seconds-per-file S or"
            " --seconds-per-mini-batch S."
        )


def find_deployment(session: Session, order_args: OrderArgs) -> Address:
    """Find the deployment that takes the job."""
    endpoint = str(order_args.endpoint)
    if order_args.deployment is not None:
        return Address(BATCH_DEPLOYMENT.name, order_args.deployment, endpoint)
    return default_deployment(session, Graph({}, ()), Address(BATCH_ENDPOINT.name, endpoint))


def offer_of_endpoint(session: Session, request: FinishFlags) -> Offer | None:
    """Build the offer for a job of an endpoint; None if files are invalid, which is reported.

    Raises:
        ForecastError: the job cannot be forecast.
    """
    args, work = request.order, request.batch
    split = _split_input(session, args.input, work)
    is_azure = session.backend_name != "local"
    if is_azure and split.files:
        work = replace(work, files=len(split.files))
    about = "/".join(filter(None, (args.endpoint, args.deployment)))
    counted = args.input if work.files is None else None
    facts = asdict(request.prices) | {"mini_batches": None, "input": counted}
    with refusals():
        subject_args = SubjectArgs(**facts, deployment=about)
        subject = read_subject(session, (), subject_args, work, request.settings, None)
        if subject is None:
            return None
        offer = request.offer(
            _compare_policies(request, subject, split if is_azure else None),
            workload_of(work),
            str(args.endpoint),
            subject.deployment.address.name,
            endpoint=args.endpoint,
            inputs=build_inputs(args.input),
            files=split.files,
        )
    if not is_azure:
        return offer
    if split.reason and len(offer.order.sizes) == 1 and args.shards == "auto":
        session.note(f"one shard: the input cannot be split because {clean(split.reason)}")
    return replace(offer, order=_assign_folders(offer.order, split))


def _compare_policies(
    request: FinishFlags, subject: Subject, split: Split | None
) -> list[PolicyForecast]:
    """Forecast the policies and return the options, best first."""
    args = request.order
    scenario = subject.scenario.under(weather_of(args.weather).processes())
    shards = _parse_shards(args.shards)
    if split is not None and not split.source:
        shards = _count_folder_shards(split, shards)
    policies = select_policies(args, request.deadline_s)
    makes_twin = args.sure is None
    return begin.compare_policies(
        scenario, policies, shards, request.deadline_s, makes_twin=makes_twin
    )


def _assign_folders(order: Order, split: Split) -> Order:
    """Give each shard of the order a folder, if its input is split."""
    if split.source:
        order = replace(order, source=split.source, upload=f"mlctl-finish/{order.name}")
        at = "azureml://datastores/workspaceblobstore/paths/"
        shards_at = tuple(at + order.folder(shard) for shard in range(len(order.sizes)))
        return replace(order, folders=shards_at)
    if len(order.sizes) > 1:
        return replace(order, folders=split.folders, sizes=split.sizes)
    return order


def _split_input(session: Session, text: str | None, work: BatchFlags) -> Split:
    """Find how the input can be split; a simulated cloud has no files but local ones."""
    if text is None:
        return Split((), reason="it is missing")
    inputs = find_local_inputs(session, text, work)
    if inputs is not None:
        return Split(inputs.names, str(inputs.root.resolve()))
    if session.backend_name == "local":
        return Split(())
    try:
        with session.backend() as backend:
            assert isinstance(backend, SupportsFolders)  # every backend but the simulated cloud
            uri = backend.folders.locate(text)
            return split_by_folders(uri, [*backend.folders.files(uri)])
    except Permanent as error:
        if work.files is None:
            text = f"{error.message}; give their number with --files N, to score them in one shard"
            raise Permanent(error.code, text, status=error.status) from None
        return Split((), reason=error.message)


def find_local_inputs(session: Session, text: str, work: BatchFlags) -> Inputs | None:
    """List the files of a local input; None if the input is not on this machine.

    A simulated cloud also takes a path that does not exist if a flag gives the number of files.
    """
    path, is_simulated = expanded(local_path(text)), session.backend_name == "local"
    exists = is_simulated and path.exists()
    if not (is_local(text) or exists) or (is_simulated and not exists and work.files):
        return None
    try:
        return Inputs.find(path)
    except RehearsalError as error:
        raise InvalidValue(str(error), flag="--input") from None


def _parse_shards(text: str) -> int | None:
    """Parse `--shards`; None means the cheapest number."""
    if text == "auto":
        return None
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise InvalidValue(f"`{text}` is neither a positive number nor auto", flag="--shards")


def _count_folder_shards(split: Split, shards: int | None) -> int:
    """Count the shards of a stored input."""
    if shards == 1:
        return 1
    if not split.folders:
        if shards is None:
            return 1
        why = f"the input cannot be split because {split.reason}"
        hint = "use 1 or auto, a local folder, or put the files into subfolders"
        raise InvalidValue(f"{why}; {hint}", flag="--shards")
    if shards not in (None, len(split.folders)):
        why = f"each shard is a subfolder of the input, which has {len(split.folders)}"
        raise InvalidValue(f"{why}: use that number, 1 or auto", flag="--shards")
    return len(split.folders)
