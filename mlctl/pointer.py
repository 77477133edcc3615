"""Pointers into plain data (what YAML and JSON hold), RFC 6901 as tuples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

# None, bool, int, float, str, list or dict of the same: checked by the schemas.
Data: TypeAlias = Any
Pointer: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 100  # levels of a document, a request or an answer: functions on data recurse


def parse(text: str) -> Pointer:
    """Parse `/a/b` to `("a", "b")`; every step is a key, `~1` and `~0` are unescaped."""
    if not text:
        return ()
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))


def text(pointer: Pointer) -> str:
    """Format by RFC 6901: `("a", 0)` -> `/a/0`."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in pointer)


def dotted(pointer: Pointer) -> str:
    """Format for messages: `tags."a.b"`, `locations[0]`."""
    out = ""
    for step in pointer:
        if isinstance(step, int):
            out += f"[{step}]"
        else:
            bare = step if step and not set(step) & set('."[] ') else f'"{step}"'
            out += f".{bare}" if out else bare
    return out


def get(data: Data, pointer: Pointer, default: Data = None) -> Data:
    """Return the value at `pointer`, or `default` if any step is missing."""
    for step in pointer:
        if type(data) is dict:  # mostly; to ask for a Mapping takes six times as long
            if step not in data:
                return default
            data = data[step]
        elif isinstance(data, Mapping) and step in data:  # noqa: SIM114
            data = data[step]
        elif isinstance(data, list) and isinstance(step, int) and -len(data) <= step < len(data):
            data = data[step]
        else:
            return default
    return data


def check_depth(data: Data) -> None:
    """Check how deeply objects and lists are nested.

    Raises:
        ValueError: more than `MAX_DEPTH` levels.
    """
    level: list[Data] = [[data]]
    for _ in range(MAX_DEPTH + 1):
        boxes = [value.values() if isinstance(value, dict) else value for value in level]
        level = [value for box in boxes for value in box if isinstance(value, dict | list)]
        if not level:
            return
    raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")


def texts(data: Data, at: Pointer = ()) -> Iterator[tuple[Pointer, str]]:
    """Yield every text in the data, and its pointer."""
    if isinstance(data, str):
        yield at, data
    elif isinstance(data, dict | list):
        for step, inner in data.items() if isinstance(data, dict) else enumerate(data):
            yield from texts(inner, (*at, step))


def leaves(data: Data, at: Pointer = ()) -> Iterator[tuple[Pointer, Data]]:
    """Yield every value in objects that is not a non-empty object, and its pointer."""
    if isinstance(data, dict) and (data or not at):
        for key, inner in data.items():
            yield from leaves(inner, (*at, key))
    else:
        yield at, data


def put(data: dict[str, Data], pointer: Pointer, value: Data) -> None:
    """Set the value at `pointer` (keys only), making the objects on the way."""
    *parents, last = pointer
    for step in parents:
        inner = data.get(str(step))
        if not isinstance(inner, dict):
            inner = data[str(step)] = {}
        data = inner
    data[str(last)] = value


def drop(data: dict[str, Data], pointer: Pointer) -> None:
    """Remove the value at `pointer`, if there is one."""
    holder: Data = data
    for step in pointer[:-1]:
        if not isinstance(holder, dict) or step not in holder:
            return
        holder = holder[step]
    if isinstance(holder, dict):
        holder.pop(pointer[-1], None)


def copy(data: Data) -> Data:
    """Copy plain data, so that no object or list is shared."""
    if isinstance(data, dict):
        return {key: copy(inner) if type(inner) in _BOXES else inner for key, inner in data.items()}
    return [copy(inner) for inner in data] if isinstance(data, list) else data


_BOXES = (dict, list)


def without(data: Mapping[str, Data], pointers: Iterable[Pointer]) -> dict[str, Data]:
    """Return the data without what is at some pointers; the rest is shared, not copied."""
    remainder = dict(data)
    for pointer in pointers:
        if get(remainder, pointer, remainder) is remainder:
            continue  # nothing there
        holder: Data = remainder
        original: Data = data
        for step in pointer[:-1]:
            original = original[step]
            if holder[step] is original:
                holder[step] = dict(original)
            holder = holder[step]
        del holder[pointer[-1]]
    return remainder


def nest(values: Mapping[Pointer, Data]) -> dict[str, Data]:
    """`{("a", "b"): 1}` -> `{"a": {"b": 1}}`."""
    out: dict[str, Data] = {}
    for pointer, value in values.items():
        put(out, pointer, value)
    return out
