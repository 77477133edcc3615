"""Positions in machine-readable formats: one-based lines and columns, byte offsets, paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePath
from urllib.parse import quote

from mlctl.diagnostics import Diagnostic, Label, SourceText, Span

_BREAKS = re.compile(r"(\r\n|[\n\r\x85\u2028\u2029])")


class Offsets:
    """Byte offsets of lines in the UTF-8 text of each source, counted once per source."""

    def __init__(self) -> None:
        self._starts: dict[int, list[int]] = {}

    def of(self, source: SourceText, line: int, column: int) -> int:
        """Count the bytes before a place, without a byte order mark."""
        starts = self._starts.get(id(source))
        if starts is None:
            starts = self._starts[id(source)] = list(_starts(source.text))
        if line >= len(starts):
            return len(source.text.encode(errors="replace"))
        return starts[line] + len(source.lines[line][:column].encode(errors="replace"))


def detail(diagnostic: Diagnostic) -> str:
    """Return the hint and the related positions."""
    sentences = [diagnostic.hint] if diagnostic.hint else []
    sentences += [f"{label.text or 'see'}: {place(label.span)}" for label in diagnostic.related]
    return "; ".join(sentences)


def place(span: Span) -> str:
    """Format `train.yml:4:1`."""
    return f"{span.source.name}:{span.line + 1}:{span.column + 1}"


def path(label: Label) -> str:
    """Return the file of a label, with forward slashes."""
    return PurePath(label.span.source.name).as_posix()


def uri(name: str) -> str:
    """Return a path as a URI reference; absolute paths become `file:` URIs."""
    pure = PurePath(name)
    return pure.as_uri() if pure.is_absolute() else quote(os.fsencode(pure.as_posix()))


def _starts(text: str) -> Iterator[int]:
    offset = 0
    yield offset
    pieces = iter(_BREAKS.split(text))
    for line, end in zip(pieces, pieces, strict=False):  # the last line has no line break
        offset += len(line.encode(errors="replace")) + len(end.encode())
        yield offset
