"""What the rules share: their context, access to resources and values, and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TypeAlias

from mlctl.config.graph import Graph
from mlctl.config.pipelines import ReadDocument
from mlctl.diagnostics import Diagnostic, Label, Rule
from mlctl.kinds import KINDS, Address, Kind, Resource
from mlctl.kinds.address import own_address
from mlctl.kinds.field import Field, Form
from mlctl.kinds.values import written
from mlctl.schema import dereferenced
from mlctl.schema.text import nearest


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What the rules may know beyond the documents.

    `exists` says whether a path exists, and raises nothing. `planning` is true for `plan` and
    `apply`, which read the local files that a document names; `validate` does not. `script` gives
    the text of a scoring script, None if it cannot be read or is not to be checked. `read` gives
    the document of a component that another one names, `conda` that of a conda file; None where
    there is none to read.
    """

    today: date
    exists: Callable[[Path], bool]
    planning: bool = False
    script: Callable[[Path], str | None] = lambda _path: None
    read: ReadDocument = lambda _path: None
    conda: ReadDocument = lambda _path: None


RuleCheck: TypeAlias = Callable[[Graph, RuleContext], Iterator[Diagnostic]]


def declared(graph: Graph, kind: str | None = None) -> Iterator[Resource]:
    """The declared resources (of one kind, by its name), including those that repeat an address."""
    repeated = (one for _, one in graph.repeated if one.owner is None)
    for resource in (*graph.resources.values(), *repeated):
        if kind in (None, resource.kind.name):
            yield resource


def deployments(graph: Graph) -> Iterator[Resource]:
    """The declared deployments of endpoints of all sorts."""
    for kind in KINDS.values():
        if kind.parent is not None:
            yield from declared(graph, kind.name)


def with_inline_assets(graph: Graph) -> Iterator[Resource]:
    """The declared resources, each followed by the assets that are written inline in it."""
    for resource in declared(graph):
        yield resource
        for field in _asset_fields(resource.form):
            value = resource.values.get(field.at)
            if isinstance(value, dict):
                yield _inline(resource, field, value)


def finding(
    rule: Rule, resource: Resource, at: Label | None, message: str, hint: str, *related: Label
) -> Diagnostic:
    """A diagnostic about `resource`; one that is written inline goes by its owner's address."""
    return Diagnostic(rule, message, at, hint, related, str(resource.owner or resource.address))


def whole_number(resource: Resource, *at: str) -> int | None:
    """The effective value (default included) if it is a whole number."""
    value = resource.effective(*at)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def enum_value(resource: Resource, *at: str) -> str:
    """The effective value of an enum in lower case."""
    return str(resource.effective(*at)).casefold()


def has_key(resource: Resource, *at: str) -> bool:
    """Whether the key at `at` is in the document, with or without a value."""
    above = resource.get(*at[:-1])
    return isinstance(above, dict) and at[-1] in above


def is_serverless(job: Resource) -> bool:
    """Whether a job names no compute of the workspace."""
    name = job.text("compute")
    return name is None or name.removeprefix("azureml:").casefold() == "serverless"


def lacks_key(resource: Resource, *at: str) -> bool:
    """Whether the mapping above `at` is in the document, without the key or a misspelling of it."""
    above, key = resource.get(*at[:-1]), at[-1]
    if not isinstance(above, dict) or key in above:
        return False
    unknown = above.keys() - _known(resource.kind, resource.form, at[:-1])
    return nearest(key, unknown) is None


@cache
def _known(kind: Kind, form: Form, above: tuple[str, ...]) -> frozenset[str]:
    schema = form.schema
    for key in above:
        schema = dereferenced(kind.schema, schema.get("properties", {}).get(key, {}))
    return frozenset(schema.get("properties", {}))


@cache
def _asset_fields(form: Form) -> tuple[Field, ...]:
    return tuple(field for field in form.fields if field.refers_to in KINDS)


def _inline(owner: Resource, field: Field, value: dict[str, object]) -> Resource:
    kind = KINDS[field.refers_to or ""]
    form = kind.form_of(value)
    address = own_address(kind, value) or Address(kind.name, "")
    root = (*owner.root, *field.at)
    return Resource(address, kind, form, owner.document, written(value, form), root, owner.address)
