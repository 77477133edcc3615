"""Reads a scenario from what files declare: a deployment, and the cluster that its jobs run on."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Label
from mlctl.forecast.fields import (
    MOST_NODES,
    ForecastError,
    StatedPrices,
    cores_of,
    field_of,
    file_of,
    number_of,
    prices_of,
    value_of,
    written,
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
_ANY_REGION = "eastus"  # keys the draws of losses: where a cluster is changes its price alone


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be forecast, of a batch or a training job, as far as files do not say.

    `mini_batches` stands for so many full ones, in the place of files. `prices` is what a user says
    of them. `workspace` is what to call the one in which resources were read that no file declares;
    "" where none was. Where the timeout grows, one that is too short for the work is no error.
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

    def origins(self) -> Iterator[tuple[str, Resource, str | None]]:
        """Deployment and cluster, each with its file; None where it was read in the workspace."""
        for role, resource in (("deployment", self.deployment), ("cluster", self.cluster)):
            yield role, resource, file_of(resource)

    def label(self, name: str) -> Label:
        """The place of a field of the deployment, or of the cluster where that has it."""
        for resource in (self.deployment, self.cluster):
            field_ = field_of(resource, name)
            if field_ is not None:
                return resource.label(field_.at if written(resource, field_) else ())
        return self.deployment.label()


def read(graph: Graph, wanted: Wanted) -> Subject:
    """The scenario that files and flags describe.

    Raises:
        ForecastError: they describe none, or one that cannot be.
    """
    deployment = _deployment(graph, wanted)
    cluster = cluster_of(graph, deployment, wanted.workspace)
    if cluster is None:
        raise ForecastError("the deployment names no cluster", deployment.label())
    size = number_of(deployment, _MINI_BATCH_SIZE, 10, 1)
    files = wanted.workload.files
    if wanted.mini_batches is not None:
        files = wanted.mini_batches * size
    if files is None:
        raise ForecastError(
            "no file says how much work there is: give --files N, --mini-batches N or --input DIR"
        )
    if files < 1:
        raise ForecastError("there is nothing to score: the number of files must be 1 or more")
    spec, rate = cluster_spec(cluster, wanted.prices)
    job = BatchSpec(
        f"1/{JOB}",
        spec.name,
        files,
        batch_work(wanted.workload),
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
        wanted.settings,
        rate.usd,
        price_ratio=wanted.prices.ratio,
        price_list=wanted.prices.origin_for(cluster),
        spot_rate=rate,
    )
    subject = Subject(scenario, deployment, cluster, wanted.workspace)
    _check(subject, timeout_grows=wanted.timeout_grows)
    return subject


def cluster_spec(cluster: Resource, stated: StatedPrices) -> tuple[ClusterSpec, SpotRate]:
    """A declared cluster, as the event engine knows it, and the rate of a low-priority node."""
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
            raise ForecastError("the trace of service times has nothing but zeros")
    else:
        files = min(job.mini_batch_size, job.files)
        longest = work.per_mini_batch_s + files * work.per_file_s
        if not longest:
            raise ForecastError(
                "no file says how long the work takes: give --seconds-per-file S or"
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
    """Refuse what takes longer than any history goes on.

    Raises:
        ForecastError: it does.
    """
    if seconds > LONGEST_S:
        raise ForecastError(
            f"{subject} takes {seconds:g} s, and no job is forecast for more than"
            f" {LONGEST_S / DAY:g} days"
        )


def check_deadline(deadline_s: float | None, settings: SimulationSettings) -> None:
    """Refuse a deadline that nothing can keep.

    Raises:
        ForecastError: it is over before the first node is ready.
    """
    first = settings.allocation_s + settings.preparation_s
    if deadline_s is not None and deadline_s <= first:
        raise ForecastError(
            f"the deadline of {deadline_s:g} s is over before the first node is ready, after"
            f" {first:g} s"
        )


def _deployment(graph: Graph, wanted: Wanted) -> Resource:
    """The deployment that takes the job: the one that is named, or else the only one."""
    deployments = {
        address: resource
        for address, resource in graph.resources.items()
        if field_of(resource, _MINI_BATCH_SIZE) is not None
    }
    named = wanted.deployment
    if named is not None and named in deployments:
        return deployments[named]
    if named is None and len(deployments) == 1:
        return next(iter(deployments.values()))
    names = ", ".join(map(str, deployments)) or "none that scores mini-batches"
    where_declared = (
        f"in the files or the workspace {wanted.workspace}" if wanted.workspace else "declared"
    )
    if named is not None:
        raise ForecastError(f"no deployment {named} is {where_declared}: there is {names}")
    if deployments:
        raise ForecastError(
            f"there are {len(deployments)} deployments, {names}: say --deployment NAME"
        )
    raise ForecastError(f"no deployment that scores mini-batches is {where_declared}")


def cluster_of(graph: Graph, job: Resource, workspace: str = "") -> Resource | None:
    """The cluster that a deployment or a job names; None where it names none.

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
