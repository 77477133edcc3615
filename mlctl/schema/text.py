"""Wording of messages: nearest words, lists, articles, types, short values."""

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

_LONGEST_WORD = 200  # no name of Azure's is longer

_CLASSES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "array": list,
    "null": type(None),
}


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the known word that `word` probably means; None if no word is near.

    Letter case, `-` and `_` are ignored, and two exchanged letters are one mistake; one mistake is
    allowed per three letters of the longer word. Of equally near words the first in the alphabet
    counts.
    """
    bare = _bare(word[:_LONGEST_WORD])
    return None if len(word) > _LONGEST_WORD else _nearest(bare, tuple(words))


@lru_cache(maxsize=1024)  # a mistake that was copied is looked up once
def _nearest(bare: str, words: tuple[str, ...]) -> str | None:
    letters, at = _letters(bare), _positions(bare)
    best, limit = None, len(bare)
    for candidate, bare_candidate, others in _indexed(words):
        allowed = min(max(1, max(len(bare), len(bare_candidate)) // 3), limit)
        strange = max((letters & ~others).bit_count(), (others & ~letters).bit_count())
        if max(strange, abs(len(bare) - len(bare_candidate))) > allowed:
            continue  # each such letter is at least one mistake
        mistakes = _distance(at, len(bare), bare_candidate)
        if mistakes <= allowed:
            best, limit = candidate, mistakes - 1  # only a nearer one is better
    return best


@lru_cache(maxsize=64)
def _indexed(words: tuple[str, ...]) -> tuple[tuple[str, str, int], ...]:
    """Return, in alphabetical order: each known word, its bare form, and its letters."""
    return tuple((word, _bare(word), _letters(_bare(word))) for word in sorted(words))


def _positions(word: str) -> dict[str, int]:
    """Return letter -> its positions in the word, as bits."""
    at: dict[str, int] = {}
    for place, letter in enumerate(word):
        at[letter] = at.get(letter, 0) | 1 << place
    return at


def _letters(word: str) -> int:
    """Return the letters of a word as a set of bits modulo 64, enough to rule words out."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits


def listed(words: Iterable[str], last: str = "or") -> str:
    """Format `a`, `b` or `c`."""
    quoted = [f"`{word}`" for word in words]
    head, tail = quoted[:-1], quoted[-1:]
    return f" {last} ".join([", ".join(head), *tail]) if head else "".join(tail)


def with_article(noun: str) -> str:
    """Format `a cluster`, `an environment`."""
    return f"{'an' if noun[:1].casefold() in 'aeiou' else 'a'} {noun}"


def typed(types: str | list[str]) -> str:
    """Describe the types of a schema: `text or a list`."""
    return " or ".join(
        _TYPES.get(type_name, type_name)
        for type_name in ([types] if isinstance(types, str) else types)
    )


def shown(value: Data) -> str:
    """Describe a value briefly: `` `yes` ``, a mapping, a list."""
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
    """Return the seconds of `2m`, `120s` or `PT2M`."""
    from mlctl import durations  # noqa: PLC0415 - few fields are durations

    short = re.sub(r"(?<=\d) ?([smh])[a-z]*$", r"\1", text.strip().casefold())
    try:
        return None if short.isdecimal() else int(durations.parse(short))
    except ValueError:
        return None


def example(name: str, schema: Mapping[str, Data]) -> str | None:
    """Return a line that sets the field, from the schema's examples, enum or default."""
    for values in (schema.get("examples"), enumerated(schema), [schema.get("default")]):
        if values and isinstance(values[0], str | int | float):
            value = values[0] if isinstance(values[0], str) else json.dumps(values[0])
            return f"{name}: {value}"
    return None


def enumerated(schema: Mapping[str, Data]) -> list[str]:
    """Return a field's allowed values: its `enum`, or the one in its `anyOf`; else empty."""
    for branch in (schema, *schema.get("anyOf", [])):
        if "enum" in branch:
            return list(branch["enum"])
    return []


def _bare(word: str) -> str:
    return word.replace("_", "").replace("-", "").casefold()


def _distance(at: Mapping[str, int], length: int, candidate: str) -> int:
    """Compute the optimal string alignment distance, in which exchanging neighbours is one edit.

    `at` has the positions of each letter of a word of `length` letters, as bits. Hyyrö, "A
    bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003: a column of
    the table at a time, its differences as bits.
    """
    everywhere, last = (1 << length) - 1, 1 << length >> 1
    positive, negative, diagonal, earlier, mistakes = everywhere, 0, 0, 0, length
    for letter in candidate:
        matches = at.get(letter, 0)
        exchanged = (~diagonal & matches) << 1 & earlier
        diagonal = (((matches & positive) + positive) ^ positive) | matches | negative | exchanged
        up, down = negative | (everywhere & ~(diagonal | positive)), diagonal & positive
        mistakes += bool(up & last) - bool(down & last)
        up, down = up << 1 | 1, down << 1
        positive, negative, earlier = (
            down | (everywhere & ~(diagonal | up)),
            up & diagonal,
            matches,
        )
        positive, negative = positive & everywhere, negative & everywhere
    return mistakes if length else len(candidate)


def counted(number: int, word: str, plural: str = "") -> str:
    """Format `1 file`, `2 files`; give the plural if it does not end in `s`."""
    return f"{number} {word if number == 1 else plural or f'{word}s'}"


# Of shells, Azure DevOps (`$(x)`, `#{x}#`, `__x__`), GitHub and Jinja (`{{ x }}`), and of people.
_PLACEHOLDER = re.compile(
    r"\$\w+|\$?\{\{.*?\}\}|\$\{[^}]*\}|\$\([^)]*\)|#\{.*?\}#?|<[^<>]+>|__\w+?__", re.DOTALL
)


def placeholder(text: str) -> str | None:
    """Return the first placeholder in a text: `${STAGE}` of `../${STAGE}/model`."""
    match = _PLACEHOLDER.search(text)
    return match[0] if match else None


def is_placeholder(text: str) -> bool:
    """Whether a whole text is a placeholder: `${PASSWORD}`, `<name>`."""
    return _PLACEHOLDER.fullmatch(text.strip()) is not None
