"""Kinds of resources: adding one is a schema, a record in `records/` and a sample."""

from __future__ import annotations

from mlctl.kinds.address import Address, Reference, Scope, kind_of
from mlctl.kinds.kind import Kind
from mlctl.kinds.registry import ALL, AT_ENDPOINTS, DOCUMENTS, KINDS, children, kind_of_schema
from mlctl.kinds.resource import Resource

__all__ = [
    "ALL",
    "AT_ENDPOINTS",
    "DOCUMENTS",
    "KINDS",
    "Address",
    "Kind",
    "Reference",
    "Resource",
    "Scope",
    "children",
    "kind_of",
    "kind_of_schema",
]
