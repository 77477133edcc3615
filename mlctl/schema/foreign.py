"""Schemas that somebody else wrote, such as those of a project's policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlctl.pointer import Data, Pointer


def wrong(schema: Mapping[str, Data]) -> tuple[Pointer, str] | None:
    """Where and why something is no JSON Schema; None where it is one."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415  (40 ms)

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return tuple(error.absolute_path), error.message
    return None


def unmet(data: Data, schema: Mapping[str, Data]) -> Iterator[tuple[Pointer, str]]:
    """Where and why data does not meet a schema, in the order of the places."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    errors: list[Any] = [*Draft202012Validator(schema).iter_errors(data)]
    for error in sorted(errors, key=lambda one: [str(step) for step in one.absolute_path]):
        yield tuple(error.absolute_path), error.message
