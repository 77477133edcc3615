"""Clusters: number of nodes, idle time, region."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl import catalog
from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding, lacks_key, whole_number
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.schema.text import nearest, placeholder

MIN_OVER_MAX = Rule("MLC301", "min-over-max", Severity.ERROR)
NO_MAX = Rule("MLC302", "max-instances-left-out", Severity.WARNING)
ZERO_IDLE_TIME = Rule("MLC303", "zero-idle-time", Severity.WARNING)
UNKNOWN_REGION = Rule("MLC307", "unknown-region", Severity.WARNING)

# Sovereign clouds and early-update regions exist, but are not listed publicly.
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
            ("min_instances",),
            f"`min_instances` is {least}, but `max_instances` is {largest}"
            + (" by default" if left_out else ""),
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
                ("name",),
                f"`{cluster.address.name}` does not set `max_instances`, so it gets 4",
                "write `max_instances: 4`, or as many as you want to pay for",
            )


def zero_idle_time(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC303."""
    for cluster in declared(graph, "compute"):
        if cluster.number("idle_time_before_scale_down") == 0:
            yield finding(
                ZERO_IDLE_TIME,
                cluster,
                ("idle_time_before_scale_down",),
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
        message = f"the region `{place}` is unknown"
        hint = f"did you mean `{near}`?" if near else "remove `location` to use the workspace's"
        yield finding(UNKNOWN_REGION, resource, ("location",), message, hint)


def _is_region(text: str) -> bool:
    name = catalog.region(text)
    return catalog.knows_region(name) or name.startswith(_ELSEWHERE) or name.endswith(_EARLY)


CHECKS = (min_over_max, no_max, zero_idle_time, unknown_region)
