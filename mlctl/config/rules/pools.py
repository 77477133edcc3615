"""Batch Pools of the classic service."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.diagnostics import Diagnostic, Rule, Severity

CLASSIC_SERVICE = Rule("MLC340", "classic-web-service", Severity.WARNING)

_CLASSIC = re.compile(r"https://[^/]+/workspaces/[^/]+/services/", re.IGNORECASE)


def classic_service(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC340."""
    for pool in declared(graph, "batch-pool"):
        if _CLASSIC.match(pool.text("swagger_url") or ""):
            message = "this looks like a classic web service, which has no billing plan to charge"
            hint = "name a New Resource Manager based web service: `https://HOST/subscriptions/...`"
            yield finding(CLASSIC_SERVICE, pool, ("swagger_url",), message, hint)


CHECKS = (classic_service,)
