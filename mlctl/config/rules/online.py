"""Online endpoints: how their traffic is split."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource, routes
from mlctl.kinds.routes import Shares

WRONG_SUM = Rule("MLC334", "traffic-does-not-add-up", Severity.ERROR)
MIRRORED_TOO = Rule("MLC333", "traffic-and-mirror-traffic", Severity.ERROR)


def wrong_sum(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC334."""
    for endpoint in declared(graph, "online-endpoint"):
        traffic = endpoint.get("traffic")
        total = sum(_shares(endpoint, "traffic").values())
        is_numeric = isinstance(traffic, dict) and all(
            isinstance(share, int | float) for share in traffic.values()
        )
        if is_numeric and total not in (0, routes.ALL):
            message = f"the traffic adds up to {total:g} %, not 100"
            hint = "correct the percentages: they must add up to 100, or 0"
            yield finding(WRONG_SUM, endpoint, ("traffic",), message, hint, key=True)


def mirrored_too(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC333."""
    for endpoint in declared(graph, "online-endpoint"):
        answering = {name.casefold(): name for name in _shares(endpoint, "traffic")}
        for name in _shares(endpoint, "mirror_traffic"):
            answering_name = answering.get(name.casefold())
            if answering_name is not None:
                yield finding(
                    MIRRORED_TOO,
                    endpoint,
                    ("mirror_traffic", name),
                    f"`{name}` cannot get both requests and copies of requests",
                    "remove it from `traffic` or from `mirror_traffic`",
                    endpoint.label(("traffic", answering_name), "it gets requests here", key=True),
                    key=True,
                )


def _shares(endpoint: Resource, field: str) -> Shares:
    traffic = endpoint.get(field)
    return routes.shares(traffic) if isinstance(traffic, dict) else {}


CHECKS = (wrong_sum, mirrored_too)
