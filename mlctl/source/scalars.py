"""Convert scalars as YAML 1.1, like PyYAML's safe loader and so `az`."""

from __future__ import annotations

import math
import re

from yaml.constructor import SafeConstructor
from yaml.events import ScalarEvent
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

from mlctl.pointer import Data

CORE = "tag:yaml.org,2002:"
STR, NULL, BOOL, INT, FLOAT = (CORE + name for name in ("str", "null", "bool", "int", "float"))
TIMESTAMP, MERGE, VALUE = (CORE + name for name in ("timestamp", "merge", "value"))
MAP, SEQ = CORE + "map", CORE + "seq"

_IMPLICIT = Resolver.yaml_implicit_resolvers  # first character -> [(tag, pattern)]
_NUMBERS = SafeConstructor()
_LONGEST_NUMBER = 100  # characters; sexagesimals of a million parts take minutes

# Numbers in YAML 1.2 that are text in YAML 1.1.
_NUMBER_ELSEWHERE = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)[eE][-+]?\d+|0o[0-7]+")


def tag_of(event: ScalarEvent) -> str:
    """Return the tag that a scalar has or resolves to."""
    tag: str | None = event.tag
    if tag is not None and tag != "!":
        return tag
    return tag_of_plain(event.value) if tag == "!" or event.implicit[0] else STR


def tag_of_plain(text: str) -> str:
    """Return the tag that a scalar without quotes resolves to."""
    for name, pattern in _IMPLICIT.get(text[:1], ()):
        if pattern.match(text):
            return str(name)
    return STR


def convert(tag: str, text: str) -> Data:
    """Return the value of `text` under a core tag; timestamps stay text.

    Raises:
        LookupError: the tag is not in the core schema.
        ValueError: JSON has no such value; the message is one clause.
    """
    if tag in (STR, TIMESTAMP):
        return text
    if tag == NULL:
        return None
    if tag == BOOL:
        if text.lower() not in SafeConstructor.bool_values:
            raise ValueError(f"`{text}` is not a boolean")
        return SafeConstructor.bool_values[text.lower()]
    if tag in (INT, FLOAT):
        if len(text) > _LONGEST_NUMBER:
            raise ValueError(f"a number of {len(text)} characters is too long")
        node = ScalarNode(tag, text)
        try:
            number: int | float = (
                _NUMBERS.construct_yaml_int(node)
                if tag == INT
                else _NUMBERS.construct_yaml_float(node)
            )
        except (ValueError, IndexError):
            raise ValueError(f"`{text}` is not a number") from None
        if not math.isfinite(number):
            raise ValueError(f"`{text}` is not a number in JSON")
        return number
    if tag in (VALUE, MERGE):
        raise ValueError(f"an unquoted `{text}` is a special value in YAML 1.1")
    raise LookupError(tag)


def trap(text: str, value: Data) -> str | None:
    """Return what to write instead of a plain `text` that is misread; None if it is not."""
    if isinstance(value, bool):
        plain = text.lower() in ("true", "false")
        return None if plain else "true" if value else "false"
    if isinstance(value, int | float):
        digits = text.lstrip("+-")
        octal = isinstance(value, int) and digits[0] == "0" and digits[1:2].isdigit()
        odd = octal or ":" in digits or "_" in digits or digits.startswith("0b")
        return str(value) if odd else None
    if isinstance(value, str) and text[:1] in "+-.0123456789" and _NUMBER_ELSEWHERE.fullmatch(text):
        number = int(text, 8) if text.startswith("0o") else float(text)
        if not math.isfinite(number):
            return None
        if number == int(number):
            return str(int(number))
        decimal = str(number)  # PyYAML needs a point before an exponent
        return decimal if "." in decimal else decimal.replace("e", ".0e")
    return None
