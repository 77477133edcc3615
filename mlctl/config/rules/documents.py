"""Any document: addresses, fields of the service, outdated `$schema`s, secrets as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from mlctl import masking, pointer
from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Address, Kind, Resource
from mlctl.pointer import Data, Pointer, dotted
from mlctl.schema import Schema, dereference
from mlctl.schema.text import listed
from mlctl.source import Document

READ_ONLY = Rule("MLC330", "read-only-field", Severity.WARNING)
OLD_SCHEMA = Rule("MLC331", "old-schema-url", Severity.WARNING)
EMPTY_TAG = Rule("MLC335", "empty-tag-of-an-endpoint", Severity.WARNING)
DUPLICATE = Rule("MLC201", "duplicate-address", Severity.ERROR)
CONFLICT = Rule("MLC202", "conflicting-asset", Severity.ERROR)
PLAIN_SECRET = Rule("MLC319", "secret-in-file", Severity.WARNING)
MASKED_VALUE = Rule("MLC328", "masked-value", Severity.ERROR)
_MASKED = r"(?:.*[:=])?\*\*\*(?:[@&;].*)?"


def read_only(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC330: once per resource, at the first of them."""
    for resource in graph.with_inline_assets:
        data = resource.get()
        if not isinstance(data, dict) or _with_outputs(resource.kind).isdisjoint(data):
            continue
        pointers = list(_outputs(resource.kind.schema, resource.form.schema, data, ()))
        if pointers:
            names = listed((dotted(at) for at in pointers), "and")
            message = (
                f"{names} {'is' if len(pointers) == 1 else 'are'} the service's own, and ignored"
            )
            hint = f"remove {'it' if len(pointers) == 1 else 'them'}"
            yield finding(READ_ONLY, resource, pointers[0], message, hint, key=True)


def old_schema(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC331."""
    for resource in declared(graph):
        url = (resource.text("$schema") or "").strip()
        host = url.partition("://")[2].partition("/")[0].casefold()
        if host == "azureml" or host.startswith("azuremlsdk2."):
            kind, form = resource.kind, resource.form.name
            name = form if form in kind.documents else kind.schema_name
            right = f"https://azuremlschemas.azureedge.net/latest/{name}.schema.json"
            message = f"the schemas are no longer at `{host}`"
            yield finding(OLD_SCHEMA, resource, ("$schema",), message, f"write `{right}`")


def empty_tags(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC335."""
    for endpoint in declared(graph, "batch-endpoint"):
        tags = endpoint.document.data.get("tags")
        if not isinstance(tags, dict) or "" not in tags.values():
            continue
        for name, value in tags.items():
            if value == "":
                message = f"the tag `{name}` is empty, and batch endpoints refuse empty tags"
                hint = "give it a value, or remove it"
                yield finding(EMPTY_TAG, endpoint, ("tags", name), message, hint)


@cache
def _with_outputs(kind: Kind) -> frozenset[str]:
    """Return the top-level keys, in any form, that are or contain read-only fields."""
    return frozenset(
        name
        for form in kind.forms
        for name, declared_ in form.schema.get("properties", {}).items()
        if _has_output(kind.schema, declared_)
    )


def _has_output(root: Schema, schema: Schema) -> bool:
    whole = dereference(root, schema)
    inner = [*whole.get("properties", {}).values(), *([whole["items"]] if "items" in whole else [])]
    return bool(whole.get("readOnly")) or any(
        _has_output(root, schema_part) for schema_part in inner
    )


def _outputs(root: Schema, schema: Schema, data: Data, at: Pointer) -> Iterator[Pointer]:
    """Yield the places at which the document sets read-only fields, in its order."""
    whole = dereference(root, schema)
    if whole.get("readOnly"):
        yield at
    elif isinstance(data, dict):
        properties = whole.get("properties", {})
        for name, value in data.items():
            if name in properties:
                yield from _outputs(root, properties[name], value, (*at, name))
    elif isinstance(data, list) and "items" in whole:
        for index, value in enumerate(data):
            yield from _outputs(root, whole["items"], value, (*at, index))


def duplicates(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC201."""
    for first, second in graph.repeated:
        if second.owner is not None:  # both deployments own what they share
            continue
        respelt = str(first.address) != str(second.address)
        message = f"`{second.address}` is declared twice" + (
            ": names do not differ by case" if respelt else ""
        )
        hint = "rename one of the two, or remove it"
        related = first.label(("name",), "first declared here")
        yield finding(DUPLICATE, second, ("name",), message, hint, related)


def conflicts(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC202; two separate documents are MLC201."""
    assets_by_address: dict[Address, Resource] = {}
    for asset in graph.with_inline_assets:
        if asset.address.version is None:
            continue
        first = assets_by_address.setdefault(asset.address, asset)
        differences = _differences(first, asset) if first.owner or asset.owner else []
        if differences:
            yield finding(
                CONFLICT,
                asset,
                ("name",),
                f"`{asset.address}` is described in two ways: {listed(differences, 'and')}"
                f" {'differs' if len(differences) == 1 else 'differ'}",
                "describe it once and refer to it, or give the other content another version",
                first.label(("name",), "first described here"),
            )


def _differences(first: Resource, second: Resource) -> list[str]:
    first_content, right = _content(first), _content(second)
    return [
        dotted(at) for at in {**first_content, **right} if first_content.get(at) != right.get(at)
    ]


def _content(asset: Resource) -> Mapping[Pointer, Data]:
    """Return the values of an asset, with paths relative to the working directory."""
    paths = {field.at for field in asset.form.fields if field.path}
    return {
        at: asset.document.folder / value if at in paths and isinstance(value, str) else value
        for at, value in asset.values.items()
    }


def plain_secrets(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC319. The lines that are shown have asterisks in place of the secret."""
    for resource in declared(graph):
        if resource.owner is not None or not resource.document.may_hold_secrets:
            continue
        for at in masking.places(resource.document.data):
            if at in resource.form.credentials or resource.document.from_environment(at):
                continue  # credentials have rules of their own: MLC312, MLC313
            diagnostic = plain_secret(resource.document, at)
            yield replace(diagnostic, address=str(resource.address))


def plain_secret(document: Document, at: Pointer) -> Diagnostic:
    """MLC319 at a place of a document, of a resource or a file that it names."""
    message = f"`{dotted(at)}` looks like a secret, and is in the file as plain text"
    hint = "put a placeholder in the file (`${{ env.NAME }}`), or read it from Key Vault"
    return Diagnostic(PLAIN_SECRET, message, document.label(at, key=True), hint)


def masked_values(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC328."""
    for resource in declared(graph):
        if resource.owner is not None or not resource.document.may_hold(masking.MASK):
            continue
        for at, text in pointer.texts(resource.document.data):
            if masking.MASK in text and re.fullmatch(_MASKED, text, re.DOTALL):
                yield finding(
                    MASKED_VALUE,
                    resource,
                    resource.document.label(at),
                    f"`{dotted(at)}` holds asterisks in place of a secret",
                    "write the value by a placeholder, or remove the field",
                )


CHECKS = (read_only, old_schema, empty_tags, duplicates, conflicts, plain_secrets, masked_values)
