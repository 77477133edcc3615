"""`mlctl finish -n`: a job of a batch endpoint, in shards."""

from __future__ import annotations

from mlctl.backends.ports.folders import SupportsFolders
from mlctl.cli.finish.offer import Offer, Request, inputs_of
from mlctl.cli.finish.options import OrderArgs, policies_of
from mlctl.cli.forecast.args import SubjectArgs, weather_of
from mlctl.cli.forecast.output import refusals
from mlctl.cli.forecast.subject import default_deployment, read_subject
from mlctl.cli.local.workload_flags import BatchFlags, workload_of
from mlctl.cli.shell import InvalidValue, Session, UsageError
from mlctl.cli.shell.rule_choice import new_report
from mlctl.config.graph import Graph
from mlctl.dataclasses import asdict, replace
from mlctl.files import expanded
from mlctl.finishing import begin
from mlctl.finishing.begin import Option
from mlctl.finishing.order import Order
from mlctl.finishing.split import Split, by_folders
from mlctl.forecast.batch.reading import Subject
from mlctl.kinds import Address
from mlctl.kinds.records.batch_deployment import KIND as BATCH_DEPLOYMENT
from mlctl.kinds.records.batch_endpoint import KIND as BATCH_ENDPOINT
from mlctl.kinds.resource import is_local, local_path
from mlctl.rehearsal.inputs import Inputs, RehearsalError
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import Permanent


def of_files(session: Session, paths: list[str], order_args: OrderArgs) -> OrderArgs:
    """The order with the endpoint and the deployment of the files, where no flag names one."""
    if order_args.endpoint is not None:
        return order_args
    report = new_report(session, None)
    resources = session.loader(report).load([*paths]).graph.resources.values()
    deployments = [resource.address for resource in resources if resource.kind is BATCH_DEPLOYMENT]
    if len(deployments) != 1:
        names = ", ".join(address.name for address in deployments) or "none"
        raise UsageError(
            f"the files declare {len(deployments)} batch deployments ({names}):"
            " -n ENDPOINT -d DEPLOYMENT says which one takes the job."
        )
    [address] = deployments
    deployment = order_args.deployment or address.name
    return replace(order_args, endpoint=address.parent, deployment=deployment)


def deployment_of(session: Session, order_args: OrderArgs) -> Address:
    """The deployment that takes the job."""
    endpoint = str(order_args.endpoint)
    if order_args.deployment is not None:
        return Address(BATCH_DEPLOYMENT.name, order_args.deployment, endpoint)
    return default_deployment(session, Graph({}, ()), Address(BATCH_ENDPOINT.name, endpoint))


def offered(session: Session, request: Request) -> Offer | None:
    """The job of an endpoint as it will be done; None where files are not valid, which is said.

    Raises:
        ForecastError: nothing can be said of it.
    """
    args, work = request.order, request.batch
    split = _split(session, args.input, work)
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
            _compared(request, subject, split if is_azure else None),
            workload_of(work),
            str(args.endpoint),
            subject.deployment.address.name,
            endpoint=args.endpoint,
            inputs=inputs_of(args.input),
            files=split.files,
        )
    if not is_azure:
        return offer
    if split.reason and len(offer.order.sizes) == 1 and args.shards == "auto":
        session.note(f"one shard: the input cannot be split, since {clean(split.reason)}")
    return replace(offer, order=_in_folders(offer.order, split))


def _compared(request: Request, subject: Subject, split: Split | None) -> list[Option]:
    """What could be done, the best first."""
    args = request.order
    scenario = subject.scenario.under(weather_of(args.weather).processes())
    shards = _shards(args.shards)
    if split is not None and not split.source:
        shards = _folders(split, shards)
    policies = policies_of(args, request.deadline_s)
    makes_twin = args.sure is None
    return begin.options(scenario, policies, shards, request.deadline_s, makes_twin=makes_twin)


def _in_folders(order: Order, split: Split) -> Order:
    """The order with a folder for each shard, where its input is split."""
    if split.source:
        order = replace(order, source=split.source, upload=f"mlctl-finish/{order.name}")
        at = "azureml://datastores/workspaceblobstore/paths/"
        shards_at = tuple(at + order.folder(shard) for shard in range(len(order.sizes)))
        return replace(order, folders=shards_at)
    if len(order.sizes) > 1:
        return replace(order, folders=split.folders, sizes=split.sizes)
    return order


def _split(session: Session, text: str | None, work: BatchFlags) -> Split:
    """How an input can be split; of a simulated cloud what is not here has no files."""
    if text is None:
        return Split((), reason="there is none")
    inputs = inputs_here(session, text, work)
    if inputs is not None:
        return Split(inputs.names, str(inputs.root.resolve()))
    if session.backend_name == "local":
        return Split(())
    try:
        with session.backend() as backend:
            assert isinstance(backend, SupportsFolders)  # as all but the simulated cloud
            uri = backend.folders.locate(text)
            return by_folders(uri, [*backend.folders.files(uri)])
    except Permanent as error:
        if work.files is None:
            text = f"{error.message}; --files N says how many there are, and they stay in one shard"
            raise Permanent(error.code, text, status=error.status) from None
        return Split((), reason=error.message)


def inputs_here(session: Session, text: str, work: BatchFlags) -> Inputs | None:
    """The files of an input that lies on this machine; None of any other.

    A simulated cloud takes a path where nothing is, if a flag says how many files there are.
    """
    path, is_simulated = expanded(local_path(text)), session.backend_name == "local"
    is_there = is_simulated and path.exists()
    if not (is_local(text) or is_there) or (is_simulated and not is_there and work.files):
        return None
    try:
        return Inputs.find(path)
    except RehearsalError as error:
        raise InvalidValue(str(error), flag="--input") from None


def _shards(text: str) -> int | None:
    """How many shards are asked for; None: as many as cost least."""
    if text == "auto":
        return None
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise InvalidValue(f"`{text}` is no number, nor auto", flag="--shards")


def _folders(split: Split, shards: int | None) -> int:
    """How many shards a stored input has."""
    if shards == 1:
        return 1
    if not split.folders:
        if shards is None:
            return 1
        why = f"the input cannot be split, since {split.reason}"
        hint = "give 1 or auto, a local folder, or put the files into folders beneath it"
        raise InvalidValue(f"{why}; {hint}", flag="--shards")
    if shards not in (None, len(split.folders)):
        why = f"a shard is a folder beneath the input, of which there are {len(split.folders)}"
        raise InvalidValue(f"{why}: give that number, 1 or auto", flag="--shards")
    return len(split.folders)
