"""YAML files that documents name and that become content: conda files, pipeline components.

They end up in versions that nobody can change, so what is wrong with their text is a finding at
its place in them, like in any document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mlctl import files, masking, schema, source
from mlctl.assets.local_files import is_local
from mlctl.config.graph import Graph
from mlctl.config.rules.base import with_inline_assets
from mlctl.config.rules.plain_secrets import plain_secret
from mlctl.diagnostics import Diagnostic, Report, Rule, Severity
from mlctl.kinds.component_hash import ANONYMOUS
from mlctl.kinds.records.component import COMPONENT
from mlctl.pointer import Data
from mlctl.schema.placeholders import placeholder
from mlctl.source import Document

SECOND_DOCUMENT = Rule(
    "MLC205",
    "second-document",
    Severity.ERROR,
    "a conda or component file with more than one document",
    "A file that a document names stands for one value: what follows a `---` line would be lost,"
    " silently, in a version that cannot be changed.",
    "Remove the `---` and what follows it, or make a file of its own of it.",
)


def check(graph: Graph, report: Report) -> None:
    """Read each file that a document names and that becomes content; findings go to the report.

    A file that is not there, or cannot be read, is for the rules of paths and for the plan.
    """
    seen: set[Path] = set()
    for resource in with_inline_assets(graph):
        for field in resource.form.fields:
            value = resource.values.get(field.at)
            component = field.refers_to == COMPONENT.name
            if isinstance(value, str) and (component or field.codec == "conda"):
                _check_file(resource.document.folder, value, seen, report, component=component)
        for step in _steps(resource.document.data):
            _check_file(resource.document.folder, step, seen, report, component=True)


def _check_file(
    folder: Path, value: str, seen: set[Path], report: Report, *, component: bool
) -> None:
    if not is_local(value) or placeholder(value):
        return
    path = folder / value.removeprefix("file:")
    try:
        real = files.real(path)
        if real in seen:
            return
        seen.add(real)
        content = files.read(path, source.MAX_BYTES)
    except (OSError, ValueError):
        return
    documents = source.load(str(path), content, report)
    for second in documents[1:2]:
        report.add(_second(second, documents[0]))
    for first in documents[:1]:
        report.extend(plain_secret(first, at) for at in masking.places(first.data))
    if component and documents:
        report.extend(schema.check(_with_a_name(documents[0]), COMPONENT.schema))
        for step in _steps(documents[0].data):
            _check_file(path.parent, step, seen, report, component=True)


def _with_a_name(document: Document) -> Document:
    """The document with a name that is right: that of a named file does not count."""
    return replace(document, data={**document.data, "name": ANONYMOUS})


def _steps(component: Data) -> Iterator[str]:
    """The components that the steps of a pipeline name."""
    jobs = component.get("jobs")
    for step in jobs.values() if isinstance(jobs, dict) else ():
        for key in ("component", "trial"):
            named = step.get(key) if isinstance(step, dict) else None
            if isinstance(named, str):
                yield named


def _second(document: Document, first: Document) -> Diagnostic:
    return Diagnostic(
        SECOND_DOCUMENT,
        "this file is named by another and holds more than one document",
        document.label(),
        "remove what follows `---`, or make a file of its own of it",
        (first.label((), "the one that is meant"),),
    )
