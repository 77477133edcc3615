"""Read a scenario from files: a deployment, and the cluster that its jobs run on."""

from __future__ import annotations

from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Label
from mlctl.forecast.fields import (
    MOST_NODES,
    ForecastError,
    StatedPrices,
    cores_of,
    field_of,
    number_of,
    prices_of,
    value_of,
)
from mlctl.forecast.history import LONGEST_S
from mlctl.forecast.scenario import Scenario, SpotRate
from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.facts import is_low_priority
from mlctl.kinds.resource import Resource
from mlctl.simulator.control_plane.jobs.workloads import batch_work
from mlctl.simulator.engine.model import (
    HOUR,
    BatchSpec,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.workload import Workload

JOB = "forecast"  # the name of the job; `invoke --job-name forecast` gives it on a simulated cloud
DAY = 24 * HOUR
_MINI_BATCH_SIZE = "mini_batch_size"
_MOST_MINI_BATCHES = 20_000_000
_ANY_REGION = "eastus"  # keys the draws of losses: another place changes only the price


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to forecast of a batch or training job, as far as files do not say.

    `mini_batches` is the number of full ones, in place of files. `prices` are the user's.
    `workspace` is the name of the one that was read for resources that no file declares; "" if none
    was. If the timeout grows, one that is too short for the work is not an error.
    """

    workload: Workload
    mini_batches: int | None = None
    deployment: Address | None = None
    prices: StatedPrices = StatedPrices()
    settings: SimulationSettings = field(default_factory=SimulationSettings)
    workspace: str = ""
    timeout_grows: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """A scenario with the resources that it was read from."""

    scenario: Scenario
    deployment: Resource
    cluster: Resource
    workspace: str = ""

    def label(self, name: str) -> Label:
        """Return the place of a field in the deployment, or in the cluster if that has it."""
        for resource in (self.deployment, self.cluster):
            field_ = field_of(resource, name)
            if field_ is not None:
                return resource.label(field_.at if field_.at in resource.values else ())
        return self.deployment.label()


def read(graph: Graph, request: Wanted) -> Subject:
    """Read the scenario that files and flags describe.

    Raises:
        ForecastError: they describe none, or an impossible one.
    """
    deployment = _deployment(graph, request)
    cluster = cluster_of(graph, deployment, request.workspace)
    if cluster is None:
        raise ForecastError("the deployment names no cluster", deployment.label())
    size = number_of(deployment, _MINI_BATCH_SIZE, 10, 1)
    files = request.workload.files
    if request.mini_batches is not None:
        files = request.mini_batches * size
    if files is None:
        raise ForecastError(
            "the amount of work is unknown: give --files N, --mini-batches N or --input DIR"
        )
    if files < 1:
        raise ForecastError("the number of files must be 1 or more")
    spec, rate = cluster_spec(cluster, request.prices)
    job = BatchSpec(
        f"1/{JOB}",
        spec.name,
        files,
        batch_work(request.workload),
        size,
        number_of(deployment, "instance_count", 1, 1, MOST_NODES),
        number_of(deployment, "max_concurrency_per_instance", 1, 1, MOST_NODES),
        number_of(deployment, "max_retries", 3),
        float(number_of(deployment, "timeout", 30)),
        number_of(deployment, "error_threshold", -1, -1),
    )
    scenario = Scenario(
        spec,
        job,
        request.settings,
        rate.usd,
        price_ratio=request.prices.ratio,
        price_list=request.prices.origin_for(cluster),
        spot_rate=rate,
    )
    subject = Subject(scenario, deployment, cluster, request.workspace)
    _check(subject, timeout_grows=request.timeout_grows)
    return subject


def cluster_spec(cluster: Resource, stated: StatedPrices) -> tuple[ClusterSpec, SpotRate]:
    """Return a declared cluster for the event engine, and the price of a low-priority node."""
    size = str(value_of(cluster, "size") or "")
    dedicated, rate = prices_of(size, stated.region_of(cluster), stated, cluster.label(("size",)))
    spec = ClusterSpec(
        f"1/{cluster.address.name}",
        Tier.LOW_PRIORITY if is_low_priority(value_of(cluster, "tier")) else Tier.DEDICATED,
        number_of(cluster, "min_instances", 0, 0, MOST_NODES),
        number_of(cluster, "max_instances", 1, 1, MOST_NODES),
        float(number_of(cluster, "idle_time_before_scale_down", 120)),
        cores_of(size),
        dedicated,
        _ANY_REGION,
    )
    return spec, rate


def _check(subject: Subject, *, timeout_grows: bool) -> None:
    scenario, job = subject.scenario, subject.scenario.job
    work = job.workload
    if scenario.mini_batches > _MOST_MINI_BATCHES:
        raise ForecastError(
            f"{scenario.mini_batches} mini-batches are more than can be forecast: choose a larger"
            " mini_batch_size",
            subject.label(_MINI_BATCH_SIZE),
        )
    if work.trace:
        longest = max(work.trace)
        if not longest:
            raise ForecastError("the trace of service times has only zeros")
    else:
        files = min(job.mini_batch_size, job.files)
        longest = work.per_mini_batch_s + files * work.per_file_s
        if not longest:
            raise ForecastError(
                "the duration of the work is unknown: give --seconds-per-file S or"
                " --seconds-per-mini-batch S"
            )
    check_length(longest, "a mini-batch")
    if longest > job.timeout_s and not timeout_grows:
        hint = ""
        if work.per_file_s and work.per_mini_batch_s + work.per_file_s <= job.timeout_s:
            fits = int((job.timeout_s - work.per_mini_batch_s) / work.per_file_s)
            hint = f", or a mini_batch_size of {fits} or less"
        raise ForecastError(
            f"a mini-batch takes {longest:g} s, and its timeout of {job.timeout_s:g} s ends every"
            f" attempt: give retry_settings.timeout {longest:g} or more{hint}",
            subject.label("timeout"),
        )


def check_length(seconds: float, subject: str) -> None:
    """Refuse work that takes longer than a history.

    Raises:
        ForecastError: it does.
    """
    if seconds > LONGEST_S:
        raise ForecastError(
            f"{subject} takes {seconds:g} s, and no job is forecast for more than"
            f" {LONGEST_S / DAY:g} days"
        )


def check_deadline(deadline_s: float | None, settings: SimulationSettings) -> None:
    """Refuse a deadline that cannot be kept.

    Raises:
        ForecastError: it passes before the first node is ready.
    """
    first = settings.allocation_s + settings.preparation_s
    if deadline_s is not None and deadline_s <= first:
        raise ForecastError(
            f"the deadline of {deadline_s:g} s is over before the first node is ready, after"
            f" {first:g} s"
        )


def _deployment(graph: Graph, request: Wanted) -> Resource:
    """Find the deployment that takes the job: the named one, or else the only one."""
    deployments = {
        address: resource
        for address, resource in graph.resources.items()
        if field_of(resource, _MINI_BATCH_SIZE) is not None
    }
    named = request.deployment
    if named is not None and named in deployments:
        return deployments[named]
    if named is None and len(deployments) == 1:
        return next(iter(deployments.values()))
    names = ", ".join(map(str, deployments)) or "none that scores mini-batches"
    where_declared = (
        f"in the files or the workspace {request.workspace}" if request.workspace else "declared"
    )
    if named is not None:
        raise ForecastError(f"no deployment {named} is {where_declared}: there is {names}")
    if deployments:
        raise ForecastError(
            f"there are {len(deployments)} deployments, {names}: choose one with --deployment NAME"
        )
    raise ForecastError(f"no deployment that scores mini-batches is {where_declared}")


def cluster_of(graph: Graph, job: Resource, workspace: str = "") -> Resource | None:
    """Find the cluster that a deployment or a job names; None if it names none.

    Raises:
        ForecastError: neither the files nor the workspace, if one was read, has it.
    """
    for edge in graph.edges_of(job.address):
        if not kind_of(edge.target).quota.has_nodes:
            continue
        for address in graph.declared(edge.target):
            return graph.resources[address]
        name = edge.target.name
        where_missing = (
            f"neither in the files nor in the workspace {workspace}" if workspace else ""
        )
        raise ForecastError(
            f"the cluster {name} is {where_missing or 'in none of the files: name its file too'}",
            job.label(edge.at),
        )
    return None
