"""Read YAML files that documents name and whose content is sent: conda files, components.

They become versions that cannot change, so errors in their text are findings, as in documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from mlctl import files, masking, source
from mlctl.config.graph import Graph
from mlctl.config.rules.documents import plain_secret
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Report, Rule, Severity
from mlctl.files import Files
from mlctl.kinds.field import Field, Form
from mlctl.kinds.registry import ALL
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Data
from mlctl.schema.text import placeholder
from mlctl.source import Document

SECOND_DOCUMENT = Rule("MLC205", "second-document", Severity.ERROR)

_FLOWS = "/promptflow/"  # in the `$schema` of a prompt flow, which az turns into a component


@dataclass(slots=True)
class NamedFiles:
    """The files that documents name, each read once; findings about their text go to the report.

    `given` are the documents that the user named, directly or by folder, which are checked anyway.
    `new` are the components that were read in addition. `filled` applies variables to a component.
    `files` reads the files.
    """

    report: Report
    given: dict[Path, Document]
    filled: Callable[[Document], Document]
    files: Files
    new: list[Document] = field(default_factory=list)
    _read: dict[Path, Document | None] = field(default_factory=dict)

    def component(self, path: Path) -> Document | None:
        """Read the component in a file; None if there is none that can be read, or it is a flow."""
        real = self._resolve_path(path)
        if real is None or real in self.given:
            return self.given[real] if real else None
        if real not in self._read:
            document = self._read_document(path)
            if document is not None and _FLOWS in str(document.data.get("$schema")):
                document = None
            document = self._read[real] = self.filled(document) if document else None
            if document is not None:
                self.new.append(document)
                for step in _components(document.data):
                    if is_local(step) and not placeholder(step):
                        self.component(document.folder / local_path(step))
        return self._read[real]

    def conda(self, path: Path) -> Document | None:
        """Read a conda file; None if there is no such file or it cannot be read.

        Its secrets are found when it is first read.
        """
        real = self._resolve_path(path)
        if real is None:
            return None
        if real not in self._read:
            document = self._read[real] = self._read_document(path)
            secrets = masking.places(document.data) if document else ()
            self.report.extend(plain_secret(document, at) for at in secrets if document)
        return self._read[real]

    def check(self, graph: Graph) -> None:
        """Read the files that documents name and whose content is sent."""
        for resource in graph.with_inline_assets:
            for file_field in _file_fields(resource.form):
                value = resource.values.get(file_field.at)
                if not isinstance(value, str) or not is_local(value) or placeholder(value):
                    continue
                path = resource.document.folder / local_path(value)
                if file_field.codec != "conda":
                    self.component(path)
                else:
                    self.conda(path)

    def taken(self) -> list[Document]:
        """Return the new components, and forget that they are new."""
        new_documents, self.new = self.new, []
        return new_documents

    @staticmethod
    def _resolve_path(path: Path) -> Path | None:
        """Resolve a path, so that all names of a file agree; None if it does not exist."""
        try:
            return files.real(path)
        except (OSError, ValueError):
            return None

    def _read_document(self, path: Path) -> Document | None:
        """Read the only document of a file; rules of paths report those that cannot be read."""
        try:
            content = self.files.read(path, source.MAX_BYTES)
        except (OSError, ValueError):
            return None
        documents = source.load(files.short(path), content, self.report)
        for second in documents[1:2]:
            self.report.add(
                Diagnostic(
                    SECOND_DOCUMENT,
                    "another file names this one, which has more than one document",
                    second.label(),
                    "remove what follows `---`, or move it to a separate file",
                    (documents[0].label((), "the one that is meant"),),
                )
            )
        return documents[0] if documents else None


@cache
def _file_fields(form: Form) -> tuple[Field, ...]:
    """Return the fields that name a file whose content is sent."""
    return tuple(
        field for field in form.fields if field.codec == "conda" or _is_in_files(field.refers_to)
    )


def _is_in_files(kind_name: str | None) -> bool:
    """Whether documents name files of the kind."""
    return kind_name is not None and ALL[kind_name].content.named_by_path


def _components(pipeline: Data) -> Iterator[str]:
    """Yield the components that the steps of a pipeline component name."""
    jobs = pipeline.get("jobs")
    for step in jobs.values() if isinstance(jobs, dict) else ():
        for key in ("component", "trial"):
            component = step.get(key) if isinstance(step, dict) else None
            if isinstance(component, str):
                yield component
