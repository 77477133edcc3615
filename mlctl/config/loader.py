"""Load documents, check them and build their graph: everything that `validate` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import files, masking, pointer, schema, source
from mlctl.config import graph, rules
from mlctl.config.document_kinds import (
    DocumentKinds,
    LeftOut,
    Why,
    has_kind,
    named_paths,
    read_paths,
)
from mlctl.config.graph import Graph, ReadDocument
from mlctl.config.named_files import NamedFiles
from mlctl.config.variables import Variables
from mlctl.dataclasses import dataclass, field, replace
from mlctl.diagnostics import Diagnostic, Report
from mlctl.files import ON_DISK, Files
from mlctl.kinds import Kind
from mlctl.kinds.address import Address, Scope, own_address
from mlctl.kinds.registry import by_schema, infer
from mlctl.kinds.resource import Resource, build
from mlctl.masking import Secrets
from mlctl.source import Document, SourceFile
from mlctl.source.rules import UNREADABLE_RULES

if TYPE_CHECKING:
    from mlctl.config.overlays import Overlays

_MAX_SCRIPT = 1 << 20  # bytes; parsing takes 70 times a file's size in memory

DocumentEdit = Callable[[Document, Kind], Document]


@dataclass(frozen=True, eq=False)
class LoadedConfig:
    """The graph of the resources, the findings, and notes for the user.

    `read` gives the document of a component in a file that another one names; `components` are
    those that were read this way.
    """

    graph: Graph
    resources: tuple[Resource, ...]
    report: Report
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()
    read: ReadDocument = lambda _path: None
    components: tuple[Resource, ...] = ()

    def with_users(self, paths: Set[str]) -> frozenset[str]:
        """Return the files, and those that name them, also by way of others."""
        documents = [resource.document for resource in (*self.resources, *self.components)]
        names_by_path = {
            document.source.name: frozenset(read_paths(document)) for document in documents
        }
        while users := {
            path
            for path, names in names_by_path.items()
            if path not in paths and not names.isdisjoint(map(os.path.normpath, paths))
        }:
            paths = paths | users
        return frozenset(paths)


@dataclass(slots=True)
class Loader:
    """Loads documents with these settings.

    `today` decides which VM sizes are retired. `kind` is the command's, None for commands that
    accept any. With `planning`, local files are read: paths that do not exist are errors, and code
    and conda files become content. `destroying` leaves jobs out, as planning does. `edit` changes a
    document before it is checked (flags of the command line). `scripts` says whether scoring
    scripts are parsed. `variables` and `overlays` complete the documents read from `files`;
    `policies` are the project's own rules. Files in `without` are not read.

    Secrets are added to those of the variables.
    """

    report: Report
    today: date
    kind: Kind | None = None
    scope: Scope | None = None
    planning: bool = False
    destroying: bool = False
    edit: DocumentEdit | None = None
    scripts: bool = True
    variables: Variables = field(default_factory=Variables)
    overlays: Overlays | None = None
    policies: Callable[[Graph], Iterable[Diagnostic]] = lambda _graph: ()
    files: Files = ON_DISK
    notes: list[str] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)
    without: Collection[str] = ()

    def load(self, paths: Sequence[str]) -> LoadedConfig:
        """Load and check the documents that files, folders, globs and `-` name."""
        loaded = self.load_files(source.discover(paths, self.report))
        if self.overlays is None:
            return loaded
        declared = [resource.address for resource in loaded.resources]
        whole = any(map(os.path.isdir, paths))
        unused = self.overlays.check(declared, whole=whole, report=self.report)
        return replace(loaded, notes=(*loaded.notes, *unused))

    def load_files(self, source_files: Sequence[SourceFile]) -> LoadedConfig:
        """Load and check the documents in these files."""
        if self.overlays is not None:
            source_files = self.overlays.without_own(source_files)
        documents = [
            (file, self._complete(document))
            for file in source_files
            if file.path not in self.without
            for document in self._read(file)
        ]
        return self.check(documents, tuple(file.path for file in source_files))

    def document(self, path: str, index: int) -> Document | None:
        """Read one document of a file and apply overlays and variables; None if it is missing."""
        read = source.read(path, Report(), self.files)
        return next(
            (self._complete(document) for document in read if document.index == index), None
        )

    def check(
        self, documents: Sequence[tuple[SourceFile, Document]], paths: tuple[str, ...] = ()
    ) -> LoadedConfig:
        """Check documents and build their graph."""
        named_files = _NamedPaths(documents)
        planning = self.planning or self.destroying
        kinds = DocumentKinds(self.report, self.kind, planning, self.notes, self.left_out)
        resources = [
            resource
            for resource in (self._build_resource(*pair, kinds, named_files) for pair in documents)
            if resource is not None
        ]
        built = graph.build(resources, self.scope)
        read = NamedFiles(self.report, _components_by_file(resources), self._fill, self.files)
        script = _read_script if self.scripts else lambda _path: None
        context = rules.RuleContext(
            self.today, os.path.exists, self.planning, script, read.component, read.conda
        )
        self.report.extend(rules.check(built, context))
        read.check(built)
        if schedules := [resource for resource in resources if resource.kind.content.job]:
            from mlctl.config.scheduled_jobs import job_of  # noqa: PLC0415 - of schedules alone

            jobs = graph.build(filter(None, map(job_of, schedules)))
            self.report.extend(rules.check(jobs, context))
            read.check(jobs)
        components = self._check_components(read, context)
        whole = graph.build([*resources, *components], self.scope) if components else built
        self.report.extend(self.policies(whole))
        if self.planning and self.scope is not None and not self.report.failed:
            from mlctl.assets.local_files import resolve_local_files  # noqa: PLC0415 - hashes

            resolved = resolve_local_files(resources, self.scope, self.report, self.files)
            if resolved != resources:
                built = graph.build(resolved, self.scope)
        built = replace(built, secrets=self.variables.secrets.known)
        paths = tuple(path for path in paths if path not in self.left_out.paths)
        notes = (*self.notes, *self.left_out.notes(document for _, document in documents))
        loaded = (built, tuple(resources), self.report, paths, notes, read.component)
        return LoadedConfig(*loaded, tuple(components))

    def _check_components(
        self, named_files: NamedFiles, context: rules.RuleContext
    ) -> list[Resource]:
        """Check the components in files that documents name, and those that these name in turn."""
        components: list[Resource] = []
        if not named_files.new:
            return components
        from mlctl.kinds.records.component import KIND as COMPONENT  # noqa: PLC0415

        while named_files.new:
            for document in named_files.taken():
                form = COMPONENT.form_of(document.data)
                _hide_secrets(document, COMPONENT, self.variables.secrets)
                self.report.extend(schema.check(document, form.lenient))
                whole = Address(COMPONENT.name, document.place)
                values = form.written(document.data)
                component = Resource(whole, COMPONENT, form, document, values)
                built = graph.build([component])
                self.report.extend(rules.check(built, context))
                named_files.check(built)
                components.append(component)
        return components

    def _read(self, file: SourceFile) -> list[Document]:
        if file.path == "-":
            return source.load("<stdin>", sys.stdin.buffer.read(source.MAX_BYTES + 1), self.report)
        report = Report()
        documents = source.read(file.path, report, self.files, explicit=file.explicit)
        if not report:
            return documents
        ours = file.explicit or any(has_kind(item.data) for item in documents)
        # Files of other tools may break any rule, as long as they are YAML.
        reported = [item for item in report if ours or item.rule in UNREADABLE_RULES]
        self.report.extend(reported)
        if not (reported or documents):
            self.left_out.add(file.path, Why.NO_MAPPING)
        return documents

    def _complete(self, document: Document) -> Document:
        """Apply overlays and variables to a document.

        Files of other tools are left alone: GitHub also has `${{ env.NAME }}`.
        """
        overlays = self.overlays
        if (overlays is None or not overlays.documents) and not document.may_hold("${{"):
            return document
        stated = by_schema(document.data)
        kind = self.kind or (infer(document.data) if stated is None else stated)
        if not isinstance(kind, Kind):
            return document
        if overlays is not None and overlays.documents:
            data = self.variables.fill(document, Report()).data
            document, notes = overlays.lay_over(document, own_address(kind, data), data)
            self.notes += notes
        return self._fill(document)

    def _read_named(self, path: Path) -> Document | None:
        """Read the first document of a file that another one names; None if it cannot be read."""
        try:
            content = self.files.read(path, source.MAX_BYTES)
        except (OSError, ValueError):
            return None
        documents = source.load(files.short(path), content, self.report)
        return self._fill(documents[0]) if documents else None

    def _fill(self, document: Document) -> Document:
        return self.variables.fill(document, self.report)

    def _build_resource(
        self, file: SourceFile, document: Document, kinds: DocumentKinds, named_files: _NamedPaths
    ) -> Resource | None:
        """Build the resource of a document; None if it is left out or part of another document."""
        kind = kinds.of(file, document)
        if kind is None or (
            kind.content.named_by_path and not file.explicit and file.path in named_files
        ):
            return None
        if self.edit is not None:
            document = self.edit(document, kind)
        if kind.content.job:
            from mlctl.config.scheduled_jobs import with_job  # noqa: PLC0415 - of schedules alone

            document = with_job(document, kind.content.job, self._read_named)
        _hide_secrets(document, kind, self.variables.secrets)
        self.report.extend(schema.check(document, kind.schema))
        if ": 20" in document.source.text:  # as a date of this century begins: see there
            from mlctl.schema.dates import unquoted_dates  # noqa: PLC0415 - few files have any

            self.report.extend(unquoted_dates(document, kind.schema))
        return build(document, kind)


class _NamedPaths:
    """The paths that documents may mean, collected on first use."""

    def __init__(self, documents: Sequence[tuple[SourceFile, Document]]) -> None:
        self._documents = documents

    def __contains__(self, path: str) -> bool:
        return os.path.normpath(path) in self._paths

    @cached_property
    def _paths(self) -> frozenset[str]:
        # Files of other tools own no components.
        documents = (
            document
            for _, document in self._documents
            if "$schema" in document.data or has_kind(document.data)
        )
        return frozenset(named_paths(documents))


def _components_by_file(resources: Sequence[Resource]) -> dict[Path, Document]:
    """Return the components among the resources, by file."""
    components: dict[Path, Document] = {}
    for resource in resources:
        if resource.kind.content.named_by_path and resource.document.source.name != "<stdin>":
            components.setdefault(
                files.real(Path(resource.document.source.name)), resource.document
            )
    return components


def _hide_secrets(document: Document, kind: Kind, secrets: Secrets) -> None:
    """Add a document's secrets, as read and as written, to the values that are masked in output."""
    secret_fields = {
        at: pointer.get(document.data, at) for at in kind.form_of(document.data).secrets
    }
    given_secrets = [(at, value) for at, value in secret_fields.items() if value is not None]
    looks_like_secrets = masking.find(document.data) if document.may_hold_secrets else ()
    for at, value in (*given_secrets, *looks_like_secrets):
        pieces = {line.strip() for line in str(value).splitlines()}
        if value == pointer.get(document.data, at):
            span = document.label(at).span
            pieces |= {line.strip().strip("\"'") for line in span.text.splitlines()}
            span.source.secrets |= pieces - {""}
        document.source.secrets |= pieces - {""}
        secrets.add(pieces)


def _read_script(path: Path) -> str | None:
    try:
        return files.read(path, _MAX_SCRIPT).decode("utf-8-sig")
    except (OSError, ValueError):
        return None  # a script may declare another encoding
