"""The generic update arguments of az: `--set`, `--add`, `--remove`, `--force-string`. Pure.

Grammar and error messages are those of azure-cli-core (`commands/arm.py`). Improvements: a value
gets the type of the field's schema (`name=123` stays text), a key with a dot can be quoted
(`tags."a.b"=x`, `tags["a.b"]=x`), and a path that leads nowhere is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import TypeAlias

from mlctl.cli.az import field_values
from mlctl.cli.shell import UsageError
from mlctl.dataclasses import dataclass
from mlctl.pointer import Data, Pointer, dotted
from mlctl.schema import Schema
from mlctl.schema.text import nearest


class UpdateError(Exception):
    """A path leads nowhere, or its end cannot be changed: az's message, then what to do."""


class UpdateFlag(Enum):
    """A generic update argument."""

    SET = "--set"
    ADD = "--add"
    REMOVE = "--remove"


@dataclass(frozen=True, slots=True)
class GenericUpdate:
    """One occurrence of a generic update argument, with the values after it."""

    flag: UpdateFlag
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdatedField:
    """A field that was changed or removed, by which flag, and the text of the flag."""

    flag: UpdateFlag
    at: Pointer
    text: str


def update(
    data: dict[str, Data],
    updates: Iterable[GenericUpdate],
    schema: Schema,
    *,
    force_string: bool = False,
) -> list[UpdatedField]:
    """Apply the updates to `data` in order; return the changed fields.

    Raises:
        UpdateError: an update does not fit `data` or `schema`; `data` may be half changed.
    """
    editor = _Editor(data, schema, force_string=force_string)
    updated: list[UpdatedField] = []
    for update_ in updates:
        match update_.flag:
            case UpdateFlag.SET:
                updated += [editor.set(text) for text in update_.values]
            case UpdateFlag.ADD:
                updated.append(editor.add(update_.values))
            case UpdateFlag.REMOVE:
                updated.append(editor.remove(update_.values))
    return updated


_ROOT: Pointer = ()


