"""The semantic rules: checks of the graph that a schema cannot express.

They are pure: the date and the file system are in the `RuleContext`. Each topic is a module with
its rules and `CHECKS`, imported only if a document is of a kind that it covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext
from mlctl.diagnostics import Diagnostic, Rule

__all__ = ["TOPICS", "RuleContext", "check", "rules"]

# The kinds of each topic; a topic without any covers all kinds.
TOPICS: Mapping[str, tuple[str, ...]] = {
    "paths": (),
    "clusters": (),
    "sizes": ("compute", "compute-instance", "job", "online-deployment"),
    "low_priority": ("compute", "batch-deployment"),
    "access": (),
    "deployments": ("batch-deployment",),
    "scripts": ("batch-deployment", "online-deployment"),
    "environments": ("batch-deployment", "online-deployment", "environment", "job", "component"),
    "online": ("online-endpoint",),
    "documents": (),
    "pools": ("batch-pool",),
    "jobs": ("job",),
    "schedules": ("schedule",),
    "commands": ("component", "job"),
    "steps": ("component", "job"),
    "step_values": ("component", "job"),
}


def rules() -> tuple[Rule, ...]:
    """Return the rules of all topics, sorted by code."""
    modules = [import_module(f"{__name__}.{topic}") for topic in TOPICS]
    values = (value for module in modules for value in vars(module).values())
    topic_rules = {value for value in values if isinstance(value, Rule)}
    return tuple(sorted(topic_rules, key=lambda rule: rule.code))


def check(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """Yield the findings of all rules, in no order; the schema checks the types of values."""
    for topic, kinds in TOPICS.items():
        if not kinds or not graph.by_kind.keys().isdisjoint(kinds):
            for find in import_module(f"{__name__}.{topic}").CHECKS:
                yield from find(graph, context)
