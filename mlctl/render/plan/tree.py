"""A diff as an indented tree of YAML lines, each with its sign: `+`, `-` or `~`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from mlctl.dataclasses import dataclass, field
from mlctl.inert import has_agent_command
from mlctl.pointer import Data, Pointer
from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.schema.text import counted

# Texts without quotes in YAML 1.1: a word or a path at first, no `: `, no ` #`.
_PLAIN = re.compile(r"[^\W\d_][^\n]*|\.{0,2}/[^\n]*")
_BROKEN = re.compile(r": | #|##|:$|\s$")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))

_STEP = 4  # columns from a key to those below it


@dataclass(frozen=True, slots=True)
class DiffLeaf:
    """A value before and after (None: absent), with remarks.

    `text_before` and `text_after` are shown instead of the values.
    """

    before: Data
    after: Data
    remark: str = ""
    alarm: str = ""
    text_before: str | None = None
    text_after: str | None = None

    @property
    def sign(self) -> str:
        """Return `+`, `-` or `~`."""
        if self.before is None and self.text_before is None:
            return "+"
        return "-" if self.after is None and self.text_after is None else "~"


@dataclass(slots=True)
class DiffBranch:
    """An object: its changed parts, and the number of unchanged ones, which are hidden."""

    parts: dict[str, DiffNode] = field(default_factory=dict)
    hidden: int = 0
    word: str = "element"

    @property
    def sign(self) -> str:
        """Return the sign that all its parts share, or `~`."""
        signs = {part.sign for part in self.parts.values()}
        return signs.pop() if len(signs) == 1 and not self.hidden else "~"

    def put(self, at: Pointer, leaf: DiffLeaf) -> None:
        """Add `leaf` at a pointer, creating the branches above it."""
        *above, last = at
        branch = self
        for step in above:
            inner = branch.parts.get(str(step))
            if not isinstance(inner, DiffBranch):
                inner = branch.parts[str(step)] = DiffBranch()
            branch = inner
        branch.parts[str(last)] = node_of(leaf)

    def at(self, at: Pointer) -> DiffBranch | None:
        """Return the branch at a pointer, None if there is none."""
        branch: DiffNode | None = self
        for step in at:
            branch = branch.parts.get(str(step)) if isinstance(branch, DiffBranch) else None
        return branch if isinstance(branch, DiffBranch) else None


DiffNode: TypeAlias = DiffLeaf | DiffBranch


_SIGN_STYLES = {"+": Style.GREEN, "-": Style.RED, "~": Style.YELLOW, "-/+": Style.YELLOW}


def styled_sign(sign: str, styler: Styler) -> str:
    """Return a sign in its colour."""
    return styler.apply(sign, _SIGN_STYLES[sign]) if sign in _SIGN_STYLES else sign


def node_of(leaf: DiffLeaf) -> DiffNode:
    """Return a leaf, or a branch of the differences if the values are objects."""
    sides = [leaf.before, leaf.after]
    objects = [side for side in sides if type(side) is dict and side]
    if leaf.text_before or leaf.text_after or not objects:
        return leaf
    if not all(side is None or isinstance(side, dict) for side in sides):
        return leaf
    old, new = (side or {} for side in sides)
    branch = DiffBranch()
    for key in [*new, *(key for key in old if key not in new)]:
        if old.get(key) == new.get(key) and key in old and key in new:
            branch.hidden += 1
        else:
            branch.parts[str(key)] = node_of(
                DiffLeaf(old.get(key), new.get(key), leaf.remark, leaf.alarm)
            )
    return branch


def lines(branch: DiffBranch, styler: Styler, indent: int) -> Iterator[str]:
    """Render the parts of an object, with aligned values."""
    rows = [(_string(name), part, _is_short(part)) for name, part in branch.parts.items()]
    room = max((len(key) for key, _, short in rows if short), default=0) + 1
    margin = " " * indent
    for key, part, short in rows:
        sign = part.sign
        head = f"{margin}{styled_sign(sign, styler)} {key}:"
        if isinstance(part, DiffBranch):
            yield head
            yield from lines(part, styler, indent + _STEP)
        elif short:
            yield f"{head}{' ' * (room - len(key))}{_text(part, sign)}{_remark(part, styler)}"
        else:
            yield head + _remark(part, styler)
            yield from _item_lines(part, styler, indent + _STEP)
    if branch.hidden:
        yield f"{margin}  {styler.apply(hidden(branch.hidden, branch.word), Style.GRAY)}"


def hidden(count: int, word: str) -> str:
    """Format `# (5 unchanged attributes hidden)`."""
    return f"# ({counted(count, f'unchanged {word}')} hidden)"


def scalar(value: Data) -> str:
    """Format a value on one line as YAML, without anything that controls a terminal."""
    if isinstance(value, str):
        return _string(value)
    if type(value) is int:
        return str(value)
    return _quoted(value)


@lru_cache(maxsize=1024)  # fields of a kind, and values that many resources share
def _string(value: str) -> str:
    plain = _PLAIN.fullmatch(value) and value.isprintable()
    if plain and value.casefold() not in _WORDS and not _BROKEN.search(value):
        return value
    return _quoted(value)


def _quoted(value: Data) -> str:
    """Quote as JSON, which is also YAML, with invisible characters in YAML's longer escapes."""
    text = json.dumps(value, ensure_ascii=False)
    if has_agent_command(text):
        text = text.replace("##", r"#\u0023")
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004  # the BMP


