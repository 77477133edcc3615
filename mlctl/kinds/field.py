"""A field of a kind, read off its JSON Schema: where it stands in YAML and on the wire, and what the plan needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from mlctl import pointer
from mlctl.pointer import Data, Pointer


class Mutability(Enum):
    """What a change of the field's value takes (`x-ms-mutability`)."""

    IN_PLACE = "in place"
    REPLACE = "replace"
    READ_ONLY = "read-only"


class Absent(Enum):
    """What silence in the file means (`x-mlctl-absent`)."""

    DEFAULT = "default"
    KEEP = "keep"


@dataclass(frozen=True, eq=False)
class Field:
    """One field of one form of a kind. Every slot is an annotation of the schema; nothing is added here."""

    at: Pointer
    wire: Pointer
    codec: str
    mutability: Mutability
    absent: Absent
    default: Data
    secret: bool
    refers_to: str | None
    enum: Mapping[str, str | None] | None
    alias_of: Pointer | None
    when: Mapping[str, Data] | None
    constants: Mapping[Pointer, Data]
    path: bool
    additive: bool
    schema: Mapping[str, Data]


def read_fields(root: Mapping[str, Data], form: Mapping[str, Data]) -> tuple[tuple[Field, ...], Mapping[Pointer, Data]]:
    """The fields of one form of a kind's schema, and the wire constants of its root."""
    constants = {pointer.parse(at): value for at, value in form.get("x-mlctl-wire-constants", {}).items()}
    return tuple(_walk(root, form, ())), constants


def _walk(root: Mapping[str, Data], schema: Mapping[str, Data], at: Pointer) -> Iterator[Field]:
    for name, declared in schema.get("properties", {}).items():
        inner = resolve(root, declared)
        if "x-mlctl-wire" in inner or "x-mlctl-alias" in inner:
            yield _field(inner, (*at, name))
        elif "properties" in inner:
            for field in _walk(root, inner, (*at, name)):
                yield field


def resolve(root: Mapping[str, Data], schema: Mapping[str, Data]) -> Mapping[str, Data]:
    """`schema` with its local `$ref` taken in; what stands beside the `$ref` wins."""
    ref = schema.get("$ref")
    if ref is None:
        return schema
    target = resolve(root, pointer.get(root, pointer.parse(ref.removeprefix("#"))))
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def _field(schema: Mapping[str, Data], at: Pointer) -> Field:
    may = schema.get("x-ms-mutability", ["create", "read", "update"])
    alias = schema.get("x-mlctl-alias")
    return Field(
        at=at,
        wire=pointer.parse(schema.get("x-mlctl-wire", "")),
        codec=schema.get("x-mlctl-codec", "plain"),
        mutability=Mutability.IN_PLACE if "update" in may else Mutability.REPLACE if "create" in may else Mutability.READ_ONLY,
        absent=Absent(schema.get("x-mlctl-absent", "default" if "default" in schema else "keep")),
        default=schema.get("default"),
        secret=schema.get("x-ms-secret", False),
        refers_to=schema.get("x-mlctl-refers-to"),
        enum=schema.get("x-mlctl-enum"),
        alias_of=pointer.parse(alias) if alias else None,
        when=schema.get("x-mlctl-when"),
        constants={pointer.parse(to): value for to, value in schema.get("x-mlctl-wire-constants", {}).items()},
        path=schema.get("x-mlctl-path", False),
        additive=schema.get("x-mlctl-additive", False),
        schema=schema,
    )


def forms(root: Mapping[str, Data]) -> Iterator[tuple[str, Mapping[str, Data] | None, Mapping[str, Data]]]:
    """(name, condition or None, schema) of each form: the `if`/`then`/`else` ladder of the root, or the root alone."""
    rung = root
    while "if" in rung:
        yield _name_of(rung["then"]), rung["if"], resolve(root, rung["then"])
        rung = rung["else"]
    yield _name_of(rung), None, resolve(root, rung)


def _name_of(schema: Mapping[str, Data]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def holds(condition: Mapping[str, Data], data: Data) -> bool:
    """Whether `data` meets the `if` of a rung: required properties whose text matches a pattern."""
    if not isinstance(data, dict):
        return False
    for name in condition.get("required", []):
        if name not in data:
            return False
    return all(
        isinstance(data.get(name), str) and re.search(wanted["pattern"], data[name]) is not None
        for name, wanted in condition.get("properties", {}).items()
    )
