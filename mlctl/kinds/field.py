"""Fields and forms of a kind, read from its JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cached_property

from mlctl import pointer
from mlctl.dataclasses import dataclass, replace
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema, forms, mentions, resolved
from mlctl.schema.compiled import Predicate, compile_schema


class Mutability(Enum):
    """How the field's value can change (`x-ms-mutability`)."""

    IN_PLACE = "in place"
    REPLACE = "replace"
    READ_ONLY = "read-only"


class Absent(Enum):
    """What a missing value in the file means (`x-mlctl-absent`)."""

    DEFAULT = "default"
    KEEP = "keep"


@dataclass(frozen=True, eq=False)
class Field:
    """A field of a form; every attribute is an annotation of the schema."""

    at: Pointer
    wire: Pointer
    codec: str
    mutability: Mutability
    absent: Absent
    default: Data
    secret: bool
    compared: bool
    refers_to: str | None
    enum: Mapping[str, str | None]
    alias_of: Pointer | None
    when: Mapping[str, Data]
    path: bool
    additive: bool
    credential: bool
    copy: Pointer
    schema: Schema

    @cached_property
    def key(self) -> str:
        """The field's place in a document, as text."""
        return pointer.text(self.at)

    @cached_property
    def wire_by_word(self) -> Mapping[str, str | None]:
        """The wire spellings of an enum by its words, as written and normalized."""
        words = [*self.enum.items()][::-1]  # the first of equal ones counts
        return {bare(word): wire for word, wire in words} | dict(words)

    @cached_property
    def word_by_wire(self) -> Mapping[str | None, str]:
        """The words of an enum by their wire spellings, as written and normalized."""
        words = [(wire, word) for word, wire in [*self.enum.items()][::-1]]
        return {bare(wire): word for wire, word in words if wire is not None} | dict(words)


_WITH_INNER_FIELDS = ("steps", "data_collector")
_NAMING = ("x-mlctl-refers-to", "x-mlctl-path")


def _those(holds: Callable[[Field], bool]) -> cached_property[tuple[Field, ...]]:
    """Make a property of a form: its fields that meet a condition."""
    return cached_property(lambda form: tuple(filter(holds, form.fields)))


