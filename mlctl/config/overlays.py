"""Overlays: what an environment changes in resources.

An overlay maps addresses to JSON Merge Patches (RFC 7396), written in YAML:

    compute/cpu-cluster:
      max_instances: 40
      tags: {cost-center: null}   # null removes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mlctl import pointer
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Report, Rule, Severity
from mlctl.kinds.address import Address
from mlctl.pointer import Data, Pointer
from mlctl.schema.text import nearest
from mlctl.source import Document, SourceFile
from mlctl.source.overlay import DocumentPart, merge_patch

UNKNOWN_OVERLAY = Rule("MLC123", "overlay-of-nothing", Severity.ERROR)


@dataclass(slots=True)
class Overlays:
    """The overlays of an environment, in order; `used` are the addresses that exist.

    `files` are those of all environments: they are in the same folders as documents, but are not
    documents.
    """

    documents: tuple[Document, ...] = ()
    files: frozenset[Path] = frozenset()
    used: set[tuple[int, str]] = field(default_factory=set)

    def without_own(self, source_files: Iterable[SourceFile]) -> list[SourceFile]:
        """Return the files without overlays that were merely found in a folder."""
        return [
            file
            for file in source_files
            if file.explicit or not self.files or Path(file.path).resolve() not in self.files
        ]

    def lay_over(
        self, document: Document, address: Address | None, data: Data
    ) -> tuple[Document, list[str]]:
        """Apply the overlays to a resource's document, and return a note for each.

        `data` is the document's content after variables were applied.
        """
        notes = []
        for number, key, overlaid in self._addresses():
            if address is None or not _matches(overlaid, address):
                continue
            self.used.add((number, key))
            patch = DocumentPart.of(self.documents[number], (key,))
            changes = ", ".join(_list_changes(data, patch.data))
            document = merge_patch(document, patch)
            span = patch.label().span
            notes.append(
                f"{address}: {span.source.name}:{span.line + 1} sets {changes or 'nothing new'}"
            )
        return document, notes

    def check(self, declared: Iterable[Address], *, whole: bool, report: Report) -> Iterator[str]:
        """Yield a note for each unused overlay, and report one whose address looks misspelt.

        `whole` says whether folders were read: a single file may lack most resources.
        """
        addresses = [str(address) for address in declared]
        for number, key, _ in self._addresses():
            if (number, key) in self.used:
                continue
            label = self.documents[number].label((key,), key=True)
            near = nearest(key, addresses)
            if near or whole:
                hint = f"did you mean `{near}`?" if near else "`mlctl graph` lists them"
                message = f"no document declares `{key}`, which this overlay changes"
                report.add(Diagnostic(UNKNOWN_OVERLAY, message, label, hint))
            else:
                yield f"{label.span.source.name}: {key} is not in these files"

    def _addresses(self) -> Iterator[tuple[int, str, Address]]:
        for number, document in enumerate(self.documents):
            for key, patch in document.data.items():
                if isinstance(patch, dict):
                    yield number, key, Address.parse(key)


def check_overlay(document: Document) -> Iterator[Diagnostic]:
    """Check an overlay: its keys must be addresses, its values must have fields."""
    for key, patch in document.data.items():
        label = document.label((key,), key=True)
        try:
            Address.parse(key)
        except ValueError as error:
            hint = "an overlay maps addresses to fields: write `compute/NAME:` and fields below it"
            yield Diagnostic(UNKNOWN_OVERLAY, str(error), label, hint)
        else:
            if not isinstance(patch, dict):
                message = f"`{key}` has no fields to change"
                yield Diagnostic(
                    UNKNOWN_OVERLAY, message, label, "add `field: value` lines below it"
                )


def _matches(overlaid: Address, address: Address) -> bool:
    """Whether an overlay's address matches a resource; without a version it matches any."""
    if overlaid.version is None and address.version is not None:
        address = Address(address.kind, address.name, address.parent)
    return overlaid == address


def _list_changes(base: Data, patch: Data, at: Pointer = ()) -> Iterator[str]:
    """Describe what a patch changes: with values if both are numbers or truth values."""
    for key, value in patch.items():
        old_value = pointer.get(base, (*at, key))
        if isinstance(value, dict) and isinstance(old_value, dict):
            yield from _list_changes(base, value, (*at, key))
        elif old_value != value:
            name = pointer.dotted((*at, key))
            plain = isinstance(value, bool | int | float) and isinstance(
                old_value, bool | int | float
            )
            yield f"{name} {_show(old_value)} -> {_show(value)}" if plain else name


def _show(value: Data) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
