"""Check data against schemas that others wrote, such as policies', in bounded time.

Unbounded constructs are refused: references that are neither a pointer within the schema nor to one
of mlctl's, or that are recursive or lead to too much; parts nested too deeply; patterns that can
take exponential time. Nothing is fetched.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from mlctl import pointer
from mlctl.pointer import Data, Pointer
from mlctl.schema import simple
from mlctl.schema.files import SUFFIX, load, names

_MOST_PARTS = 2_000  # of a schema, including the targets of its references
_MOST_CHECKS = 2_000_000  # parts of a schema, times values of a document
_MOST_UNEVALUATED = 3  # each can double the work of what contains it
_DEEPEST = 30  # levels of parts within parts
_MANY = 256  # assumed number of repeats of an unbounded repeat
# Maximum length of a text, by the number of ways in which its pattern can match.
_LONGEST = ((2**6, 100_000), (2**10, 10_000), (2**17, 256), (2**28, 100))
_LONGEST_KEY = 256
_MOST_WAYS, _MOST_WAYS_OF_KEYS = 2**28, 2**10
_TOKEN = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<open>\()|(?P<close>\))"
    r"|(?P<repeat>[*+?]|\{\d*,?\d*\})|(?P<either>\|)|.",
    re.DOTALL,
)
_SCHEMA = (
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SCHEMAS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED_SCHEMAS = ("dependentSchemas", "patternProperties", "properties")
_TOO_DEEP = "it is nested too deeply"


def wrong(schema: Mapping[str, Data]) -> tuple[Pointer, str] | None:
    """Return where and why something is not a JSON Schema, or not one of bounded time."""
    if simple.predicate(schema) is not None:
        return None
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415  (40 ms)

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return tuple(error.absolute_path), error.message
    except RecursionError:
        return (), _TOO_DEEP
    except OverflowError as error:
        return (), f"a pattern in it is not a regular expression: {error}"
    return _without_bound(schema)


def _without_bound(schema: Mapping[str, Data]) -> tuple[Pointer, str] | None:
    """Return where and why a valid schema cannot be checked in bounded time."""
    unevaluated = 0
    for number, (at, part) in enumerate(_parts(schema)):
        if number >= _MOST_PARTS:
            return (), f"it has more than {_MOST_PARTS:,} parts, including its references"
        if isinstance(part, str):
            return at, part
        unevaluated += sum(key.startswith("unevaluated") for key in part)
        if unevaluated > _MOST_UNEVALUATED:
            return at, f"it has more than {_MOST_UNEVALUATED} `unevaluated...`"
        message = _wrong_base(part) if part is not schema else None
        message = message or _wrong_pattern(part)
        if message is not None:
            return at, message
    return None


def _parts(schema: Mapping[str, Data]) -> Iterator[tuple[Pointer, Mapping[str, Data] | str]]:
    """Yield the objects of a schema, referenced ones for each reference; else what is wrong."""
    pending: list[tuple[Data, Pointer, tuple[str, ...], int]] = [(schema, (), (), 0)]
    while pending:
        part, at, referring, depth = pending.pop()
        if not isinstance(part, Mapping):
            continue
        yield at, _TOO_DEEP if depth > _DEEPEST else part
        inner = [((*at, *steps), value, referring) for steps, value in _inner(part)]
        for key in ("$ref", "$dynamicRef"):
            reference = part.get(key)
            if reference is None:
                continue
            if _shipped(reference) is not None:
                continue  # it is bounded, and never visited twice
            target = _target(schema, reference)
            if target is None:
                yield at, f"`{reference}` is neither a pointer in the schema nor a schema of mlctl"
            elif reference in referring or target is schema:
                yield at, f"`{reference}` is recursive"
            else:
                inner.append((at, target, (*referring, reference)))
        pending += [(value, place, names, depth + 1) for place, value, names in reversed(inner)]


def _inner(part: Mapping[str, Data]) -> Iterator[tuple[Pointer, Data]]:
    """Yield the schemas in a schema, by their places, since a field may have any name."""
    for key, value in part.items():
        if key in _SCHEMA:
            yield (key,), value
        elif key in _SCHEMAS and isinstance(value, list):
            yield from (((key, number), inner) for number, inner in enumerate(value))
        elif key in _NAMED_SCHEMAS and isinstance(value, Mapping):
            yield from (((key, name), inner) for name, inner in value.items())


def _shipped(reference: str) -> Data:
    """Return the target of a reference to mlctl: `amlCompute.schema.json#/properties/size`."""
    file, _, fragment = reference.partition("#")
    name = file.removesuffix(SUFFIX)
    if name == file or name not in names() or "%" in fragment:
        return None
    return pointer.get(load(name), pointer.parse(fragment))


def _retrieve(uri: str) -> Any:
    """Return a schema of mlctl, for the library; raises NoSuchResource if it is another one."""
    from referencing.exceptions import NoSuchResource  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    name = uri.removesuffix(SUFFIX)
    if name == uri or name not in names():
        raise NoSuchResource(ref=uri)  # type: ignore[call-arg]  # made by attrs
    return DRAFT202012.create_resource(load(name))


def _target(schema: Mapping[str, Data], reference: str) -> Data:
    """Return a pointer's target; None for anything else, and if another base applies."""
    if reference[:1] != "#" or "%" in reference:
        return None
    steps = pointer.parse(reference[1:])
    above = (pointer.get(schema, steps[:length]) for length in range(1, len(steps) + 1))
    if any(isinstance(part, Mapping) and _wrong_base(part) for part in above):
        return None
    return pointer.get(schema, steps)