@dataclass(frozen=True, eq=False)
class Form:
    """One shape of a kind's documents, and the `if` that selects it.

    `mentions` name other resources, and are sent as part of another field or not at all.
    `constants` are wire values that accompany an object of the document; `()` is the document
    itself.
    """

    name: str
    condition: Schema | None
    schema: Schema
    fields: tuple[Field, ...]
    aliases: tuple[Field, ...]
    mentions: tuple[Field, ...]
    constants: tuple[tuple[Pointer, Mapping[Pointer, Data]], ...]

    @cached_property
    def lenient(self) -> Schema:
        """The schema of a document that another one names, whose name the SDK ignores."""
        free: dict[str, Schema] = {
            name: {} for name in _NAMES if name in self.schema.get("properties", {})
        }
        required = [name for name in self.schema.get("required", ()) if name not in _NAMES]
        properties = {**self.schema.get("properties", {}), **free}
        return {**self.schema, "properties": properties, "required": required}

    @cached_property
    def needed(self) -> tuple[tuple[Pointer, ...], ...]:
        """The choices of places of which a body must have one.

        A place is at most two steps deep: an object in `properties`, not what is in it.
        """
        anyway = [[name] for name in self.schema.get("required", ())]
        either = [
            name for choice in self.schema.get("anyOf", ()) for name in choice.get("required", ())
        ]
        places = [
            tuple({field.wire[:2]: None for field in self.fields if field.at[0] in names})
            for names in (*anyway, either)
        ]
        return tuple(choice for choice in places if choice)

    @cached_property
    def nested(self) -> tuple[Field, ...]:
        """The fields with maps (steps) whose values name resources or files."""
        below = [field for field in self.fields if field.refers_to is None and not field.path]
        return tuple(
            field for field in below if any(mentions(field.schema, name) for name in _NAMING)
        )

    # The fields that a file can set (the others belong to the service), those that are not secret,
    # and those that are both.
    writable = _those(lambda field: field.mutability is not Mutability.READ_ONLY)
    shown = _those(lambda field: not field.secret)
    shown_writable = _those(
        lambda field: not field.secret and field.mutability is not Mutability.READ_ONLY
    )
    # Those that can only change by replacing the resource.
    fixed = _those(lambda field: field.mutability is Mutability.REPLACE)
    # Those that take their default if a file does not set them.
    defaulted = _those(lambda field: field.absent is Absent.DEFAULT)
    # Those whose values name other resources in places that the codec knows.
    with_inner_fields = _those(lambda field: field.codec in _WITH_INNER_FIELDS)
    # Those that name an asset, or contain it inline.
    assets = _those(lambda field: bool(field.refers_to))

    @cached_property
    def secrets(self) -> tuple[Pointer, ...]:
        """The places of values that are never shown."""
        return tuple(field.at for field in self.fields if field.secret)

    @cached_property
    def marked_secrets(self) -> tuple[tuple[Field, Mapping[Pointer, Data]], ...]:
        """The secrets of which a live body shows only the sort, and what it shows then."""
        constants = dict(self.constants)
        return tuple(
            (field, constants[field.at])
            for field in self.fields
            if field.secret and field.at in constants
        )

    @cached_property
    def credentials(self) -> tuple[Pointer, ...]:
        """The places of credentials for logging in."""
        return tuple(field.at for field in self.fields if field.credential)

    @cached_property
    def with_default(self) -> tuple[Field, ...]:
        """The fields that a file can set and that have a default."""
        return tuple(field for field in self.writable if field.default is not None)

    @cached_property
    def read_only_wires(self) -> tuple[Pointer, ...]:
        """The places in a body of the service's own fields."""
        return tuple(
            field.wire for field in self.fields if field.mutability is Mutability.READ_ONLY
        )

    @cached_property
    def constants_by_fields(self) -> tuple[tuple[frozenset[Pointer], Mapping[Pointer, Data]], ...]:
        """`constants`, each with the fields of its object; none for those of the document."""
        return tuple(
            (
                frozenset(field.at for field in self.fields if at and field.at[: len(at)] == at),
                constants,
            )
            for at, constants in self.constants
        )

    @cached_property
    def discriminators(self) -> tuple[Field, ...]:
        """The fields that the form's condition looks at."""
        names = (self.condition or {}).get("required", [])
        return tuple(
            field
            for field in self.fields
            if field.at[0] in names and (self._deep is not None or len(field.at) == 1)
        )

    @cached_property
    def overwritten(self) -> frozenset[Pointer]:
        """Those of `fixed` that az changes anyway, by a PUT over the resource."""
        return frozenset(field.at for field in self.fixed if "x-mlctl-overwritten" in field.schema)

    @cached_property
    def wires(self) -> tuple[Pointer, ...]:
        """The places in a body of the fields that a file can set."""
        return tuple(field.wire for field in self.writable)

    @cached_property
    def by_first_key(self) -> tuple[tuple[str, Field], ...]:
        """The fields that a file can set, each with its top-level key."""
        return tuple((str(field.at[0]), field) for field in self.writable)

    def written(self, data: Mapping[str, Data]) -> dict[Pointer, Data]:
        """Return the values that a document gives to the fields.

        A value under an alias goes to the main field. As in the SDK, an alias counts only if the
        main field, or the object that contains it, is absent.
        """
        values: dict[Pointer, Data] = {}
        for key, field in self.by_first_key:
            if key in data:
                value = data[key] if field.at == (key,) else pointer.get(data, field.at)
                if value is not None:
                    values[field.at] = value
        for field in self.aliases:
            value, main = pointer.get(data, field.at), field.alias_of or ()
            if value is not None and pointer.get(data, main[:-1] or main) is None:
                values[main] = value
        return values

    @cached_property
    def referring(self) -> tuple[Field, ...]:
        """The fields, sent or not, that name other resources."""
        return tuple(field for field in (*self.fields, *self.mentions) if field.refers_to)

    def field(self, at: Pointer) -> Field | None:
        """Return the field at a pointer of the document."""
        fields = self._by_pointer
        return fields[at] if at in fields else None  # noqa: SIM401  # twice as fast

    @cached_property
    def _by_pointer(self) -> Mapping[Pointer, Field]:
        return {field.at: field for field in reversed(self.fields)}

    @cached_property
    def _deep(self) -> Predicate | None:
        """The check of a condition on more than texts at the top of a document."""
        rules = self.condition.get("properties", {}) if self.condition else {}
        for name in rules:
            if "pattern" not in rules[name]:
                return compile_schema(self.condition or {})
        return None

    def holds(self, data: Data) -> bool:
        """Whether `data` meets the form's `if`, or the form has none."""
        condition = self.condition
        if condition is None:
            return isinstance(data, dict)
        if self._deep is not None:
            return self._deep(data)
        if not isinstance(data, dict) or any(
            name not in data for name in condition.get("required", [])
        ):
            return False
        return all(
            isinstance(data.get(name), str) and re.search(rule["pattern"], data[name]) is not None
            for name, rule in condition.get("properties", {}).items()
        )


