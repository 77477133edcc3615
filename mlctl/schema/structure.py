"""The structure of the schemas: local references, and the forms of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl import pointer
from mlctl.pointer import Data

Schema = Mapping[str, Data]


def forms(root: Schema) -> Iterator[tuple[Schema | None, Schema]]:
    """(condition, schema) of each form: the root's `if`/`then`/`else` ladder, or the root alone.

    The condition of the last form is None: it is the form if no condition above it is met.
    """
    rung = root
    while "if" in rung:
        yield rung["if"], rung["then"]
        rung = rung["else"]
    yield None, rung


def dereferenced(root: Schema, schema: Schema) -> Schema:
    """`schema` with its own local `$ref` replaced by its target in `root`; its siblings win."""
    while is_local_reference(schema.get("$ref")):
        target = pointer.get(root, pointer.parse(schema["$ref"][1:]))
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def resolved(schema: Schema) -> Schema:
    """`schema` with all local `$ref`s within it replaced; one that leads to itself stays."""
    whole: Schema = _resolve(schema, schema, ())
    return whole


def is_local_reference(ref: Data) -> bool:
    """Whether the value of a `$ref` points into the same document."""
    return isinstance(ref, str) and ref.startswith("#")


def _resolve(part: Data, root: Schema, above: tuple[str, ...]) -> Data:
    if isinstance(part, list):
        return [_resolve(one, root, above) for one in part]
    if not isinstance(part, Mapping):
        return part
    ref = part.get("$ref")
    if isinstance(ref, str) and is_local_reference(ref) and ref not in above:
        part = dereferenced(root, part)
        above = (*above, ref)
    return {
        key: value if key == "$defs" else _resolve(value, root, above)
        for key, value in part.items()
    }
