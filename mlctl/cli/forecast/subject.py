"""What a forecast is about: from files and flags, completed from the workspace."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlctl import schema
from mlctl.backends.ports.backend import Backend, Live
from mlctl.cli.forecast.args import FileArgs, SubjectArgs
from mlctl.cli.local import flags as workload_flags
from mlctl.cli.local.flags import BatchFlags
from mlctl.cli.shell import InvalidValue, Session, UsageError
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.cli.shell.scope import LOCATION, ScopeError
from mlctl.config import graph as graphs
from mlctl.config.graph import Graph
from mlctl.config.loader import DocumentEdit
from mlctl.dataclasses import replace
from mlctl.kinds import Address, Scope, kind_of
from mlctl.kinds.records.batch_deployment import KIND as BATCH_DEPLOYMENT
from mlctl.kinds.records.batch_endpoint import KIND as BATCH_ENDPOINT
from mlctl.kinds.resource import build
from mlctl.kinds.routes import main_child
from mlctl.render.terminal.terminal import clean
from mlctl.source.overlay import COMMAND_LINE, FlagValue, overlay

if TYPE_CHECKING:
    from mlctl.catalog.prices import PriceList
    from mlctl.forecast.batch.reading import Subject, Wanted
    from mlctl.forecast.fields import StatedPrices
    from mlctl.simulator.engine.model import SimulationSettings


def read_graph(
    session: Session, paths: Sequence[str], overrides: Sequence[str] | None, ignore: Ignore
) -> Graph | None:
    """Return what files declare, with overrides; None if they are invalid, after printing why.

    For valid files, only findings of level information are printed, a line each.
    """
    report = new_report(session, ignore)
    loaded = session.loader(report, edit=_edit(overrides)).load([*paths])
    if not report.failed:
        for text in report.information():
            session.note(clean(f"note: {text}"))
        return loaded.graph
    from mlctl.render.findings import diagnostics

    color = session.color(sys.stdout)
    session.out(diagnostics.report(report, color=color, width=session.width))
    return None


def read_subject(
    session: Session,
    paths: Sequence[str],
    args: SubjectArgs,
    work: BatchFlags,
    settings: SimulationSettings,
    ignore: Ignore,
    *,
    grows: bool = False,
) -> Subject | None:
    """Return what files and flags describe; None if the files are invalid, after printing why.

    The workspace is read if the files lack the deployment or its cluster. If the timeout `grows`,
    one that is too short for the work is not an error.

    Raises:
        ForecastError: they describe nothing that can be forecast.
    """
    from mlctl.forecast.batch.reading import read

    graph = read_graph(session, paths, args.override, ignore) if paths else Graph({}, ())
    if graph is None:
        return None
    request = read_wanted(session, args, work, settings)
    if request.deployment is not None and kind_of(request.deployment).plan.routes:
        request = replace(
            request, deployment=default_deployment(session, graph, request.deployment)
        )
    whole, workspace = _complete(session, graph, request.deployment, _edit(args.override))
    return read(whole, replace(request, workspace=workspace, timeout_grows=grows))


def read_wanted(
    session: Session, args: SubjectArgs, work: BatchFlags, settings: SimulationSettings
) -> Wanted:
    """Return what the flags describe."""
    from mlctl.forecast.batch.reading import Wanted
    from mlctl.simulator.control_plane.jobs import workloads

    workload = workload_flags.workload_of(work)
    counts = [workload.files is not None, args.mini_batches is not None, args.input is not None]
    if sum(counts) > 1:
        raise UsageError("--files, --mini-batches and --input exclude each other.")
    if args.input is not None:
        from mlctl.cli.az import invoke

        count = invoke.count_files({"inputs": {"input": {"path": args.input}}})
        if count is None:
            raise InvalidValue(
                f"the files of `{args.input}` cannot be counted from here", flag="--input"
            )
        workload = replace(workload, files=count)
    workloads.check(workload)
    deployment = _address(args.deployment) if args.deployment else None
    prices = stated_prices(session, args)
    return Wanted(workload, args.mini_batches, deployment, prices, settings)


def stated_prices(session: Session, args: FileArgs) -> StatedPrices:
    """Return what flags and the project say of prices."""
    from mlctl.forecast.fields import DEFAULT_REGION, StatedPrices

    region = session.settings.configured(LOCATION) or DEFAULT_REGION
    stated = StatedPrices(args.price, args.low_priority_ratio, session.price_list, region)
    if args.spot_price is None:
        return stated
    if args.low_priority_ratio is not None:
        raise UsageError("--spot-price and --low-priority-ratio exclude each other.")
    return _with_spot_price(session, stated, args.spot_price)


def _with_spot_price(session: Session, stated: StatedPrices, text: str) -> StatedPrices:
    """The prices, with what `--spot-price` says of Spot; `now` asks once it is needed."""
    from mlctl import files
    from mlctl.catalog import prices

    if text == "now":
        return replace(stated, spot=cache(lambda *pair: _fetch_now(session, *pair)))
    ends = re.fullmatch(r"([\d.]+)\.\.([\d.]+)", text)
    try:
        if ends is None:
            price_list = prices.read(files.expanded(Path(text)))
            return replace(stated, spot=lambda *_: price_list)
        low, high = float(ends[1]), float(ends[2])
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        message = f"`{text}` is neither now, nor LOW..HIGH, nor a price list: {why}"
        raise InvalidValue(message, flag="--spot-price") from None
    if not low <= high <= prices.MOST_PRICE:
        raise InvalidValue(
            f"`{text}`: write the lower end first, in USD an hour", flag="--spot-price"
        )
    return replace(stated, ends=(low, high))


def _fetch_now(session: Session, size: str, region: str) -> PriceList:
    """Ask the Azure Retail Prices API for a size in a region."""
    from mlctl import backends
    from mlctl.catalog import retail
    from mlctl.catalog.prices import PriceList

    url = session.environment.get(retail.URL_VARIABLE) or retail.URL
    answer = backends.fetch_prices(url, [size], [region], session.today)
    rates = {(name.casefold(), place): price for (name, place), price in answer.items()}
    return PriceList(retail.SOURCE, session.today, rates)


def _address(text: str) -> Address:
    """Parse the address of a deployment, or of an endpoint alone; the kind may precede it."""
    bare = text
    for kind_ in (BATCH_DEPLOYMENT, BATCH_ENDPOINT):
        bare = bare.removeprefix(f"{kind_.name}/")
    kind = BATCH_DEPLOYMENT.name if "/" in bare else BATCH_ENDPOINT.name
    try:
        return Address.parse(f"{kind}/{bare}")
    except ValueError:
        raise InvalidValue(
            f"`{text}` is not a deployment: write ENDPOINT/NAME", flag="--deployment"
        ) from None


def default_deployment(session: Session, graph: Graph, endpoint: Address) -> Address:
    """Return an endpoint's default deployment, from files or the workspace."""
    kind, declared = kind_of(endpoint), graph.resources.get(endpoint)
    name = declared.text(*map(str, kind.plan.routes[0])) if declared is not None else None
    if name is None:
        with session.backend() as backend:
            live = backend.read([endpoint]).get(endpoint)
        if live is None and declared is None:
            raise InvalidValue(f"there is no endpoint `{endpoint.name}`", flag="--deployment")
        name = main_child(kind, live.body) if live is not None else ""
    if not name:
        raise InvalidValue(
            f"endpoint `{endpoint.name}` has no default deployment: write ENDPOINT/NAME",
            flag="--deployment",
        )
    return Address(BATCH_DEPLOYMENT.name, name, endpoint.name)


