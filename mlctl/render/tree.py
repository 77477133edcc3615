"""Differences as an indented tree of YAML lines, each under its sign: `+`, `-` or `~`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import Enum
from typing import TypeAlias

from mlctl.pointer import Data, Pointer
from mlctl.render.terminal import clean, orders

# What YAML 1.1 reads as text without quotes: a word or a path at first, no `: `, no ` #`.
_PLAIN = re.compile(r"[^\W\d_][^\n]*|\.{0,2}/[^\n]*")
_BROKEN = re.compile(r": | #|##|:$|\s$")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))

_STEP = 4  # columns from a key to those beneath it


class Ink(Enum):
    """ANSI's codes, by what they are for."""

    ADDED = "32"
    REMOVED = "31"
    CHANGED = "33"
    STRONG = "1"
    DIM = "90"
    ALARM = "1;31"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value before and after (None: absent), with remarks.

    `spelt_before` and `spelt_after` are shown in place of the values.
    """

    before: Data
    after: Data
    remark: str = ""
    alarm: str = ""
    spelt_before: str | None = None
    spelt_after: str | None = None

    @property
    def sign(self) -> str:
        """`+`, `-` or `~`."""
        if self.before is None and self.spelt_before is None:
            return "+"
        return "-" if self.after is None and self.spelt_after is None else "~"


@dataclass(slots=True)
class Branch:
    """An object: its changed parts, and how many unchanged ones are left out."""

    parts: dict[str, Node] = field(default_factory=dict)
    hidden: int = 0
    word: str = "element"

    @property
    def sign(self) -> str:
        """The sign of all its parts, or `~` where they differ."""
        signs = {part.sign for part in self.parts.values()}
        return signs.pop() if len(signs) == 1 and not self.hidden else "~"

    def put(self, at: Pointer, leaf: Leaf) -> None:
        """Hang `leaf` at a pointer; the branches on the way grow, objects become branches."""
        *way, last = at
        branch = self
        for step in way:
            inner = branch.parts.get(str(step))
            if not isinstance(inner, Branch):
                inner = branch.parts[str(step)] = Branch()
            branch = inner
        branch.parts[str(last)] = grown(leaf)

    def at(self, at: Pointer) -> Branch | None:
        """The branch at a pointer, if one grew there."""
        branch: Node | None = self
        for step in at:
            branch = branch.parts.get(str(step)) if isinstance(branch, Branch) else None
        return branch if isinstance(branch, Branch) else None


Node: TypeAlias = Leaf | Branch


@dataclass(frozen=True, slots=True)
class Paper:
    """What is drawn on: in colour or not."""

    color: bool

    def ink(self, text: str, ink: Ink) -> str:
        """`text` in a colour."""
        return f"\x1b[{ink.value}m{text}\x1b[0m" if self.color else text

    def sign(self, sign: str) -> str:
        """A sign in its colour."""
        return self.ink(sign, _INKS[sign]) if self.color and sign.strip() else sign


_INKS = {"+": Ink.ADDED, "-": Ink.REMOVED, "~": Ink.CHANGED, "-/+": Ink.CHANGED}


def grown(leaf: Leaf) -> Node:
    """A leaf whose values are objects as the branch of what differs in them."""
    sides = [leaf.before, leaf.after]
    if (
        leaf.spelt_before
        or leaf.spelt_after
        or not any(isinstance(one, dict) and one for one in sides)
    ):
        return leaf
    if not all(one is None or isinstance(one, dict) for one in sides):
        return leaf
    before, after = (one or {} for one in sides)
    branch = Branch()
    for key in [*after, *(key for key in before if key not in after)]:
        if before.get(key) == after.get(key) and key in before and key in after:
            branch.hidden += 1
        else:
            branch.parts[str(key)] = grown(
                Leaf(before.get(key), after.get(key), leaf.remark, leaf.alarm)
            )
    return branch


def draw(branch: Branch, paper: Paper, indent: int) -> Iterator[str]:
    """The lines of an object's parts; values stand in one column."""
    rows = [(_key(name), part, _short(part)) for name, part in branch.parts.items()]
    room = max((len(key) for key, _, short in rows if short), default=0) + 1
    margin = " " * indent
    for key, part, short in rows:
        head = f"{margin}{paper.sign(part.sign)} {key}:"
        if isinstance(part, Branch):
            yield head
            yield from draw(part, paper, indent + _STEP)
        elif short:
            yield f"{head}{' ' * (room - len(key))}{_text(part)}{_remark(part, paper)}"
        else:
            yield head + _remark(part, paper)
            yield from _long(part, paper, indent + _STEP)
    if branch.hidden:
        yield f"{margin}  {paper.ink(hidden(branch.hidden, branch.word), Ink.DIM)}"