class _Editor:
    """Edits a document by paths; the schema gives the types."""

    def __init__(self, data: dict[str, Data], schema: Schema, *, force_string: bool) -> None:
        self._data = data
        self._schema = schema
        self._force_string = force_string

    def set(self, expression: str) -> UpdatedField:
        key, text = split_assignment(expression)
        *steps, last = self._path(key)
        holder, schema, at = self._walk(steps, last, make=True)
        if isinstance(last, str) and isinstance(holder, dict):
            name, below = self._key(holder, schema, last, at)
            if field_values.read_only(below):
                raise UpdateError(f"`{dotted((*at, name))}` is only set by the service.")
            if text == "null" and not self._force_string:
                holder.pop(name, None)
            else:
                holder[name] = self._value(text, below)
            return UpdatedField(UpdateFlag.SET, (*at, name), text)
        if isinstance(last, int) and isinstance(holder, list):
            if not -len(holder) <= last < len(holder):
                raise UpdateError(f"index {last} doesn't exist on {dotted(at)}")
            holder[last] = self._value(text, _items(schema))
            return UpdatedField(UpdateFlag.SET, at, text)
        raise _no_such_step(holder, schema, last, at)

    def add(self, values: Sequence[str]) -> UpdatedField:
        if len(values) < 2:  # noqa: PLR2004  # the list and what to add
            raise UsageError(
                "usage error: --add property.listProperty <key=value, string or JSON string>"
            )
        items, schema, at = self._walk(self._path(values[0]), make=True, of_list=True)
        if not isinstance(items, list):
            raise UpdateError(f"`{dotted(at)}` is not a list; use --set.")
        items.extend(self._elements_to_add(values[1:], _items(schema)))
        return UpdatedField(UpdateFlag.ADD, at, " ".join(values))

    def remove(self, values: Sequence[str]) -> UpdatedField:
        text = " ".join(values)
        if len(values) > 1:
            items, _, at = self._walk(self._path(values[0]))
            if not isinstance(items, list):
                raise UpdateError(
                    f"`{dotted(at)}` is not a list: --remove takes one path at a time."
                )
            self._pop(items, values[1], at)
            return UpdatedField(UpdateFlag.REMOVE, at, text)
        *steps, last = self._path(values[0])
        holder, schema, at = self._walk(steps)
        if isinstance(holder, list) and isinstance(last, int):
            self._pop(holder, str(last), at)
            return UpdatedField(UpdateFlag.REMOVE, at, text)
        if not isinstance(holder, dict) or not isinstance(last, str):
            raise _no_such_step(holder, schema, last, at)
        name, _ = self._key(holder, schema, last, at)
        if name not in holder:
            raise _unknown(name, holder, {}, at)
        del holder[name]
        return UpdatedField(UpdateFlag.REMOVE, (*at, name), text)

    def _pop(self, items: list[Data], index: str, at: Pointer) -> None:
        try:
            items.pop(int(index))
        except (ValueError, IndexError):
            raise UpdateError(f"index {index} doesn't exist on {dotted(at)}") from None

    def _elements_to_add(self, values: Sequence[str], schema: Schema) -> Iterator[Data]:
        """Return the elements to add: consecutive pairs form one object, others are elements."""
        pairs: dict[str, Data] = {}
        for value in values:
            name, equals, text = value.partition("=")
            if equals and value[:1] not in "{[":
                pairs[name] = self._value(
                    text, field_values.schema_of_key(schema, name) or {"type": "string"}
                )
                continue
            if pairs:
                yield pairs
                pairs = {}
            yield self._value(value, schema)
        if pairs:
            yield pairs

    def _value(self, text: str, schema: Schema) -> Data:
        return text if self._force_string else field_values.coerce(text, schema)

    def _path(self, text: str) -> list[PathStep]:
        """Return the steps of a path; `settings` may be omitted, as in az's output."""
        steps = parse_path(text)
        settings = self._schema.get("properties", {}).get("settings", {}).get("properties", {})
        alone = isinstance(steps[0], str) and _snake(steps[0]) in settings
        return ["settings", *steps] if alone else steps

    def _walk(
        self,
        steps: Iterable[PathStep],
        last: PathStep = "",
        *,
        make: bool = False,
        of_list: bool = False,
    ) -> tuple[Data, Schema, Pointer]:
        """Return the value at the end of the steps (`last` comes next), its schema and place.

        `make` creates missing objects on the way, and the list at the end if it is one (`of_list`).
        """
        value: Data = self._data
        schema, at = self._schema, _ROOT
        path = list(steps)
        for number, step in enumerate(path):
            if isinstance(value, list):
                place = _place(value, step, at)
                value, schema, at = value[place], _items(schema), (*at, place)
                continue
            if not isinstance(value, dict) or not isinstance(step, str):
                raise _no_such_step(value, schema, step, at)
            name, below = self._key(value, schema, step, at)
            if value.get(name) is None:
                if not make:
                    raise _unknown(name, value, {}, at)
                kind = "array" if of_list and number == len(path) - 1 else "object"
                if not field_values.takes(below, kind):
                    raise _no_such_step(None, below, (*path, last)[number + 1], (*at, name))
                value[name] = [] if kind == "array" else {}
            value, schema, at = value[name], below, (*at, name)
        return value, schema, at

    def _key(
        self, holder: dict[str, Data], schema: Schema, step: str, at: Pointer
    ) -> tuple[str, Schema]:
        """Return the key that a step means: as written, in snake case, or below `settings`."""
        for name in dict.fromkeys((step, _snake(step))):
            below = field_values.schema_of_key(schema, name)
            if below is not None:
                return name, below
            if name in holder:
                return name, {}
        raise _unknown(step, holder, schema, at)


def _items(schema: Schema) -> Schema:
    items: Schema = schema.get("items", {})
    return items


