"""Determine the kind of each document, and which files of a folder are not resources.

There is one note per reason, and none for a file that another one names.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mlctl import pointer, schema
from mlctl.config.rules.paths import MISSING_PATH
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Label, Report, Rule, Severity
from mlctl.kinds import KINDS, Kind, kind_of_schema
from mlctl.kinds.registry import by_schema, infer, other_of, others
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Data
from mlctl.schema.text import nearest, placeholder, with_article
from mlctl.source import Document, SourceFile
from mlctl.source.files import PROJECT_FILE

_SHOWN = 3  # file names in a note
_LONGEST = 1000  # characters of a value that may be a path


UNKNOWN_KIND = Rule("MLC120", "unknown-kind", Severity.ERROR)
OTHER_KIND = Rule("MLC121", "document-of-another-kind", Severity.ERROR)


class Why:
    """Why files are left out, in words; not an enum, whose members cost time at import."""

    UNKNOWN_KIND = "because mlctl does not know their kinds"
    NO_KIND = "because they have no `$schema` and match no kind"
    NO_MAPPING = "because they are not mappings"
    OTHERS = "because mlctl does not create them"
    JOB = "because they are jobs; run each with `mlctl job create -f FILE`"


# The same of a single file.
_OF_ONE = {
    Why.UNKNOWN_KIND: "mlctl does not know the kind `{kind}`",
    Why.NO_KIND: "it has no `$schema`, and its content matches no kind",
    Why.NO_MAPPING: "it is not a mapping",
    Why.JOB: "it is a job; run `mlctl job create -f {path}`",
}
# Files that belong to a document that names them by their own path.
_NAMED_WHOLE = (Why.UNKNOWN_KIND, Why.OTHERS, Why.JOB)


@dataclass(slots=True)
class LeftOut:
    """The files that were left out, and the kind that each names."""

    files: dict[str, dict[str, str]] = field(default_factory=dict)
    policies: set[str] = field(default_factory=set)  # read if mlctl.yml names them

    def add(self, path: str, why: str, kind: str = "") -> None:
        """Leave out a file."""
        self.files.setdefault(why, {})[path] = kind

    @property
    def paths(self) -> set[str]:
        """Return the files that are not mlctl's documents; jobs are."""
        files = (kinds_by_path for why, kinds_by_path in self.files.items() if why != Why.JOB)
        return self.policies.union(*files)

    def notes(self, documents: Iterable[Document]) -> Iterator[str]:
        """Yield a note for each reason; `documents` are all that were read.

        A conda file, a component or a file in a folder of code belongs to the document that names
        it. A file that states its kind belongs only to a document that names its own path: `code:
        ../..` says nothing about a schedule in that folder.
        """
        named_files = set(named_paths(documents)) if self.files else set[str]()
        for why, kinds_by_path in self.files.items():
            reported = {
                path: kind
                for path, kind in kinds_by_path.items()
                if not _is_named(path, named_files, whole=why in _NAMED_WHOLE)
            }
            if why == Why.OTHERS:
                for text in dict.fromkeys(reported.values()):
                    paths = [path for path, kind in reported.items() if kind == text]
                    yield f"{_list_some(paths)}: left to others, {text}"
            elif len(reported) == 1:
                ((path, kind),) = reported.items()
                yield f"{path}: left out, {_OF_ONE[why].format(kind=kind, path=path)}"
            elif reported:
                yield _describe_many(why, reported)


