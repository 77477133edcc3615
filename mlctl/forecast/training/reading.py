"""Read a training job from files: a command job, and the cluster that it runs on.

A pipeline or sweep has rounds: parts in sequence, and parts in parallel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass
from mlctl.durations import parse_iso
from mlctl.forecast.batch.reading import Wanted, check_length, cluster_of, cluster_spec
from mlctl.forecast.fields import (
    MOST_NODES,
    ForecastError,
    cores_of,
    number_of,
    prices_of,
    value_of,
)
from mlctl.forecast.scenario import SpotRate
from mlctl.forecast.training.study import TrainingScenario
from mlctl.kinds import kind_of
from mlctl.kinds.facts import is_low_priority
from mlctl.kinds.resource import Resource
from mlctl.simulator.engine.model import ClusterSpec, Tier, TrainingSpec

_JOB, _NODES = "1/forecast", "1/forecast-nodes"
_DEFAULT_SIZE = "STANDARD_DS3_V2"  # A: Azure chooses a serverless size by the remaining quota


@dataclass(frozen=True, slots=True)
class TrainingSubject:
    """A scenario with its sources; `cluster` is None for serverless nodes."""

    scenario: TrainingScenario
    job: Resource
    cluster: Resource | None
    size: str


def read(graph: Graph, request: Wanted) -> TrainingSubject:
    """Read the training job that files and flags describe."""
    return read_job(graph, _job(graph), Rounds(), request)


def read_job(graph: Graph, job: Resource, rounds: Rounds, request: Wanted) -> TrainingSubject:
    """Read a job of so many rounds, each as long as flags say; finished rounds are not lost.

    `job` is a job, or the deployment that runs it.

    Raises:
        ForecastError: it cannot be forecast.
    """
    work = request.workload
    if not work.steps:
        raise ForecastError("the amount of work is unknown: give --steps N")
    if not work.seconds_per_step:
        raise ForecastError("the duration of a step is unknown: give --seconds-per-step S")
    cluster_resource = _only_spare(graph, job) or cluster_of(graph, job, request.workspace)
    if cluster_resource is None:
        cluster, rate, size = _serverless(job, request)
    else:
        cluster, rate = cluster_spec(cluster_resource, request.prices)
        size = str(value_of(cluster_resource, "size") or "")
    nodes = number_of(job, "instance_count", 1, 1, MOST_NODES)
    if cluster_resource is not None and nodes > cluster.max_instances:
        raise ForecastError(
            f"the job needs {nodes} nodes at once, but its cluster has {cluster.max_instances}:"
            " it would never start",
            job.label(("resources", "instance_count")),
        )
    nodes = min(nodes * rounds.at_once, max(cluster.max_instances, nodes))
    longest = value_of(job, "timeout")
    spec = TrainingSpec(
        _JOB,
        work.steps * rounds.in_a_row,
        work.seconds_per_step,
        "" if cluster_resource is None else cluster.name,
        cluster if cluster_resource is None else None,
        work.checkpoint_every or (work.steps if rounds.in_a_row > 1 else 0),
        work.seconds_per_checkpoint or 0.0,
        work.seconds_to_restore or 0.0,
        nodes,
        _seconds(longest),
    )
    least = spec.steps * spec.step_s
    check_length(max(least, spec.restore_s, spec.checkpoint_s), "the job")
    if spec.max_runtime_s is not None and least > spec.max_runtime_s:
        raise ForecastError(
            f"the steps take {least:g} s, and limits.timeout ends the job after"
            f" {spec.max_runtime_s:g} s: give it more",
            job.label(("limits", "timeout")),
        )
    scenario = TrainingScenario(
        cluster,
        spec,
        request.settings,
        rate.usd,
        price_ratio=request.prices.ratio,
        price_list=request.prices.origin_for(cluster_resource, size),
    )
    return TrainingSubject(scenario, job, cluster_resource, size)


def _job(graph: Graph) -> Resource:
    jobs = [
        job
        for job in graph.resources.values()
        if job.kind.runs and str(job.get("type") or "command").casefold() == "command"
    ]
    if len(jobs) != 1:
        names = ", ".join(job.document.source.name for job in jobs)
        raise ForecastError(
            f"the files declare {len(jobs)} command jobs ({names}): name one of them"
            if jobs
            else "the files declare no command job"
        )
    return jobs[0]


def _only_spare(graph: Graph, job: Resource) -> Resource | None:
    """Return the only low-priority cluster of a job with several clusters; None if it has none."""
    targets = dict.fromkeys(edge.target for edge in graph.edges_of(job.address))
    spare = [
        graph.resources[address]
        for target in targets
        if kind_of(target).quota.has_nodes
        for address in graph.declared(target)
        if is_low_priority(value_of(graph.resources[address], "tier"))
    ]
    if len(spare) > 1:
        names = " and ".join(cluster.address.name for cluster in spare)
        text = f"its steps run on {len(spare)} low-priority clusters ({names}): give them the same"
        raise ForecastError(text, job.label())
    return spare[0] if spare else None


def _serverless(job: Resource, request: Wanted) -> tuple[ClusterSpec, SpotRate, str]:
    """Return serverless nodes for a job; their tier is its queue's."""
    size = str(value_of(job, "instance_type") or _DEFAULT_SIZE)
    spot = str(value_of(job, "job_tier") or "").casefold() == "spot"
    tier = Tier.LOW_PRIORITY if spot else Tier.DEDICATED
    label = job.label(("resources", "instance_type"))
    price, rate = prices_of(size, request.prices.region, request.prices, label)
    nodes = number_of(job, "instance_count", 1, 1, MOST_NODES)
    spec = ClusterSpec(_NODES, tier, 0, nodes, cores=cores_of(size), price=price)
    return spec, rate, size


def _seconds(timeout: object) -> float | None:
    try:
        if isinstance(timeout, int | float):
            return float(timeout)
        return parse_iso(timeout) if isinstance(timeout, str) else None
    except (ValueError, OverflowError):
        raise ForecastError("the job's timeout is not a duration") from None


_NEEDED = re.compile(r"parent\.jobs\.([^.}\s]+)\.outputs")
_MOST_TRIALS = 1000  # that a sweep may have


class Rounds(NamedTuple):
    """So many parts in sequence, and so many in parallel; all take the same time."""

    in_a_row: int = 1
    at_once: int = 1


def rounds_of(job: Resource) -> Rounds:
    """Return the parts of a job: the steps of a pipeline, the trials of a sweep, or one."""
    match str(job.get("type") or "command").casefold():
        case "pipeline":
            return of_steps(job.get("jobs") or {})
        case "sweep":
            limits = job.get("limits") or {}
            total = limits.get("max_total_trials") or _MOST_TRIALS
            at_once = limits.get("max_concurrent_trials") or total
            return Rounds(-(-total // at_once), min(at_once, total, MOST_NODES))
        case _:
            return Rounds()


def of_steps(steps: Mapping[str, Any]) -> Rounds:
    """Find the longest chain of dependent steps, and how many run beside it."""
    needs = {step: set(_NEEDED.findall(str(node))) & {*steps} for step, node in steps.items()}
    depths: dict[str, int] = {}
    for step in TopologicalSorter(needs).static_order():
        depths[step] = 1 + max((depths[needed] for needed in needs[step]), default=0)
    in_a_row = max(depths.values(), default=1)
    return Rounds(in_a_row, min(-(-max(len(steps), 1) // in_a_row), MOST_NODES))
