"""The JSON Schemas of the kinds, and the check of documents against them."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.diagnostics import Diagnostic
from mlctl.schema.compiled import Predicate, compile_schema
from mlctl.schema.files import load, names, texts
from mlctl.schema.places import mentions, places
from mlctl.schema.structure import Schema, dereference, forms, once_per_schema, resolved
from mlctl.source import Document

__all__ = [
    "Schema",
    "check",
    "dereference",
    "forms",
    "load",
    "mentions",
    "names",
    "places",
    "resolved",
    "texts",
]


@once_per_schema
def _compiled(schema: Schema) -> Predicate | None:
    return compile_schema(resolved(schema))


def check(document: Document, schema: Schema) -> Iterator[Diagnostic]:
    """Yield the schema's findings on a document, without duplicates, in no order."""
    is_valid = _compiled(schema)
    if is_valid is None or not is_valid(document.data):
        from mlctl.schema.explain import explain  # noqa: PLC0415 - with the library, 40 ms

        yield from explain(document, schema)