@dataclass(slots=True)
class DocumentKinds:
    """Determines the kinds of documents; those that are not resources are left out, or reported.

    `kind` is the command's, None for commands that accept any. With `planning`, jobs are left out.
    Notes say which kind was assumed.
    """

    report: Report
    kind: Kind | None
    planning: bool
    notes: list[str]
    left_out: LeftOut

    def of(self, file: SourceFile, document: Document) -> Kind | None:
        """Find the kind by `$schema`, command or content; None with a finding or a note."""
        schema_kind = by_schema(document.data)
        stated = schema_kind if isinstance(schema_kind, Kind) else None
        guessed = infer(document.data) if schema_kind is None or self.kind is not None else None
        if self.kind is not None:
            if stated in (None, self.kind) and guessed in (None, self.kind):
                return self.kind
            if guessed is self.kind or (stated is self.kind and guessed is not None):
                return self.kind
            self.report.add(_report_other_kind(document, stated or guessed or self.kind, self.kind))
            return None
        meant = stated or (guessed if schema_kind is None else None)
        if meant is None:
            self._leave_out(file, document, schema_kind)
            return None
        if self.planning and meant.not_run and self._leaves_out(file, document, meant):
            return None
        if stated is None:
            url = document.data.get("$schema")
            why = "its `$schema` is not one of Azure ML's" if url else "it has no `$schema`"
            self.notes.append(f"{document.source.name}: read as {with_article(meant.name)} ({why})")
        return meant

    def _leaves_out(self, file: SourceFile, document: Document, kind: Kind) -> bool:
        """Leave out a job, or what is only checked: a note in a folder, else a finding."""
        name, why = document.source.name, kind.not_run.get(kind.form_of(document.data).name)
        if kind.runs and file.explicit:
            message = "this is a job, which runs once and cannot be planned"
            hint = f"run: mlctl job create -f {name}"
            self.report.add(Diagnostic(OTHER_KIND, message, _label(document), hint))
        elif kind.runs:
            self.left_out.add(name, Why.JOB)
        elif why is not None and file.explicit:
            message = f"mlctl does not create this {with_article(kind.title)}: {why}"
            self.report.add(Diagnostic(OTHER_KIND, message, document.label()))
        elif why is not None:
            self.notes.append(f"{name}: left out, {why}")
        return kind.runs or why is not None

    def _leave_out(
        self, file: SourceFile, document: Document, schema_kind: Kind | str | None
    ) -> None:
        if Path(document.source.name).name == PROJECT_FILE:
            hint = "name the files and folders that it applies to"
            reason = f"{PROJECT_FILE} configures the project and declares no resources"
            self.report.add(Diagnostic(UNKNOWN_KIND, reason, document.label(), hint))
            return
        if not file.explicit and document.data.keys() == {"policies"}:
            self.left_out.policies.add(file.path)
            return
        url = document.data.get("$schema")
        name = schema_kind or (kind_of_schema(url) if isinstance(url, str) else None)
        name = name or other_of(document.data)
        word = str(name).casefold()
        word = "connection" if word.endswith("connection") else word
        if name and word in others():
            self._check_for_others(file, document, str(name), *others()[word])
            return
        reason = (
            f"mlctl does not know the kind `{name}`"
            if name
            else "it has no `$schema`, and its content matches no kind"
        )
        if not file.explicit and not (name and self.report.strict):
            why = Why.UNKNOWN_KIND if name else Why.NO_KIND
            self.left_out.add(file.path, why, str(name or ""))
            return
        documents = (schema_name for kind in KINDS.values() for schema_name in kind.documents)
        near = nearest(str(name), documents) if name else None
        suggestion = f"did you mean `{near}`? " if near else ""
        hint = f"{suggestion}kinds: {', '.join(KINDS)}; a `$schema` line tells them apart"
        message = f"the kind of this document is unknown: {reason}"
        self.report.add(Diagnostic(UNKNOWN_KIND, message, _label(document), hint))

    def _check_for_others(
        self, file: SourceFile, document: Document, name: str, schema_name: str, why: str
    ) -> None:
        """Check a document that mlctl does not create: findings if it was named, else a note."""
        findings = list(schema.check(document, schema.load(f"others/{schema_name}")))
        if not file.explicit:
            wrong = f", which does not fit its schema ({findings[0].message})" if findings else ""
            self.left_out.add(file.path, Why.OTHERS, f"`{name}`{wrong}: {why}")
            return
        self.report.extend((*findings, *_missing_paths(document, schema_name)))
        if self.planning:
            message = f"mlctl does not plan `{name}`: {why}"
            self.report.add(Diagnostic(OTHER_KIND, message, _label(document)))
        else:
            self.notes.append(f"{file.path}: left to others, `{name}`: {why}")


def _missing_paths(document: Document, schema_name: str) -> Iterator[Diagnostic]:
    """MLC203 for the local paths in a document that others take."""
    rules = schema.resolved(schema.load(f"others/{schema_name}"))
    for at, part in schema.places(rules, document.data):
        value = pointer.get(document.data, at)
        if not part.get("x-mlctl-path") or not isinstance(value, str):
            continue
        path = document.folder / local_path(value)
        if is_local(value) and not placeholder(value) and not path.exists():
            message = f"{pointer.dotted(at)}: `{path}` does not exist"
            hint = "correct the path: it is relative to the folder of this file"
            yield Diagnostic(MISSING_PATH, message, document.label(at), hint)


def has_kind(data: Mapping[str, Data]) -> bool:
    """Whether a document has a kind, by its `$schema` or by its content."""
    return isinstance(by_schema(data), Kind) or (
        by_schema(data) is None and infer(data) is not None
    )


def named_paths(documents: Iterable[Document]) -> Iterator[str]:
    """Yield the paths that values of documents may mean."""
    for document in documents:
        folder = os.path.dirname(document.source.name)  # noqa: PTH120 - names may be `<stdin>`
        for _, text in pointer.texts(document.data):
            if text and len(text) <= _LONGEST and "\n" not in text and "://" not in text:
                path = os.path.join(folder, text.removeprefix("file:"))  # noqa: PTH118
                yield os.path.normpath(path)


def read_paths(document: Document) -> Iterator[str]:
    """Yield the paths that a document may mean, and those of files that are part of it."""
    yield from named_paths([document])
    for part, _ in document.holders(()):
        yield os.path.normpath(part.source.name)


def _is_named(path: str, named_files: set[str], *, whole: bool) -> bool:
    """Whether documents name a file or, unless only its `whole` path counts, a folder above it."""
    path = os.path.normpath(path)
    while path not in named_files:
        if whole:
            return False
        above = os.path.dirname(path)  # noqa: PTH120
        if above in (path, ""):
            return False
        path = above
    return True


def _describe_many(why: str, kinds_by_path: dict[str, str]) -> str:
    if why == Why.UNKNOWN_KIND:
        spelt: dict[str, str] = {}  # `Schedule` and `schedule` are the same
        counted = Counter(
            spelt.setdefault(kind.casefold(), kind) for kind in kinds_by_path.values()
        ).most_common()
        listed = ", ".join(f"`{kind}` ({count})" for kind, count in counted)
    else:
        listed = _list_some(list(kinds_by_path))
    return f"{len(kinds_by_path)} files left out {why}: {listed}"


def _list_some(paths: list[str]) -> str:
    remainder = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + remainder


def _report_other_kind(document: Document, kind: Kind, expected: Kind) -> Diagnostic:
    name = document.source.name
    title = str(kind.form_of(document.data).schema.get("title", kind.title)).lower()
    actual, creates = with_article(title if kind.runs else kind.name), with_article(expected.name)
    message = f"this is {actual}, and the command creates {creates}"
    hint = f"run: mlctl {kind.name} create -f {name}"
    return Diagnostic(OTHER_KIND, message, _label(document), hint)


def _label(document: Document) -> Label:
    return document.label(("$schema",) if "$schema" in document.data else ())
