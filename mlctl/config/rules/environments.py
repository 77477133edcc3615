"""The environments of scoring scripts: whether the service's own driver can run in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Data
from mlctl.schema.text import placeholder

NO_DRIVER = Rule("MLC332", "environment-without-azureml-core", Severity.WARNING)

_SCRIPT = ("code_configuration", "scoring_script")
_CURATED = "azureml/curated/"  # images that have what the service needs
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def no_driver(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC332, once for an environment."""
    reported = set[int]()
    for deployment in declared(graph, "batch-deployment"):
        for resource, at in _environments(deployment, graph):
            if id(resource) in reported or not deployment.text(*_SCRIPT):
                continue
            conda = _conda(resource, at, context)
            listed = conda.get("dependencies") if isinstance(conda, dict) else None
            flat: list[Data] = []
            for entry in listed if isinstance(listed, list) else ():
                inner = entry.get("pip") if isinstance(entry, dict) else [entry]
                flat += inner if isinstance(inner, list) else [None]
            names = [_NAME.match(entry) if isinstance(entry, str) else None for entry in flat]
            packages = [entry[0].casefold() for entry in names if entry] if all(names) else []
            if packages and not any(package.startswith("azureml-") for package in packages):
                reported.add(id(resource))
                yield finding(
                    NO_DRIVER,
                    resource,
                    resource.label((*at, "conda_file"), key=True),
                    f"the scoring script of `{deployment.address.name}` runs in an environment"
                    " without `azureml-core`",
                    "add `azureml-core` and `azureml-dataset-runtime[fuse]` to its `pip` packages",
                )


def _environments(deployment: Resource, graph: Graph) -> Iterator[tuple[Resource, tuple[str, ...]]]:
    """The environments that are written here: the document, and where it has one."""
    if isinstance(deployment.get("environment"), dict):
        yield deployment, ("environment",)
    for edge in graph.edges_of(deployment.address):
        if edge.at == ("environment",):
            for address in graph.declared(edge.target):
                yield graph.resources[address], ()


def _conda(resource: Resource, at: tuple[str, ...], context: RuleContext) -> Data:
    """The conda specification; None where there is none to read, or the image is curated."""
    value = resource.get(*at, "conda_file")
    if _CURATED in (resource.text(*at, "image") or ""):
        return None
    if isinstance(value, str) and is_local(value) and not placeholder(value):
        document = context.conda(resource.document.folder / local_path(value))
        return document.data if document else None
    return value


CHECKS = (no_driver,)
