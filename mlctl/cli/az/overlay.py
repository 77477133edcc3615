"""A document with values of flags laid over it; findings point at the flag or the file."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlctl import pointer
from mlctl.diagnostics import Label, SourceText, Span
from mlctl.pointer import Data, Pointer
from mlctl.source import Document

COMMAND_LINE = "<command line>"


@dataclass(frozen=True, slots=True)
class FlagValue:
    """The value that a flag gives a field; flag and text as typed (`***` for a secret)."""

    at: Pointer
    data: Data
    flag: str
    text: str


@dataclass(frozen=True, eq=False)
class OverlaidDocument(Document):
    """Flag values over the documents `below`, uppermost first; `places` are those of flags."""

    below: tuple[Document, ...] = ()
    places: Mapping[Pointer, Span] = field(default_factory=dict)

    def label(self, at: Pointer = (), text: str = "", *, key: bool = False) -> Label:
        """The place of the flag with the value, else that in the uppermost document with it."""
        for length in range(len(at), 0, -1):
            if at[:length] in self.places:
                return Label(self.places[at[:length]], text)
        for document in self.below:
            if at and pointer.get(document.data, at) is not None:
                return document.label(at, text, key=key)
        inner = next(
            (span for one, span in self.places.items() if at and one[: len(at)] == at), None
        )
        if inner is not None:
            return Label(inner, text)
        if self.below:
            return self.below[0].label(at, text, key=key)
        return Label(Span(self.source, 0, 0, 0, len(self.source.text)), text)

    def written(self, at: Pointer) -> str | None:
        """The text as typed; that of the documents below where no flag gave the value."""
        if at in self.places:
            span = self.places[at]
            return span.source.lines[span.line][span.column : span.end_column]
        for document in self.below:
            if pointer.get(document.data, at) is not None:
                return document.written(at)
        return None


def overlay(values: Iterable[FlagValue], *below: Document) -> OverlaidDocument:
    """The flag values over the documents `below`; the first document is over the others."""
    data: dict[str, Data] = {}
    for document in reversed(below):
        data = _merged(data, document.data)
    typed = list(values)
    for value in typed:
        _put(data, value.at, copy.deepcopy(value.data))
    return with_flag_values(data, typed, *below)


def with_flag_values(
    data: dict[str, Data], typed: Iterable[FlagValue], *below: Document
) -> OverlaidDocument:
    """A document of `data`, whose findings about `typed` values point at the command line."""
    line, places = "", dict[Pointer, tuple[int, int]]()
    for value in typed:
        line += f"{' ' if line else ''}{value.flag} "
        shown = value.text if value.text == "***" else shlex.quote(" ".join(value.text.split("\n")))
        places[value.at] = (len(line), len(line) + len(shown))
        line += shown
    source = SourceText(COMMAND_LINE, line)
    spans = {at: Span(source, 0, start, 0, end) for at, (start, end) in places.items()}
    if not below:
        return OverlaidDocument(source, data, places=spans)
    top = below[0]
    return OverlaidDocument(top.source, data, top.index, top.line, top.begin, top.end, below, spans)


def _merged(base: Mapping[str, Data], top: Mapping[str, Data]) -> dict[str, Data]:
    """`top` merged over `base`, recursively."""
    merged = dict(base)
    for key, value in top.items():
        inner = merged.get(key)
        if isinstance(inner, dict) and isinstance(value, dict):
            merged[key] = _merged(inner, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _put(data: dict[str, Data], at: Pointer, value: Data) -> None:
    """Set a value without touching objects that are shared with another document."""
    *way, last = at
    for step in way:
        inner = data.get(str(step))
        data[str(step)] = dict(inner) if isinstance(inner, dict) else {}
        data = data[str(step)]
    data[str(last)] = value
