"""Edit values in the text of files, preserving comments and layout."""

from __future__ import annotations

import errno
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from mlctl import files
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Report, SourceText, Span
from mlctl.pointer import Data
from mlctl.source.decode import MAX_BYTES, decode, encode
from mlctl.source.document import dump

_NOT_IN_FLOW = re.compile(r"[\n,\[\]{}]|^[:?]|:\?")  # what ends plain text in a flow mapping
_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # as in `SourceText.lines`


class CannotEdit(Exception):
    """The text cannot be changed without affecting more than the value; the message says why."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement for the text between two offsets of a source."""

    source: SourceText
    begin: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file and its new text."""

    source: SourceText
    text: str

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.source.name)

    def write(self, named: frozenset[Path]) -> None:
        """Write it in the file's own encoding, unless it is outside of what was `named`.

        Raises:
            OSError: it cannot be written, or has changed.
        """
        if files.leads_out(self.path, named):
            why = "a link points outside the folder: name its target file"
            raise OSError(errno.EXDEV, why, str(self.path))
        raw = files.read(self.path, MAX_BYTES)
        current = decode(self.source.name, raw, Report())
        if current is None or current.text != self.source.text:
            raise OSError(errno.EBUSY, "it has changed since it was read", str(self.path))
        files.write(self.path, encode(self.text, raw))


def replace_value(span: Span, value: Data) -> Edit:
    """Replace a value; raises CannotEdit if the old value has comments of its own."""
    if span.line != span.end_line and "#" in span.text:
        raise CannotEdit("the old value has comments")
    begin, end = _offsets(span)
    return Edit(span.source, begin, end, write_value(value))


def insert(sibling: Span, keys: tuple[str, ...], value: Data) -> Edit:
    """Insert `keys` with a value above a key of the same mapping; before it in a flow mapping.

    Raises:
        CannotEdit: the key follows something else on its line.
    """
    begin, _ = _offsets(sibling)
    ahead = sibling.source.lines[sibling.line][: sibling.column]
    if ahead.strip() == "":
        line_break = _BREAK.search(sibling.source.text)
        broken = line_break[0] if line_break else "\n"
        lines = [f"{'  ' * number}{_key(key)}:" for number, key in enumerate(keys)]
        lines[-1] += f" {write_value(value)}"
        text = "".join(f"{line}{broken}{ahead}" for line in lines)
        return Edit(sibling.source, begin, begin, text)
    if ahead.rstrip()[-1:] in ("{", ","):
        nested: Data = value
        for key in reversed(keys[1:]):
            nested = {key: nested}
        return Edit(sibling.source, begin, begin, f"{_key(keys[0])}: {write_value(nested)}, ")
    raise CannotEdit("its mapping does not begin at the start of the line")


def rename(span: Span, old: str, new: str) -> Edit:
    """Replace the name at the end of a value or key; quotes and expressions stay.

    Raises:
        CannotEdit: the name is not there in one piece.
    """
    text = span.text
    quote = text[:1] if text[:1] in ("'", '"') and text[-1:] == text[:1] else ""
    inner = text[len(quote) : len(text) - len(quote)]
    pairs = enumerate(zip(old, new, strict=False))
    shared = next(
        (at for at, (old_letter, new_letter) in pairs if old_letter != new_letter),
        min(len(old), len(new)),
    )
    old_end, new_end = old[shared:], new[shared:]
    _, expression, tail = inner.rpartition("}}")
    old_letter, new_letter = (old, tail) if expression else (inner, old)
    ends = old_letter.casefold().endswith(new_letter.casefold()) and tail.endswith(old_end)
    if span.line != span.end_line or not ends:
        raise CannotEdit(f"`{old}` is not there in one piece")
    begin, end = _offsets(span)
    head = inner[: len(inner) - len(old_end)]
    return Edit(span.source, begin, end, f"{quote}{head}{new_end}{quote}")


def remove(key: Span, value: Span) -> Edit:
    """Remove a key and its value: their lines, or their place in a flow mapping.

    Raises:
        CannotEdit: something else is on their lines.
    """
    begin, _ = _offsets(key)
    _, end = _offsets(value)
    text = key.source.text
    ahead = key.source.lines[key.line][: key.column]
    behind = text[end:]
    if ahead.strip() == "":
        line_end = re.match(r"[ \t]*(?:#[^\r\n]*)?(?:\r\n|[\n\r]|$)", behind)
        if line_end is None:
            raise CannotEdit("something else is on its line")
        return Edit(key.source, begin - len(ahead), end + line_end.end(), "")
    comma_after, comma_before = (
        re.match(r"[ \t]*,[ \t]*", behind),
        re.search(r",[ \t]*$", text[:begin]),
    )
    if comma_after is not None:
        return Edit(key.source, begin, end + comma_after.end(), "")
    if comma_before is not None:
        return Edit(key.source, comma_before.start(), end, "")
    raise CannotEdit("it is the only key of its mapping")


def apply_edits(edits: Iterable[Edit]) -> dict[Path, str]:
    """Return the new text of each file that changes."""
    by_file: dict[Path, list[Edit]] = defaultdict(list)
    for edit in edits:
        by_file[Path(edit.source.name)].append(edit)
    texts = {}
    for file, changes in by_file.items():
        text = changes[0].source.text
        for edit in sorted(changes, key=lambda edit: (edit.begin, edit.end), reverse=True):
            text = text[: edit.begin] + edit.text + text[edit.end :]
        texts[file] = text
    return texts


def write_value(value: Data) -> str:
    """Write a value as YAML on one line."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    text = dump([value]).removeprefix("- ").rstrip("\n")
    return json.dumps(value, ensure_ascii=False) if _NOT_IN_FLOW.search(text) else text


def _key(key: str) -> str:
    return write_value(key)


def _offsets(span: Span) -> tuple[int, int]:
    starts = [0, *(line_break.end() for line_break in _BREAK.finditer(span.source.text))]
    return starts[span.line] + span.column, starts[span.end_line] + span.end_column
