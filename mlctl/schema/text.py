"""The words for keys, values and types: near misses, lists, what YAML made of a scalar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from mlctl.pointer import Data

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "object": "a mapping",
    "array": "a list",
    "null": "nothing",
}

_CLASSES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "array": list,
    "null": type(None),
}


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be; None when nothing is near.

    Letter case, `-` and `_` count for nothing, two letters exchanged for one mistake; one mistake
    is forgiven for every three letters.
    """
    return _nearest(word, tuple(known))


@lru_cache(maxsize=1024)  # a slip that was copied is looked up once
def _nearest(word: str, known: tuple[str, ...]) -> str | None:
    bare = _bare(word)
    ranked = sorted((_distance(bare, _bare(one)), one) for one in known)
    if not ranked:
        return None
    mistakes, best = ranked[0]
    return best if mistakes <= max(1, max(len(bare), len(_bare(best))) // 3) else None


def listed(words: Iterable[str], last: str = "or") -> str:
    """`a`, `b` or `c`."""
    quoted = [f"`{word}`" for word in words]
    head, tail = quoted[:-1], quoted[-1:]
    return f" {last} ".join([", ".join(head), *tail]) if head else "".join(tail)


def with_article(noun: str) -> str:
    """`a cluster`, `an environment`."""
    return f"{'an' if noun[:1].casefold() in 'aeiou' else 'a'} {noun}"


def typed(types: str | list[str]) -> str:
    """What a schema's `type` asks for, in words."""
    return " or ".join(
        _TYPES.get(one, one) for one in ([types] if isinstance(types, str) else types)
    )


def shown(value: Data) -> str:
    """A value in short: `` `yes` ``, a mapping, a list."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text}`" if len(text) <= 60 else f"`{text[:59]}…`"  # noqa: PLR2004


def is_a(value: Data, name: str) -> bool:
    """Whether a value has a type of JSON Schema; 2.0 is an integer, True is not."""
    if isinstance(value, bool) or name == "boolean":
        return isinstance(value, bool) and name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _CLASSES[name])


def seconds(text: str) -> int | None:
    """The seconds that `2m`, `120s` or `PT2M` stands for."""
    match = re.fullmatch(r"(?:pt)?(\d+) ?([smh])[a-z]*", text.strip().casefold())
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]] if match else None


def example(name: str, schema: Mapping[str, Data]) -> str | None:
    """A line that gives the field a value, from the schema's examples, words or default."""
    for values in (schema.get("examples"), enumerated(schema), [schema.get("default")]):
        if values and isinstance(values[0], str | int | float):
            value = values[0] if isinstance(values[0], str) else json.dumps(values[0])
            return f"{name}: {value}"
    return None


def enumerated(schema: Mapping[str, Data]) -> list[str]:
    """The words that a field takes, where they are few: `enum`, or an `enum` among `anyOf`."""
    for branch in (schema, *schema.get("anyOf", [])):
        if "enum" in branch:
            return list(branch["enum"])
    return []


def _bare(word: str) -> str:
    return word.replace("_", "").replace("-", "").casefold()


def _distance(one: str, other: str) -> int:
    """Optimal string alignment: insert, delete, replace, or exchange two neighbours."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, right in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and (left, one[i - 2]) == (other[j - 2], right):
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]