def bare(word: Data) -> str:
    """Normalize a word of an enum: no letter case, no `_`, no blanks."""
    text = json.dumps(word) if isinstance(word, bool) else str(word)
    return text.replace("_", "").replace(" ", "").casefold()


def read_forms(root: Schema) -> Iterator[Form]:
    """Read the forms of a kind from its schema."""
    for (condition, written), (_, whole) in zip(forms(root), forms(resolved(root)), strict=True):
        name = str(written.get("$ref", "")).rpartition("/")[2].removesuffix(".schema.json")
        yield _read_form(name, whole, condition)


def _read_form(name: str, whole: Schema, condition: Schema | None) -> Form:
    parts = list(_walk(whole, ()))
    fields = [part for part in parts if isinstance(part, Field)]
    return Form(
        name=name,
        condition=condition,
        schema=whole,
        fields=tuple(field for field in fields if field.wire and field.alias_of is None),
        aliases=tuple(field for field in fields if field.alias_of is not None),
        mentions=tuple(field for field in fields if not field.wire and field.alias_of is None),
        constants=tuple(part for part in parts if not isinstance(part, Field)),
    )


_ANNOTATED = {"x-mlctl-wire", "x-mlctl-alias", "x-mlctl-refers-to"}
_NAMES = ("name", "version", "type")  # of a component in a file that a step names
_WITHIN = ""  # the wire place of values that are sent as part of their object


def _walk(schema: Schema, at: Pointer) -> Iterator[Field | tuple[Pointer, Mapping[Pointer, Data]]]:
    constants = schema.get("x-mlctl-wire-constants")
    if constants:
        yield at, {pointer.parse(to): value for to, value in constants.items()}
    for name, inner in schema.get("properties", {}).items():
        if _ANNOTATED & inner.keys():
            yield read_field(inner, (*at, name))
        if "x-mlctl-wire-under" in inner:
            under = pointer.parse(inner["x-mlctl-wire-under"])
            yield from _move_under(_walk(inner, (*at, name)), under)
        elif "x-mlctl-alias" not in inner and inner.get("x-mlctl-wire") != _WITHIN:
            yield from _walk(inner, (*at, name))


def _move_under(
    parts: Iterator[Field | tuple[Pointer, Mapping[Pointer, Data]]], under: Pointer
) -> Iterator[Field | tuple[Pointer, Mapping[Pointer, Data]]]:
    """Return the fields of a document sent within another, with `properties` at `under`.

    All but its type can change in place, since the document is not a resource there.
    """
    for part in parts:
        if not isinstance(part, Field):
            at, constants = part
            yield at, {(*under, *wire[1:]): value for wire, value in constants.items()}
        elif not part.wire or part.wire[0] == "properties":
            fixed = part.mutability is Mutability.READ_ONLY or part.at[1:] == ("type",)
            mutability = part.mutability if fixed else Mutability.IN_PLACE
            wire = (*under, *part.wire[1:]) if part.wire else ()
            yield replace(part, wire=wire, mutability=mutability)


def read_field(schema: Schema, at: Pointer) -> Field:
    """Read the field that a part of a schema describes."""
    may = schema.get("x-ms-mutability", ["create", "read", "update"])
    alias = schema.get("x-mlctl-alias")
    return Field(
        at=at,
        wire=pointer.parse(schema.get("x-mlctl-wire", "")),
        codec=schema.get("x-mlctl-codec", "plain"),
        mutability=(
            Mutability.IN_PLACE
            if "update" in may
            else Mutability.REPLACE
            if "create" in may
            else Mutability.READ_ONLY
        ),
        absent=Absent(schema.get("x-mlctl-absent", "default" if "default" in schema else "keep")),
        default=schema.get("default"),
        secret=schema.get("x-ms-secret", False),
        compared="read" in may and not schema.get("x-ms-secret", False),
        refers_to=schema.get("x-mlctl-refers-to"),
        enum=schema.get("x-mlctl-enum", {}),
        alias_of=pointer.parse(alias) if alias else None,
        when=schema.get("x-mlctl-when", {}),
        path=schema.get("x-mlctl-path", False),
        additive=schema.get("x-mlctl-additive", False),
        credential=schema.get("x-mlctl-credential", False),
        copy=pointer.parse(schema.get("x-mlctl-wire-copy", "")),
        schema=schema,
    )
