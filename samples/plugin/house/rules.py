"""A rule that no policy can say: it looks at several resources at once."""

from collections.abc import Iterator
from datetime import date

from mlctl.config.graph import Graph
from mlctl.config.rules.base import declared, finding
from mlctl.diagnostics import Diagnostic, Rule, Severity

ONE_SIZE = Rule(
    "HOUSE001",
    "one-size",
    Severity.WARNING,
    "clusters of more than one VM size",
    "Nodes of one size share one quota, and one reservation pays for all of them.",
    "Use the size of the first cluster.",
    "house rules",
)
RULES = (ONE_SIZE,)


def check(graph: Graph, today: date) -> Iterator[Diagnostic]:
    """HOUSE001."""
    clusters = [one for one in declared(graph, "compute") if one.text("size")]
    for cluster in clusters[1:]:
        first = clusters[0]
        if cluster.text("size").casefold() != first.text("size").casefold():
            label = cluster.label(("size",))
            said = f"{first.address} has another size, {first.text('size')}"
            yield finding(ONE_SIZE, cluster, label, said, f"write `size: {first.text('size')}`")