def hidden(count: int, word: str) -> str:
    """`# (5 unchanged attributes hidden)`."""
    return f"# ({count} unchanged {word}{'' if count == 1 else 's'} hidden)"


def scalar(value: Data) -> str:
    """A value on one line, as YAML spells it; nothing in it steers a terminal."""
    if isinstance(value, str):
        return _string(value)
    if type(value) is int:
        return str(value)
    return _quoted(value)


def _string(value: str) -> str:
    plain = _PLAIN.fullmatch(value) and value.isprintable()
    if plain and value.casefold() not in _WORDS and not _BROKEN.search(value):
        return value
    return _quoted(value)


def _quoted(value: Data) -> str:
    """As JSON, which is YAML too; what cannot be seen is spelt in YAML's longer escapes."""
    text = json.dumps(value, ensure_ascii=False)
    if orders(text):
        text = text.replace("##", r"#\u0023")
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004  # the BMP


def _key(name: str) -> str:
    return _string(name)


def _short(part: Node) -> bool:
    """Whether a part stands on its key's line."""
    if isinstance(part, Branch):
        return False
    before = part.spelt_before is None and _many(part.before)
    return not before and not (part.spelt_after is None and _many(part.after))


def _many(value: Data) -> bool:
    """Whether a value takes more than one line."""
    return (
        bool(value)
        if isinstance(value, list)
        else isinstance(value, str) and "\n" in value.strip("\n")
    )


def _text(leaf: Leaf) -> str:
    match leaf.sign:
        case "+":
            return leaf.spelt_after or scalar(leaf.after)
        case "-":
            return leaf.spelt_before or scalar(leaf.before)
        case _:
            before = leaf.spelt_before or scalar(leaf.before)
            return f"{before} -> {leaf.spelt_after or scalar(leaf.after)}"


def _remark(leaf: Leaf, paper: Paper) -> str:
    alarm = paper.ink(f" # {leaf.alarm}", Ink.ALARM) if leaf.alarm else ""
    return alarm + (paper.ink(f" # {clean(leaf.remark)}", Ink.DIM) if leaf.remark else "")


def _long(leaf: Leaf, paper: Paper, indent: int) -> Iterator[str]:
    """A list or a text of several lines, item by item."""
    dash = "- " if isinstance(leaf.before if leaf.after is None else leaf.after, list) else ""
    left_out = 0
    for sign, item in _items(_listed(leaf.before), _listed(leaf.after)):
        if not sign:
            left_out += int(item)
            continue
        yield f"{' ' * indent}{paper.sign(sign)} {dash}{item}".rstrip()
    if left_out:
        yield " " * (indent + 2) + paper.ink(
            hidden(left_out, "element" if dash else "line"), Ink.DIM
        )


def _listed(value: Data) -> list[str]:
    if isinstance(value, list):
        return [scalar(one) if not isinstance(one, dict) else _flow(one) for one in value]
    if value is None:
        return []
    return (
        [clean(line) for line in value.splitlines()] if isinstance(value, str) else [scalar(value)]
    )


def _flow(value: Mapping[str, Data]) -> str:
    """A mapping in a list on one line: `key: value`, in braces where there is more."""
    text = ", ".join(f"{_key(str(key))}: {scalar(inner)}" for key, inner in value.items())
    return text if len(value) == 1 else f"{{{text}}}"


def _items(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Signed items; an item without a sign is the number of those left out."""
    for tag, low, high, start, end in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            yield "", str(high - low)
            continue
        yield from (("-", one) for one in before[low:high])
        yield from (("+", one) for one in after[start:end])
