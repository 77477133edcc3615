"""Schemas that somebody else wrote, such as those of a project's policies: checked in bounded time.

What has no bound is refused: references that are no pointer within the schema, or lead back to
where they stand or to too much; patterns that can take exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from mlctl import pointer
from mlctl.pointer import Data, Pointer

_MOST_PARTS = 2_000  # of a schema, with what its references lead to
_MOST_REPEATS = 3  # without a bound, in a pattern
_LONGEST = {0: 100_000, 1: 10_000}  # characters of a text, by the repeats of its pattern
_LONGEST_OTHERWISE = 256
_TOKEN = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<open>\()|(?P<close>\))"
    r"|(?P<repeat>[*+]|\{\d*,?\d*\})|(?P<either>\|)|.",
    re.DOTALL,
)


def wrong(schema: Mapping[str, Data]) -> tuple[Pointer, str] | None:
    """Where and why something is no JSON Schema, or none that is checked in bounded time."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415  (40 ms)

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return tuple(error.absolute_path), error.message
    for number, (at, part) in enumerate(_parts(schema, schema, (), ())):
        if number >= _MOST_PARTS:
            return (), f"with what its references lead to it has more than {_MOST_PARTS:,} parts"
        message = part if isinstance(part, str) else _wrong_pattern(part)
        if message is not None:
            return at, message
    return None


def _parts(
    schema: Mapping[str, Data], part: Data, at: Pointer, referring: tuple[str, ...]
) -> Iterator[tuple[Pointer, Mapping[str, Data] | str]]:
    """The objects of a schema, those that references lead to once more; else what is wrong."""
    if isinstance(part, list):
        for number, inner in enumerate(part):
            yield from _parts(schema, inner, (*at, number), referring)
    if not isinstance(part, Mapping):
        return
    yield at, part
    for key, inner in part.items():
        if key in ("$ref", "$dynamicRef") and isinstance(inner, str):
            target = pointer.get(schema, pointer.parse(inner[1:])) if inner[:1] == "#" else None
            if target is None:
                yield at, f"`{inner}` is no pointer within the schema"
            elif inner in referring or inner == "#":
                yield at, f"`{inner}` leads back to where it stands"
            else:
                yield from _parts(schema, target, at, (*referring, inner))
        elif key not in ("$defs", "const", "enum", "default", "examples"):
            yield from _parts(schema, inner, (*at, key), referring)


def _wrong_pattern(part: Mapping[str, Data]) -> str | None:
    for key, most in (("pattern", _MOST_REPEATS), ("patternProperties", 1)):
        patterns = part.get(key)
        for pattern in (patterns,) if isinstance(patterns, str) else patterns or ():
            if isinstance(pattern, str) and _repeats(pattern) > most:
                return f"`{pattern}` could take very long: it repeats a repeat, or has over {most}"
    return None


def _repeats(pattern: str) -> int:
    """How many repeats without a small bound a pattern has; too many where they can multiply."""
    repeats, before = 0, ""
    varied = [False]  # whether a group can match in several ways: it holds a repeat or a choice
    last_group_varied = False
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup or ""
        if kind == "escape" and token[0][1].isdigit():
            return _MOST_REPEATS + 1  # what it refers to is matched again and again
        if kind == "open":
            varied.append(False)
        elif kind == "close" and len(varied) > 1:
            last_group_varied = varied.pop()
            varied[-1] |= last_group_varied
        elif kind == "repeat":
            if before == "close" and last_group_varied:
                return _MOST_REPEATS + 1
            repeats += 1
            varied[-1] = True
        elif kind == "either":
            varied[-1] = True
        before = kind
    return repeats


def unmet(data: Data, schema: Mapping[str, Data]) -> Iterator[tuple[Pointer, str]]:
    """Where and why data does not meet a schema, in the order of the places."""
    errors: list[Any] = [*_bounded_validator()(schema).iter_errors(data)]
    for error in sorted(errors, key=lambda error: [str(step) for step in error.absolute_path]):
        yield tuple(error.absolute_path), error.message


@cache
def _bounded_validator() -> Any:
    """The class of validators that match patterns in bounded time: made once, which takes 1 ms."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    bounded: Any = validators.extend(  # type: ignore[no-untyped-call]  # the library's has no types
        Draft202012Validator, {"pattern": _unmatched}
    )
    return bounded


def _unmatched(_validator: Any, pattern: str, value: Data, _schema: Data) -> Iterator[Any]:
    from jsonschema import ValidationError  # noqa: PLC0415

    if not isinstance(value, str):
        return
    longest = _LONGEST.get(_repeats(pattern), _LONGEST_OTHERWISE)
    if len(value) > longest:
        yield ValidationError(f"a text of more than {longest:,} characters is not matched")
    elif not re.search(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")