def _wrong_base(part: Mapping[str, Data]) -> str | None:
    """Return why a part of a schema would be read differently from the schema itself."""
    for key in ("$id", "$schema"):
        if isinstance(part.get(key), str):
            return f"`{key}` is only allowed for the whole schema"
    return None


def _wrong_pattern(part: Mapping[str, Data]) -> str | None:
    patterns = [(name, _MOST_WAYS_OF_KEYS) for name in part.get("patternProperties", ())]
    if "pattern" in part:
        patterns.append((part["pattern"], _MOST_WAYS))
    for pattern, most in patterns:
        if _ways(pattern) > most:
            return f"`{pattern}` could take very long: it repeats a repeat, or has many"
    return None


def _ways(pattern: str) -> float:
    """Estimate in how many ways a pattern may match; infinite if repeats multiply."""
    # For each open group: the ways of its earlier branches, of this one, and of its last element.
    groups = [(0.0, 1.0, 1.0)]
    before = ""
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup or ""
        branches, branch, element = groups.pop()
        if kind == "escape" and token[0][1].isdigit():
            return math.inf  # what it refers to may be matched repeatedly
        if kind == "open":
            groups += [(branches, branch * element, 1), (0, 1, 1)]
        elif kind == "close" and groups:
            outer, outer_branch, outer_element = groups.pop()
            choices = (branches + branch * element) * (2 if branches else 1)
            groups.append((outer, outer_branch * outer_element, choices))
        elif kind == "either":
            groups.append((branches + branch * element, 1, 1))
        elif kind != "repeat" or before == "open":
            groups.append((branches, branch * element, 1))
        elif before == "repeat":  # makes the repeat lazy
            groups.append((branches, branch, element))
        else:
            groups.append((branches, branch, _repeated(element, token[0])))
        before = kind
    branches, branch, element = groups[0]
    return math.inf if "(?P=" in pattern else branches + branch * element


def _repeated(ways: float, repeat: str) -> float:
    """Return the ways of a repeated element."""
    least, comma, most = repeat.strip("{}").partition(",")
    if repeat == "?":
        return ways + 3  # a choice costs more than one more character of a repeat
    if repeat in "*+" or (comma and not most):
        return _MANY if ways == 1 else math.inf
    if ways == 1:
        return float(int(most) - int(least or 0) + 1) if comma else 1
    bits = int(most or least or 0) * math.log2(ways)
    return 2**bits * 2 if bits < 100 else math.inf  # noqa: PLR2004


def unmet(data: Data, schema: Mapping[str, Data]) -> Iterator[tuple[Pointer, str]]:
    """Yield where and why data does not match a schema, in the order of the places."""
    from referencing import Registry  # noqa: PLC0415

    parts = [part for _, part in _parts(schema)]
    places = list(_places(data))
    if len(parts) * len(places) > _MOST_CHECKS:
        yield (), "the document is too large for this schema"
        return
    long_key = next((at for at in places if at and len(str(at[-1])) > _LONGEST_KEY), None)
    if long_key and any("patternProperties" in part for part in parts):
        yield long_key, f"a key of more than {_LONGEST_KEY} characters cannot be checked"
        return
    try:
        registry: Any = Registry(retrieve=_retrieve)  # type: ignore[call-arg]
        errors: list[Any] = [*_bounded_validator()(schema, registry=registry).iter_errors(data)]
    except (RecursionError, ArithmeticError):
        yield (), "the document cannot be checked by this schema"
        return
    for error in sorted(errors, key=lambda error: [str(step) for step in error.absolute_path]):
        yield tuple(error.absolute_path), error.message


@cache
def _bounded_validator() -> Any:
    """Build the class of validators that work in bounded time, once, since it takes 1 ms."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    bounded: Any = validators.extend(  # type: ignore[no-untyped-call]  # the library's has no types
        Draft202012Validator, {"pattern": _unmatched, "uniqueItems": _repeated_items}
    )
    return bounded


def _places(data: Data, at: Pointer = ()) -> Iterator[Pointer]:
    """Yield the pointer of every value."""
    yield at
    if isinstance(data, Mapping | list):
        for step, value in data.items() if isinstance(data, Mapping) else enumerate(data):
            yield from _places(value, (*at, step))


def _unmatched(_validator: Any, pattern: str, value: Data, _schema: Data) -> Iterator[Any]:
    from jsonschema import ValidationError  # noqa: PLC0415

    if not isinstance(value, str):
        return
    ways = _ways(pattern)
    longest = next((length for most, length in _LONGEST if ways <= most), 0)
    if len(value) > longest:
        yield ValidationError(f"a text of more than {longest:,} characters cannot be checked")
    elif not re.search(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _repeated_items(_validator: Any, unique: Data, value: Data, _schema: Data) -> Iterator[Any]:
    """Check as the library does, but in linear time."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if unique and isinstance(value, list):
        texts = {json.dumps(_canonical(item), sort_keys=True) for item in value}
        if len(texts) < len(value):
            yield ValidationError("the list has an item twice")


def _canonical(value: Data) -> Data:
    """Return a value in which equal numbers are spelt equally."""
    if isinstance(value, Mapping):
        return {str(key): _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
