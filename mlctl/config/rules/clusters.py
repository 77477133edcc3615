"""Clusters: number of nodes, idle time, region."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl import catalog
from mlctl.config.graph import Graph
from mlctl.config.rules.base import (
    RuleContext,
    declared,
    finding,
    lacks_key,
    whole_number,
)
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.schema.text import nearest, placeholder

_COMPUTE = "learn.microsoft.com/azure/machine-learning/reference-yaml-compute-aml"
_CLUSTER = "learn.microsoft.com/azure/machine-learning/how-to-create-attach-compute-cluster"

MIN_OVER_MAX = Rule(
    "MLC301",
    "min-over-max",
    Severity.ERROR,
    "a cluster with `min_instances` larger than `max_instances`",
    "A cluster scales between the two. Left out, `max_instances` is 4 and `min_instances` is 0.",
    "Raise `max_instances`, or lower `min_instances`. With `min_instances: 0` an idle cluster costs"
    " nothing.",
    _COMPUTE,
)
NO_MAX = Rule(
    "MLC302",
    "max-instances-left-out",
    Severity.WARNING,
    "a cluster that does not say how many nodes it may have",
    "The tools disagree on what silence means: the reference says 1 node, `az` and the Python SDK"
    " send 4, and so does mlctl. The number decides what the cluster may cost and how much quota"
    " it takes.",
    "Write `max_instances`.",
    f"{_COMPUTE} (default 1); azure-ai-ml 1.35.2, class AmlCompute (default 4)",
)
ZERO_IDLE_TIME = Rule(
    "MLC303",
    "zero-idle-time",
    Severity.WARNING,
    "an `idle_time_before_scale_down` of 0, which other tools drop",
    "`az` and the Python SDK drop a 0 before they send the cluster, so that the service's default"
    " of 120 seconds applies. mlctl sends what is written: the same file gives two different"
    " clusters. At 0 a node also goes between two jobs that follow each other at once, and the"
    " next one waits for a new node.",
    "Write 1 or more seconds; 120 is the default.",
    f"azure-ai-ml 1.35.2, class AmlCompute; {_COMPUTE}",
)
UNKNOWN_REGION = Rule(
    "MLC307",
    "unknown-region",
    Severity.WARNING,
    "a `location` that is no Azure region known here",
    "A cluster may stand in another region than its workspace, so the service takes any region's"
    " name, and refuses what is none. Display names (`West Europe`) are the same as short ones"
    " (`westeurope`). The list in mlctl has a date: a region that is newer than it is reported"
    " too.",
    "Correct the name, or leave `location` out to have the workspace's. Where the region is"
    " right, waive the rule with `# mlctl:ignore=MLC307`.",
    f"{_CLUSTER}; the public regions of the Azure retail price list",
)
RULES = (MIN_OVER_MAX, NO_MAX, ZERO_IDLE_TIME, UNKNOWN_REGION)

# Sovereign clouds and early-update regions exist, but no public list has them.
_ELSEWHERE = ("usgov", "usdod", "ussec", "usnat", "china", "bleu", "delos")
_EARLY = ("euap", "stage", "stg")


def min_over_max(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC301."""
    for cluster in declared(graph, "compute"):
        least, largest = cluster.number("min_instances"), whole_number(cluster, "max_instances")
        if least is None or largest is None or least <= largest:
            continue
        left_out = lacks_key(cluster, "max_instances")
        yield finding(
            MIN_OVER_MAX,
            cluster,
            cluster.label(("min_instances",)),
            f"`min_instances` is {least}, but `max_instances` is {largest}"
            + (" when it is left out" if left_out else ""),
            f"write `max_instances: {least}` or more, or lower `min_instances`",
            *(() if left_out else (cluster.label(("max_instances",), "at most this many"),)),
        )


def no_max(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC302."""
    for cluster in declared(graph, "compute"):
        if lacks_key(cluster, "max_instances"):
            yield finding(
                NO_MAX,
                cluster,
                cluster.label(("name",)),
                f"`{cluster.address.name}` does not say `max_instances`: 4 will be sent",
                "write `max_instances: 4`, or as many as you want to pay for",
            )


def zero_idle_time(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC303."""
    for cluster in declared(graph, "compute"):
        if cluster.number("idle_time_before_scale_down") == 0:
            yield finding(
                ZERO_IDLE_TIME,
                cluster,
                cluster.label(("idle_time_before_scale_down",)),
                "`az` and the SDK drop an idle time of 0, and 120 seconds apply; mlctl sends it",
                "write 1 or more seconds",
            )


def unknown_region(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC307."""
    for resource in declared(graph):
        place = resource.text("location")
        if not place or placeholder(place) or _is_region(place):
            continue
        near = nearest(catalog.region(place), catalog.regions())
        yield finding(
            UNKNOWN_REGION,
            resource,
            resource.label(("location",)),
            f"no region `{place}` is known",
            f"did you mean `{near}`?" if near else "leave `location` out to have the workspace's",
        )


def _is_region(text: str) -> bool:
    name = catalog.region(text)
    return catalog.knows_region(name) or name.startswith(_ELSEWHERE) or name.endswith(_EARLY)


CHECKS = (min_over_max, no_max, zero_idle_time, unknown_region)
