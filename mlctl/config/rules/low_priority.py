"""Low-priority clusters and their deployments: more than one node, enough retries."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding, whole_number
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity, Span
from mlctl.kinds import Resource
from mlctl.kinds.facts import is_low_priority
from mlctl.source import Document

SINGLE_NODE = Rule("MLC308", "single-node-low-priority", Severity.WARNING)
OVER_MAX = Rule("MLC309", "instance-count-over-max", Severity.WARNING)
FEW_TRIES = Rule("MLC329", "few-tries-on-low-priority", Severity.WARNING)
IS_SPOT = Rule("MLC422", "low-priority-is-spot", Severity.INFO)

_NODES = ("resources", "instance_count")
_TRIES = (("retry_settings", "max_retries"), ("settings", "retry_settings", "max_retries"))
_FEW = 3


def single_node(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC308, once per cause: at the cluster, or at each deployment that asks for only one node.

    MLC422 once per run.
    """
    spare_clusters = [*filter(_is_low_priority, declared(graph, "compute"))]
    if spare_clusters:
        yield _report_spot(spare_clusters[0])
    for cluster in spare_clusters:
        if cluster.number("max_instances") == 1:
            message = "a low-priority cluster of one node: the first preemption cancels its job"
            hint = "write `max_instances: 2` or more, or `tier: dedicated`"
            related = cluster.label(("tier",), "nodes can be preempted at any time")
            yield finding(SINGLE_NODE, cluster, ("max_instances",), message, hint, related)
    for deployment, cluster in _deployments_with_clusters(graph):
        if not _is_low_priority(cluster) or cluster.number("max_instances") == 1:
            continue
        if whole_number(deployment, *_NODES) == 1:
            left_out = "" if _NODES in deployment.values else " (`instance_count` is 1 by default)"
            yield finding(
                SINGLE_NODE,
                deployment,
                _label_of_count(deployment),
                f"`{deployment.address.name}` runs on one node of the low-priority cluster"
                f" `{cluster.address.name}`{left_out}: the first preemption cancels its job",
                "write `resources: {instance_count: 2}` or more, or name a dedicated cluster",
                cluster.label(("tier",), "its nodes can be taken away at any time"),
            )


def over_max(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC309."""
    for deployment, cluster in _deployments_with_clusters(graph):
        nodes, largest = whole_number(deployment, *_NODES), whole_number(cluster, "max_instances")
        if nodes is None or largest is None or nodes <= largest or largest < 1:
            continue
        written = ("max_instances",) in cluster.values
        yield finding(
            OVER_MAX,
            deployment,
            _label_of_count(deployment),
            f"`{deployment.address.name}` asks for {nodes} nodes, but `{cluster.address.name}`"
            f" has at most {largest}",
            f"write `max_instances: {nodes}` for the cluster, or lower `instance_count` to"
            f" {largest}",
            cluster.label(("max_instances",), "at most this many")
            if written
            else cluster.label(("name",), f"at most {largest} by default"),
        )


def few_tries(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC329."""
    for deployment, cluster in _deployments_with_clusters(graph):
        for at in _TRIES:
            tries = deployment.number(*at)
            if tries is None or tries >= _FEW or not _is_low_priority(cluster):
                continue
            often = "once" if tries < _FEW - 1 else "twice"
            message = (
                f"`{deployment.address.name}` tries a mini-batch {often}, on low-priority nodes"
            )
            hint = f"write `max_retries: {_FEW}` or more"
            related = cluster.label(("tier",), "its nodes can be taken away at any time")
            yield finding(FEW_TRIES, deployment, at, message, hint, related)


def _report_spot(cluster: Resource) -> Diagnostic:
    """MLC422, at the tier of a cluster."""
    return Diagnostic(
        IS_SPOT,
        "low-priority nodes have been Spot VMs since 2026-03-31: their price varies, and Azure"
        " Advisor says that new clusters cannot have them",
        Label(_find_tier(cluster.document)),
        "for jobs with a deadline, write tier: dedicated; mlctl advise compares both",
        address=f"compute/{cluster.address.name}",
    )


def _find_tier(document: Document) -> Span:
    """Return the usual place of the tier in a document, else its beginning.

    Only lines are searched: parsing the tree of a valid document would cost more than the rest of
    `validate`.
    """
    source, first = document.source, document.line
    for number, line in enumerate(source.lines[first:], first):
        if line[:5] == "tier:" and (words := line[5:].split()):
            column = line.index(words[0], 5)
            return Span(source, number, column, number, column + len(words[0]))
    return Span(source, first, 0, first, 0)


def _deployments_with_clusters(graph: Graph) -> Iterator[tuple[Resource, Resource]]:
    """Yield each model deployment with the declared cluster that it names."""
    for deployment in declared(graph, "batch-deployment"):
        if deployment.form.field(_NODES) is None:
            continue
        for edge in graph.edges_of(deployment.address):
            cluster = graph.resources.get(edge.target)
            if cluster is not None and cluster.kind.quota.has_nodes:
                yield deployment, cluster


def _is_low_priority(cluster: Resource) -> bool:
    return is_low_priority(cluster.effective("tier"))


def _label_of_count(deployment: Resource) -> Label:
    return deployment.label(_NODES if _NODES in deployment.values else ("compute",))


CHECKS = (single_node, over_max, few_tries)
