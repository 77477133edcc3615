"""Loads documents, checks them and builds their graph: all that `validate` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path

from mlctl import files, schema, source
from mlctl.config import graph, named_files, rules
from mlctl.config.graph import Graph, ReadDocument
from mlctl.config.left_out import LeftOut, Why, named_paths
from mlctl.config.named_files import NamedFiles
from mlctl.config.overlays import UNKNOWN_OVERLAY, Overlays
from mlctl.config.secrets import hide_secrets
from mlctl.config.variables import UNSET_VARIABLE, Variables
from mlctl.diagnostics import Diagnostic, Report, Rule, Severity
from mlctl.kinds import KINDS, Kind, kind_of_schema
from mlctl.kinds.address import Address, Scope, own_address
from mlctl.kinds.registry import UNMANAGED, by_schema, infer
from mlctl.kinds.resource import Resource, build
from mlctl.pointer import Data
from mlctl.schema.text import nearest, with_article
from mlctl.source import Document, SourceFile
from mlctl.source.files import PROJECT_FILE
from mlctl.source.rules import UNREADABLE_RULES

UNKNOWN_KIND = Rule(
    "MLC120",
    "unknown-kind",
    Severity.ERROR,
    "a document whose kind is unknown",
    "The kind of a document comes from the file part of its `$schema`, else from the command, else"
    " from its content. Nothing else can be said about a document before its kind is known. Files"
    " found in a folder that are of other kinds, or of none (a schedule, a workflow), are left out"
    " with a note instead; under `--strict` other kinds of Azure ML are errors.",
    "Add a `$schema` line: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json, or"
    " batchEndpoint, batchDeployment, model, environment in its place.",
)
OTHER_KIND = Rule(
    "MLC121",
    "document-of-another-kind",
    Severity.ERROR,
    "the document is not of the kind that the command works on",
    "Each command creates one kind of resource. The low-priority tutorial itself passes a"
    " deployment to `batch-endpoint create`.",
    "Use the command of the document's kind, or `mlctl apply FILE`, which takes any.",
    "Use low priority VMs for batch deployments",
)
LOAD_RULES = (
    *(UNKNOWN_KIND, OTHER_KIND, UNSET_VARIABLE, UNKNOWN_OVERLAY),
    named_files.SECOND_DOCUMENT,
)

_MAX_SCRIPT = 1 << 20  # bytes; to parse one takes 70 times its size in memory

DocumentEdit = Callable[[Document, Kind], Document]


@dataclass(frozen=True, eq=False)
class LoadedConfig:
    """What was read: the graph of the resources, the findings, and notes for the user.

    `read` gives the document of a component in a file that another one names.
    """

    graph: Graph
    resources: tuple[Resource, ...]
    report: Report
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()
    read: ReadDocument = lambda _path: None


@dataclass(slots=True)
class Loader:
    """Loads documents with these settings.

    `today` decides which VM sizes are retired. `kind` is that of the command, None for commands
    that take any. With `planning` local files are read: paths that do not exist are errors, code
    and conda files become content. `edit` changes a document before it is checked (flags of the
    command line). `scripts` says whether scoring scripts are parsed. `variables` and `overlays`
    complete the documents that are read from files; `policies` are rules of the project's own.

    The secrets that are met go to those of the variables.
    """

    report: Report
    today: date
    kind: Kind | None = None
    scope: Scope | None = None
    planning: bool = False
    edit: DocumentEdit | None = None
    scripts: bool = True
    variables: Variables = field(default_factory=Variables)
    overlays: Overlays = field(default_factory=Overlays)
    policies: Callable[[Graph], Iterable[Diagnostic]] = lambda _graph: ()
    notes: list[str] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)

    def load(self, paths: Sequence[str]) -> LoadedConfig:
        """Load and check what files, folders, globs and `-` name; findings go to the report."""
        loaded = self.load_files(source.discover(paths, self.report))
        declared = [resource.address for resource in loaded.resources]
        whole = any(map(os.path.isdir, paths))
        unused = self.overlays.check(declared, whole=whole, report=self.report)
        return replace(loaded, notes=(*loaded.notes, *unused))

    def load_files(self, source_files: Sequence[SourceFile]) -> LoadedConfig:
        """Load and check these files; findings go to the report."""
        source_files = self.overlays.without_own(source_files)
        documents = [
            (file, self._completed(document))
            for file in source_files
            for document in self._read(file)
        ]
        return self.check(documents, tuple(file.path for file in source_files))

    def document(self, path: str, index: int) -> Document | None:
        """One document of a file, with what overlays and variables say; None without it."""
        read = source.read(path, Report())
        return next((self._completed(one) for one in read if one.index == index), None)

    def check(
        self, documents: Sequence[tuple[SourceFile, Document]], paths: tuple[str, ...] = ()
    ) -> LoadedConfig:
        """Check documents and build their graph."""
        named = _NamedPaths(documents)
        resources = [
            resource
            for resource in (self._resource(*pair, named) for pair in documents)
            if resource is not None
        ]
        built = graph.build(resources, self.scope)
        read = NamedFiles(self.report, _components(resources), self._filled)
        script = _script if self.scripts else lambda _path: None
        context = rules.RuleContext(
            self.today, os.path.exists, self.planning, script, read.component, read.conda
        )
        self.report.extend((*rules.check(built, context), *self.policies(built)))
        read.check(built)
        self._check_components(read, context)
        if self.planning and self.scope is not None and not self.report.failed:
            from mlctl.assets.local_files import resolve_local_files  # noqa: PLC0415 - hashes

            built = graph.build(resolve_local_files(resources, self.scope, self.report), self.scope)
        built = replace(built, secrets=self.variables.secrets.known)
        paths = tuple(path for path in paths if path not in self.left_out.paths)
        notes = (*self.notes, *self.left_out.notes(document for _, document in documents))
        return LoadedConfig(built, tuple(resources), self.report, paths, notes, read.component)

    def _check_components(self, named: NamedFiles, context: rules.RuleContext) -> None:
        """Check the components in files that documents name, and those that these name."""
        if not named.new:
            return
        from mlctl.config.rules.steps import ignored_fields  # noqa: PLC0415 - few name any
        from mlctl.kinds.records.component import KIND as COMPONENT  # noqa: PLC0415

        while named.new:
            for document in named.taken():
                form = COMPONENT.form_of(document.data)
                hide_secrets(document, COMPONENT, self.variables.secrets)
                self.report.extend(schema.check(document, form.lenient))
                whole = Address(COMPONENT.name, document.place)
                values = form.written(document.data)
                component = Resource(whole, COMPONENT, form, document, values)
                built = graph.build([component])
                self.report.extend(ignored_fields(component))
                self.report.extend(rules.check(built, context))
                named.check(built)

    def _read(self, file: SourceFile) -> list[Document]:
        if file.path == "-":
            return source.load("<stdin>", sys.stdin.buffer.read(source.MAX_BYTES + 1), self.report)
        report = Report()
        documents = source.read(file.path, report, explicit=file.explicit)
        if not report:
            return documents
        ours = file.explicit or any(_has_kind(item.data) for item in documents)
        # A file of another tool may break any rule, as long as it is YAML.
        reported = [item for item in report if ours or item.rule in UNREADABLE_RULES]
        self.report.extend(reported)
        if not (reported or documents):
            self.left_out.add(file.path, Why.NO_MAPPING)
        return documents

    def _completed(self, document: Document) -> Document:
        """The document with what overlays say of its resource, and the values of variables.

        A file of another tool stays as it is: `${{ env.NAME }}` is GitHub's, too.
        """
        if not self.overlays.documents and not document.may_hold("${{"):
            return document
        schema_kind = by_schema(document.data)
        kind = (
            schema_kind
            if isinstance(schema_kind, Kind)
            else infer(document.data)
            if schema_kind is None
            else None
        )
        kind = self.kind or kind
        if kind is None:
            return document
        if self.overlays.documents:
            data = self.variables.fill(document, Report()).data
            document, notes = self.overlays.lay_over(document, own_address(kind, data), data)
            self.notes += notes
        return self._filled(document)

    def _filled(self, document: Document) -> Document:
        return self.variables.fill(document, self.report)

    def _resource(
        self, file: SourceFile, document: Document, named: _NamedPaths
    ) -> Resource | None:
        """The resource of a document; None for one that is left out, or is a part of another's.

        A component that a document in the same folder names by its path belongs to that one.
        """
        kind = self._kind(file, document)
        if kind is None or (
            kind.content.named_by_path and not file.explicit and file.path in named
        ):
            return None
        if self.edit is not None:
            document = self.edit(document, kind)
        hide_secrets(document, kind, self.variables.secrets)
        self.report.extend(schema.check(document, kind.schema))
        return build(document, kind)

    def _kind(self, file: SourceFile, document: Document) -> Kind | None:
        """The kind by `$schema`, by the command, by inference; None with a finding or a note."""
        schema_kind = by_schema(document.data)
        stated = schema_kind if isinstance(schema_kind, Kind) else None
        guessed = infer(document.data) if schema_kind is None or self.kind is not None else None
        if self.kind is not None:
            if stated in (None, self.kind) and guessed in (None, self.kind):
                return self.kind
            if guessed is self.kind or (stated is self.kind and guessed is not None):
                return self.kind
            self.report.add(_other_kind(document, stated or guessed or self.kind, self.kind))
            return None
        meant = stated or (guessed if schema_kind is None else None)
        if meant is None:
            self._leave_out(file, document, schema_kind)
            return None
        if meant.runs and self.planning:
            self._leave_out_job(file, document)
            return None
        if stated is None:
            url = document.data.get("$schema")
            why = "its `$schema` is none of Azure ML's" if url else "it has no `$schema`"
            self.notes.append(f"{document.source.name}: read as {with_article(meant.name)} ({why})")
        return meant

    def _leave_out_job(self, file: SourceFile, document: Document) -> None:
        """Leave out a job, which runs once: a note if it was found in a folder, else a finding."""
        name = document.source.name
        command = f"mlctl job create -f {name}"
        if not file.explicit:
            self.left_out.add(name, Why.JOB)
            return
        self.report.add(
            Diagnostic(
                OTHER_KIND,
                "this is a job: it runs once, and there is nothing to plan",
                document.label(("$schema",) if "$schema" in document.data else ()),
                hint=f"run: {command}",
            )
        )

    def _leave_out(
        self, file: SourceFile, document: Document, schema_kind: Kind | str | None
    ) -> None:
        if Path(document.source.name).name == PROJECT_FILE:
            hint = "name the files and folders that it holds for"
            reason = f"{PROJECT_FILE} is read by every command, and declares no resource"
            self.report.add(Diagnostic(UNKNOWN_KIND, reason, document.label(), hint))
            return
        url = document.data.get("$schema")
        name = schema_kind or (kind_of_schema(url) if isinstance(url, str) else None)
        unmanaged = UNMANAGED.get(str(name).casefold())
        reason = (
            f"`{name}` {unmanaged or 'is no kind that mlctl knows'}"
            if name
            else "it has no `$schema`, and its content fits no kind"
        )
        if not file.explicit and not (name and self.report.strict):
            why = Why.UNKNOWN_KIND if name else Why.NO_KIND
            self.left_out.add(file.path, why, str(name or ""))
            return
        at = ("$schema",) if url is not None else ()
        documents = (schema_name for kind in KINDS.values() for schema_name in kind.documents)
        near = nearest(str(name), documents) if name and unmanaged is None else None
        suggestion = f"did you mean `{near}`? " if near else ""
        hint = f"{suggestion}kinds: {', '.join(KINDS)}; a `$schema` line tells them apart"
        self.report.add(
            Diagnostic(
                UNKNOWN_KIND,
                f"the kind of this document is unknown: {reason}",
                document.label(at),
                hint,
            )
        )


class _NamedPaths:
    """The paths that documents may mean, found when somebody asks."""

    def __init__(self, documents: Sequence[tuple[SourceFile, Document]]) -> None:
        self._documents = documents

    def __contains__(self, path: str) -> bool:
        return os.path.normpath(path) in self._paths

    @cached_property
    def _paths(self) -> frozenset[str]:
        # A file of another tool owns no component.
        documents = (
            document
            for _, document in self._documents
            if "$schema" in document.data or _has_kind(document.data)
        )
        return frozenset(named_paths(documents))


def _components(resources: Sequence[Resource]) -> dict[Path, Document]:
    """The components among the resources, by their files."""
    components: dict[Path, Document] = {}
    for resource in resources:
        if resource.kind.content.named_by_path and resource.document.source.name != "<stdin>":
            components.setdefault(
                files.real(Path(resource.document.source.name)), resource.document
            )
    return components


def _has_kind(data: Mapping[str, Data]) -> bool:
    """Whether a document is of some kind, by its `$schema` or by its content."""
    return isinstance(by_schema(data), Kind) or (
        by_schema(data) is None and infer(data) is not None
    )


def _script(path: Path) -> str | None:
    try:
        return files.read(path, _MAX_SCRIPT).decode("utf-8-sig")
    except (OSError, ValueError):
        return None  # Python takes other encodings too, where the script says so


def _other_kind(document: Document, kind: Kind, expected: Kind) -> Diagnostic:
    name = document.source.name
    title = str(kind.form_of(document.data).schema.get("title", kind.title)).lower()
    label = title if kind.runs else kind.name
    return Diagnostic(
        OTHER_KIND,
        f"this is {with_article(label)}, and the command creates {with_article(expected.name)}",
        document.label(("$schema",) if "$schema" in document.data else ()),
        hint=f"run: mlctl {kind.name} create -f {name}",
    )