def _complete(
    session: Session, graph: Graph, address: Address | None, edit: DocumentEdit | None
) -> tuple[Graph, str]:
    """Complete the graph from the workspace; return it and the workspace's name.

    The workspace is not read if the files have everything, or if it is unknown.
    """
    if not (not _deployments(graph, address) or bool(_clusters(graph, address))):
        return graph, ""
    try:
        scope = session.scope
    except ScopeError:
        if graph.resources:
            return graph, ""
        raise
    with session.backend() as backend:
        name = f"{scope.resource_group}/{scope.workspace} ({backend.name} backend)"
        return with_live(graph, backend, address, edit), name


def with_live(
    graph: Graph, backend: Backend, address: Address | None = None, edit: DocumentEdit | None = None
) -> Graph:
    """The graph with what only the workspace has: the deployment, then the clusters it names."""
    resources: Iterable[Live] = ()
    if address is not None and address not in graph.resources:
        resources = backend.read([address]).values() or backend.list(BATCH_DEPLOYMENT.name)
    elif address is None and not _deployments(graph, address):
        resources = backend.list(BATCH_DEPLOYMENT.name)
    graph = _join(graph, resources, backend.scope, edit)
    return _join(graph, backend.read(_clusters(graph, address)).values(), backend.scope, edit)


def _deployments(graph: Graph, address: Address | None) -> list[Address]:
    """Return the deployments that may be meant."""
    return [
        candidate
        for candidate in graph.resources
        if (candidate.kind == BATCH_DEPLOYMENT.name if address is None else candidate == address)
    ]


def _clusters(graph: Graph, address: Address | None) -> list[Address]:
    """Return the undeclared clusters of these deployments."""
    edges = (
        edge for deployment in _deployments(graph, address) for edge in graph.edges_of(deployment)
    )
    targets = (edge.target for edge in edges if kind_of(edge.target).quota.has_nodes)
    return [target for target in dict.fromkeys(targets) if not graph.declared(target)]


def _join(
    graph: Graph, live_resources: Iterable[Live], scope: Scope, edit: DocumentEdit | None
) -> Graph:
    """Add live resources to the graph, as if files declared them."""
    from mlctl.cli.az.documents import as_document

    resources = dict[Address, Any](graph.resources)
    for live in live_resources:
        kind, document = kind_of(live.address), as_document(live, scope)
        if edit is not None:
            document = edit(document, kind)
            for finding in schema.check(document, kind.schema):
                if finding.primary is not None and finding.primary.span.source.name == COMMAND_LINE:
                    raise InvalidValue(finding.message, flag="--override")
        resource = build(document, kind)
        if resource is not None:
            resources.setdefault(resource.address, resource)
    return graphs.build(resources.values(), scope)


def _edit(overrides: Sequence[str] | None) -> DocumentEdit | None:
    """Return the edit of documents that `--override` asks for; None without any."""
    if not overrides:
        return None
    from mlctl import source
    from mlctl.kinds import DOCUMENTS

    values_by_kind: dict[str, list[FlagValue]] = {}
    for text in overrides:
        path, equals, value = text.partition("=")
        kind, *at = path.split(".")
        if kind not in DOCUMENTS or not at or not equals:
            raise InvalidValue(
                f"`{text}`: write KIND.FIELD=VALUE, as compute.max_instances=8", flag="--override"
            )
        flag_value = FlagValue(tuple(at), source.plain(value), "--override", text)
        values_by_kind.setdefault(kind, []).append(flag_value)

    def edit(document: Any, kind: Any) -> Any:
        values = values_by_kind.get(kind.name)
        return overlay(values, document) if values else document

    return edit
