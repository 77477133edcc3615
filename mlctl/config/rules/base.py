"""Shared parts of the rules: their context, access to values, and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path

from mlctl.config.graph import Graph, ReadDocument
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Diagnostic, Label, Rule
from mlctl.kinds import Kind, Resource
from mlctl.kinds.field import Form
from mlctl.pointer import Pointer
from mlctl.schema import dereference
from mlctl.schema.text import nearest


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What rules may know beyond the documents.

    `exists` says whether a path exists, and never raises. `planning` is true for `plan` and
    `apply`, which read the local files of documents; `validate` does not. `script` gives the text
    of a scoring script, None if it cannot be read or is not to be checked. `read` gives the
    document of a component that another one names, `conda` a conda file's; None if there is none.
    """

    today: date
    exists: Callable[[Path], bool]
    planning: bool = False
    script: Callable[[Path], str | None] = lambda _path: None
    read: ReadDocument = lambda _path: None
    conda: ReadDocument = lambda _path: None


def declared(graph: Graph, kind: str | None = None) -> Sequence[Resource]:
    """Return the declared resources (of a kind, by name), including repeated addresses."""
    return graph.with_repeated if kind is None else graph.by_kind.get(kind, ())


def deployments(graph: Graph) -> Iterator[Resource]:
    """Yield the declared deployments of all endpoints."""
    for resources in graph.by_kind.values():
        if resources[0].kind.parent is not None:
            yield from resources


def finding(
    rule: Rule,
    resource: Resource,
    at: Pointer | Label | None,
    message: str,
    hint: str,
    *related: Label,
    key: bool = False,
) -> Diagnostic:
    """Build a diagnostic about `resource`, at a place or at a value of it, or that value's `key`.

    An inline resource is called by its owner's address.
    """
    label = resource.label(at, key=key) if isinstance(at, tuple) else at
    return Diagnostic(rule, message, label, hint, related, str(resource.owner or resource.address))


def whole_number(resource: Resource, *at: str) -> int | None:
    """Return the effective value (default included) if it is a whole number."""
    value = resource.effective(*at)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def enum_value(resource: Resource, *at: str) -> str:
    """Return the effective value of an enum in lower case."""
    return str(resource.effective(*at)).casefold()


def has_key(resource: Resource, *at: str) -> bool:
    """Whether the key at `at` is in the document, with or without a value."""
    above = resource.get(*at[:-1])
    return isinstance(above, dict) and at[-1] in above


def is_serverless(job: Resource) -> bool:
    """Whether a job names no compute in the workspace."""
    name = job.text("compute")
    return name is None or name.removeprefix("azureml:").casefold() == "serverless"


def lacks_key(resource: Resource, *at: str) -> bool:
    """Whether the mapping above `at` is in the document without the key or a misspelling of it."""
    above, key = resource.get(*at[:-1]), at[-1]
    if not isinstance(above, dict) or key in above:
        return False
    unknown = above.keys() - _known(resource.kind, resource.form, at[:-1])
    return nearest(key, unknown) is None


@cache
def _known(kind: Kind, form: Form, above: tuple[str, ...]) -> frozenset[str]:
    schema = form.schema
    for key in above:
        schema = dereference(kind.schema, schema.get("properties", {}).get(key, {}))
    return frozenset(schema.get("properties", {}))