def _is_short(part: DiffNode) -> bool:
    """Whether a part fits on its key's line."""
    if isinstance(part, DiffBranch):
        return False
    was_long = part.text_before is None and _is_multiline(part.before)
    return not was_long and not (part.text_after is None and _is_multiline(part.after))


def _is_multiline(value: Data) -> bool:
    """Whether a value takes more than one line."""
    if type(value) is str:
        return "\n" in value and "\n" in value.strip("\n")
    return type(value) is list and bool(value)


def _text(leaf: DiffLeaf, sign: str) -> str:
    if sign == "+":
        return leaf.text_after or scalar(leaf.after)
    old = leaf.text_before or scalar(leaf.before)
    return old if sign == "-" else f"{old} -> {leaf.text_after or scalar(leaf.after)}"


def _remark(leaf: DiffLeaf, styler: Styler) -> str:
    alarm = styler.apply(f" # {leaf.alarm}", Style.BOLD_RED) if leaf.alarm else ""
    return alarm + (styler.apply(f" # {clean(leaf.remark)}", Style.GRAY) if leaf.remark else "")


def _item_lines(leaf: DiffLeaf, styler: Styler, indent: int) -> Iterator[str]:
    """Render a list or a multi-line text, item by item."""
    dash = "- " if isinstance(leaf.before if leaf.after is None else leaf.after, list) else ""
    unchanged = 0
    for sign, item in _items(_listed(leaf.before), _listed(leaf.after)):
        if not sign:
            unchanged += int(item)
            continue
        yield f"{' ' * indent}{styled_sign(sign, styler)} {dash}{item}".rstrip()
    if unchanged:
        yield " " * (indent + 2) + styler.apply(
            hidden(unchanged, "element" if dash else "line"), Style.GRAY
        )


def _listed(value: Data) -> list[str]:
    if isinstance(value, list):
        return [scalar(item) if not isinstance(item, dict) else _flow(item) for item in value]
    if value is None:
        return []
    return (
        [clean(line) for line in value.splitlines()] if isinstance(value, str) else [scalar(value)]
    )


def _flow(value: Mapping[str, Data]) -> str:
    """Format a mapping in a list on one line: `key: value`, in braces if there are several."""
    text = ", ".join(f"{_string(str(key))}: {scalar(inner)}" for key, inner in value.items())
    return text if len(value) == 1 else f"{{{text}}}"


def _items(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield signed items; an item without a sign is the number of hidden ones."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - few plans change a list

    for tag, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield "", str(high - low)
            continue
        yield from (("-", item) for item in old[low:high])
        yield from (("+", item) for item in new[start:end])
