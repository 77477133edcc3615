"""Recommended values written into files, whose comments and layout stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mlctl.diagnostics import Span
from mlctl.forecast.fields import file_of
from mlctl.forecast.reading import Subject
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer

# The names of settings, where the files call them otherwise.
_FIELDS = {"concurrency": "max_concurrency_per_instance"}


def patched(subject: Subject, settings: Mapping[str, Data]) -> tuple[dict[Path, str], list[str]]:
    """The new text of each file that changes, and the settings that no file can say."""
    lines: dict[Path, list[str]] = {}
    edits: dict[Path, list[tuple[Span, str, bool]]] = {}
    left = []
    for name, value in settings.items():
        found = _place(subject, _FIELDS.get(name, name))
        if found is None:
            left.append(name)
            continue
        resource, at = found
        written = resource.get(*map(str, at)) is not None
        parent = at if written else _first(resource, at)
        span = resource.label(parent, key=not written).span
        file = Path(span.source.name)
        lines.setdefault(file, span.source.text.splitlines(keepends=True))
        told = str(int(value)) if isinstance(value, float) else str(value)
        text = told if written else _entry(at, len(parent), told)
        edits.setdefault(file, []).append((span, text, written))
    for file, changes in edits.items():
        for span, text, written in sorted(
            changes, key=lambda one: (one[0].line, one[0].column), reverse=True
        ):
            line = lines[file][span.line]
            if written:
                end = span.end_column if span.end_line == span.line else len(line)
                lines[file][span.line] = line[: span.column] + text + line[end:]
            else:
                indent = " " * span.column
                new = "".join(f"{indent}{one}\n" for one in text.split("\n"))
                lines[file].insert(span.line, new)
    return {file: "".join(text) for file, text in lines.items()}, left


def _place(subject: Subject, name: str) -> tuple[Resource, Pointer] | None:
    """The resource that has a field of that name, and where it stands."""
    for resource in (subject.cluster, subject.deployment):
        if file_of(resource) is None:
            continue
        for one in resource.form.fields:
            if one.at[-1] == name:
                return resource, one.at
    return None


def _first(resource: Resource, at: Pointer) -> Pointer:
    """The first key of the innermost mapping that is there: a new one is written before it."""
    for length in range(len(at) - 1, -1, -1):
        held = resource.get(*map(str, at[:length])) if length else resource.document.data
        if isinstance(held, dict) and held:
            keys = [key for key in held if key != "$schema"]
            return (*at[:length], keys[0])
    return at


def _entry(at: Pointer, depth: int, value: str) -> str:
    """`key: value`, in the mappings that are missing above it."""
    keys = at[depth - 1 :]
    lines = [f"{'  ' * number}{key}:" for number, key in enumerate(keys)]
    lines[-1] += f" {value}"
    return "\n".join(lines)