def _place(items: list[Data], step: PathStep, at: Pointer) -> int:
    """Return the index in a list that a step means."""
    match step:
        case int():
            if -len(items) <= step < len(items):
                return step % len(items)
            raise UpdateError(f"index {step} doesn't exist on {dotted(at)}")
        case ItemFilter(key, value):
            places = [
                place
                for place, item in enumerate(items)
                if isinstance(item, dict) and key in item and _text(item[key]) == value
            ]
            if len(places) > 1:
                raise UpdateError(
                    f"non-unique key '{key}' found multiple matches on {dotted(at)}."
                    " Key must be unique."
                )
            if not places:
                raise UpdateError(
                    f"item with value '{value}' doesn't exist for key '{key}' on {dotted(at)}"
                )
            return places[0]
        case _:
            raise _no_such_step(items, {}, step, at)


def _text(value: Data) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _no_such_step(holder: Data, schema: Schema, step: PathStep, at: Pointer) -> UpdateError:
    """Return the error for a step that the value before it does not have."""
    head = f"Couldn't find '{_shown(step)}' in '{dotted(at)}'."
    if isinstance(holder, dict):
        return _unknown(_shown(step), holder, schema, at)
    if isinstance(holder, list):
        hint = f"index into the collection '{dotted(at)}' with [<index>] or [<key=value>]"
        return UpdateError(f"{head} Available options: {hint}")
    quoted = (
        f'A key with a dot is quoted: {dotted(at[:-1])}."{at[-1]}.{_shown(step)}"'
        if len(at) > 1
        else ""
    )
    message = f"{head} '{dotted(at)}' does not support further indexing."
    return UpdateError(f"{message}\n{quoted}" if quoted else message)


def _unknown(step: str, holder: dict[str, Data], schema: Schema, at: Pointer) -> UpdateError:
    options = sorted({*holder, *field_values.keys(schema)})
    message = f"Couldn't find '{step}' in '{dotted(at)}'. Available options: {options}"
    retired = schema.get("x-mlctl-retired", {}).get(step)
    near = nearest(step, options)
    hint = retired or (f"Did you mean '{dotted((*at, near))}'?" if near else "")
    return UpdateError(f"{message}\n{hint}" if hint else message)


def _shown(step: PathStep) -> str:
    match step:
        case int():
            return f"[{step}]"
        case ItemFilter(key, value):
            return f"[{key}={value}]"
        case _:
            return step


def _snake(name: str) -> str:
    """Convert `maxInstances` to `max_instances`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).casefold()


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """`[key=value]`: the one element of a list whose `key` is `value`."""

    key: str
    value: str


PathStep: TypeAlias = str | int | ItemFilter


_STEP = re.compile(
    r"""\.?(?:"(?P<quoted>[^"]*)"|\[(?P<index>-?\d+)\]|\[["'](?P<key>[^"']*)["']\]"""
    r"""|\[(?P<name>[^\]=]+)=(?P<value>[^\]]*)\]|(?P<bare>[^.\[\]"]+))"""
)
_SET_USAGE = "Correct syntax: --set KEY=VALUE [KEY=VALUE ...]"


def parse_path(text: str) -> list[PathStep]:
    """Parse `a.b`, `a."b.c"`, `a["b.c"]`, `a[0]`, `a[key=value].b`."""
    steps: list[PathStep] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise UsageError(
                f'usage error: `{text}` is not a path: write a.b, a."b.c", a[0] or a[key=value]'
            )
        at = match.end()
        steps.append(_step(match))
    return steps


def _step(match: re.Match[str]) -> PathStep:
    if match["index"] is not None:
        return int(match["index"])
    if match["name"] is not None:
        return ItemFilter(match["name"], match["value"])
    return next(match[name] for name in ("quoted", "key", "bare") if match[name] is not None)


def split_assignment(expression: str) -> tuple[str, str]:
    """Split `key=value` at the first `=` outside of brackets and quotes."""
    quoted = depth = False
    for place, letter in enumerate(expression):
        if letter == '"':
            quoted = not quoted
        elif letter in "[]" and not quoted:
            depth = letter == "["
        elif letter == "=" and not (quoted or depth):
            if not expression[:place].strip():
                raise UsageError(f"usage error: Empty key in --set. {_SET_USAGE}")
            return expression[:place], expression[place + 1 :]
    raise UsageError(f"usage error: `{expression}` has no value. {_SET_USAGE}")
