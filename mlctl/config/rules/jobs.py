"""Command jobs: inputs and outputs of the command, resources, preemption."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlctl.catalog import limits
from mlctl.config.graph import Graph
from mlctl.config.rules.base import (
    RuleContext,
    declared,
    enum_value,
    finding,
    is_serverless,
    whole_number,
)
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource, kind_of
from mlctl.kinds.facts import is_low_priority
from mlctl.kinds.records.job import KIND as JOB

SPOT_ON_CLUSTER = Rule("MLC341", "spot-on-a-cluster", Severity.ERROR)
JOB_OVER_MAX = Rule("MLC343", "job-over-max", Severity.WARNING)
OVER_LIFETIME = Rule("MLC344", "timeout-over-lifetime", Severity.WARNING)
LATE_CHECKPOINTS = Rule("MLC345", "checkpoints-uploaded-at-the-end", Severity.WARNING)
TYPE_IGNORED = Rule("MLC346", "instance-type-on-a-cluster", Severity.WARNING)

_TIER = ("queue_settings", "job_tier")
_NODES = ("resources", "instance_count")
_TYPE = ("resources", "instance_type")
_TIMEOUT = ("limits", "timeout")
_DAY = 86_400
_CHECKPOINT = re.compile(r"checkpoint|ckpt", re.IGNORECASE)


def spot_on_cluster(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC341."""
    for job in declared(graph, JOB.name):
        if enum_value(job, *_TIER) == "spot" and not is_serverless(job):
            message = (
                f"spot nodes are for serverless jobs, but this one runs on `{job.text('compute')}`"
            )
            hint = "remove `compute`, or remove `job_tier` and name a low-priority cluster"
            related = job.label(("compute",), "so it is not serverless")
            yield finding(SPOT_ON_CLUSTER, job, _TIER, message, hint, related)


def over_max(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC343."""
    for job, cluster in _on_clusters(graph):
        nodes, largest = whole_number(job, *_NODES), whole_number(cluster, "max_instances")
        if nodes is not None and largest is not None and nodes > largest >= 1:
            yield finding(
                JOB_OVER_MAX,
                job,
                _NODES,
                f"the job needs {nodes} nodes at once, and `{cluster.address.name}` has at most"
                f" {largest}",
                f"write `max_instances: {nodes}` for the cluster, or lower `instance_count`",
                cluster.label(("max_instances",), "at most this many")
                if ("max_instances",) in cluster.values
                else cluster.label(("name",), f"at most {largest} by default"),
            )


def over_lifetime(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC344."""
    for job in declared(graph, JOB.name):
        preemptible = _preemptible(graph, job)
        condition = " on low-priority nodes" if preemptible else ""
        days = limits.LOW_PRIORITY_JOB_DAYS if preemptible else limits.JOB_DAYS
        seconds = job.number(*_TIMEOUT)
        if seconds is not None and seconds > days * _DAY:
            message = (
                f"`timeout` is {seconds} s, and a job{condition} is cancelled"
                f" after {days} days, {days * _DAY} s"
            )
            hint = f"write {days * _DAY} or less, or remove `timeout`"
            yield finding(OVER_LIFETIME, job, _TIMEOUT, message, hint)


def late_checkpoints(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC345."""
    for job in declared(graph, JOB.name):
        outputs = job.get("outputs")
        for name in outputs if isinstance(outputs, dict) and _preemptible(graph, job) else ():
            mode = job.text("outputs", str(name), "mode") or ""
            if mode.casefold() == "upload" and _CHECKPOINT.search(str(name)):
                message = (
                    f"`{name}` is uploaded when the job ends; its node can be preempted before"
                )
                hint = "write `mode: rw_mount`, or keep checkpoints in `./outputs/checkpoints`"
                yield finding(LATE_CHECKPOINTS, job, ("outputs", name, "mode"), message, hint)


def type_ignored(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC346."""
    for job, cluster in _on_clusters(graph):
        instance_type, size = job.text(*_TYPE), str(cluster.effective("size"))
        if instance_type and instance_type.casefold() != size.casefold():
            yield finding(
                TYPE_IGNORED,
                job,
                _TYPE,
                f"the job runs on the nodes of `{cluster.address.name}`, which are `{size}`",
                "remove `instance_type`, or name a cluster of that size",
                cluster.label(("size",) if ("size",) in cluster.values else ("name",)),
            )


def _on_clusters(graph: Graph) -> Iterator[tuple[Resource, Resource]]:
    """Yield each job with the declared cluster that it names."""
    for job in declared(graph, JOB.name):
        cluster = _cluster(graph, job)
        if cluster is not None:
            yield job, cluster


def _cluster(graph: Graph, job: Resource) -> Resource | None:
    for edge in graph.edges_of(job.address):
        if kind_of(edge.target).quota.has_nodes:
            return graph.resources.get(edge.target)
    return None


def _preemptible(graph: Graph, job: Resource) -> bool:
    """Whether the job certainly runs on low-priority nodes."""
    if is_serverless(job):
        return enum_value(job, *_TIER) == "spot"
    cluster = _cluster(graph, job)
    return cluster is not None and is_low_priority(cluster.effective("tier"))


CHECKS = (spot_on_cluster, over_max, over_lifetime, late_checkpoints, type_ignored)
