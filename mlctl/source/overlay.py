"""Lay documents and values of flags over each other; findings point at the uppermost."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

from mlctl import pointer
from mlctl.dataclasses import dataclass, field, replace
from mlctl.diagnostics import Label, SourceText, Span
from mlctl.pointer import Data, Pointer
from mlctl.source.document import Document, DocumentView

COMMAND_LINE = "<command line>"


@dataclass(frozen=True, slots=True)
class FlagValue:
    """A field's value from a flag; flag and text as typed (`***` for a secret)."""

    at: Pointer
    data: Data
    flag: str
    text: str


@dataclass(frozen=True, eq=False)
class OverlaidDocument(Document):
    """Flag values over the documents `below`, uppermost first; `places` are the flags'."""

    below: tuple[Document, ...] = ()
    places: Mapping[Pointer, Span] = field(default_factory=dict)

    @classmethod
    def over(cls, top: Document, data: dict[str, Data], *below: Document) -> OverlaidDocument:
        """Return `data` in the place of `top`, with the positions of `below`."""
        return cls(top.source, data, top.index, top.line, top.begin, top.end, below)

    def label(self, at: Pointer = (), text: str = "", *, key: bool = False) -> Label:
        """Return the place of the value in a flag, else in the uppermost document with it."""
        for length in range(len(at), 0, -1):
            if at[:length] in self.places:
                return Label(self.places[at[:length]], text)
        for document in self.below:
            if at and pointer.get(document.data, at) is not None:
                return document.label(at, text, key=key)
        inner = next(
            (span for place, span in self.places.items() if at and place[: len(at)] == at), None
        )
        if inner is not None:
            return Label(inner, text)
        if self.below:
            return self.below[0].label(at, text, key=key)
        return Label(Span(self.source, 0, 0, 0, len(self.source.text)), text)

    def holders(self, at: Pointer) -> list[tuple[Document, Pointer]]:
        """Return the documents below with the value, uppermost first."""
        return [holder for document in self.below for holder in document.holders(at)]

    def written(self, at: Pointer) -> str | None:
        """Return the text as typed; that of the documents below if no flag set the value."""
        if at in self.places:
            span = self.places[at]
            return span.source.lines[span.line][span.column : span.end_column]
        for document in self.below:
            if pointer.get(document.data, at) is not None:
                return document.written(at)
        return None

    def from_environment(self, at: Pointer) -> bool:
        """Whether the value comes from an environment variable, through a document below."""
        if at in self.places:
            return False
        holders = (
            document for document in self.below if pointer.get(document.data, at) is not None
        )
        return any(
            document.from_environment(at)
            for document in (next(holders, None),)
            if document is not None
        )


@dataclass(frozen=True, eq=False)
class DocumentPart(DocumentView):
    """The part at `root` of a document, as a document of its own."""

    root: Pointer = ()

    @classmethod
    def of(cls, whole: Document, root: Pointer) -> DocumentPart:
        """Return the mapping at `root`."""
        data = pointer.get(whole.data, root)
        return cls(whole.source, data, whole.index, whole.line, whole.begin, whole.end, whole, root)

    @property
    def may_hold_secrets(self) -> bool:
        """Nothing that is not found in the whole document, which is checked itself."""
        return False

    def within_whole(self, at: Pointer) -> Pointer:
        """Return where a value of the part is in the whole document."""
        return (*self.root, *at)


def merge_patch(document: Document, patch: Document) -> OverlaidDocument:
    """Apply a JSON Merge Patch (RFC 7396): `null` removes, a list replaces a list."""
    data = _patched(document.data, patch.data)
    return OverlaidDocument.over(document, data, patch, document)


def overlay(values: Iterable[FlagValue], *below: Document) -> OverlaidDocument:
    """Lay flag values over the documents `below`; earlier documents over later ones."""
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
    """Build a document of `data` whose findings about `typed` values point at the flags."""
    import shlex  # noqa: PLC0415 - few command lines have such values

    line, places = "", dict[Pointer, tuple[int, int]]()
    for value in typed:
        line += f"{' ' if line else ''}{value.flag} "
        spelling = (
            value.text if value.text == "***" else shlex.quote(" ".join(value.text.split("\n")))
        )
        places[value.at] = (len(line), len(line) + len(spelling))
        line += spelling
    source = SourceText(COMMAND_LINE, line)
    spans = {at: Span(source, 0, start, 0, end) for at, (start, end) in places.items()}
    if not below:
        return OverlaidDocument(source, data, places=spans)
    return replace(OverlaidDocument.over(below[0], data, *below), places=spans)


def _merged(base: Mapping[str, Data], top: Mapping[str, Data]) -> dict[str, Data]:
    """Merge `top` over `base`, recursively."""
    merged = dict(base)
    for key, value in top.items():
        inner = merged.get(key)
        if isinstance(inner, dict) and isinstance(value, dict):
            merged[key] = _merged(inner, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _patched(base: Data, patch: Data) -> Data:
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    patched = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            patched.pop(key, None)
        else:
            patched[key] = _patched(patched.get(key), value)
    return patched


def _put(data: dict[str, Data], at: Pointer, value: Data) -> None:
    """Set a value without changing objects that are shared with another document."""
    *parents, last = at
    for step in parents:
        inner = data.get(str(step))
        data[str(step)] = dict(inner) if isinstance(inner, dict) else {}
        data = data[str(step)]
    data[str(last)] = value
