"""`mlctl fmt`: one layout for all files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

from mlctl import files, schema, source
from mlctl.cli.shell import Exit, Session, argument, flag
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS, Kind
from mlctl.kinds.registry import by_schema, infer
from mlctl.render.terminal.terminal import clean
from mlctl.schema import Schema
from mlctl.schema.key_order import key_orders
from mlctl.source import MAX_BYTES, Document
from mlctl.source.files import CASES, PROJECT_FILE, STDIN
from mlctl.source.gaps import OddLayout
from mlctl.source.layout import lay_out
from mlctl.source.rules import UNREADABLE_RULES

_STDIN_NAME = "<stdin>"


@dataclass(frozen=True, slots=True)
class _File:
    """A file with its documents, and its canonical text; None if it stays unchanged."""

    path: str
    raw: bytes
    documents: Sequence[Document]
    laid_out: str | None = None

    @property
    def text(self) -> str:
        """Return the current text."""
        if self.documents:
            return self.documents[0].source.text
        return self.raw.decode(errors="replace")

    @property
    def differs(self) -> bool:
        """Whether the file is not in canonical layout."""
        return self.laid_out is not None and self.raw != self.laid_out.encode()

    @property
    def difference(self) -> Iterator[str]:
        """Return the changes as a unified diff, or in words if no line changes."""
        now, then = self.text.splitlines(), (self.laid_out or "").splitlines()
        if now == then:
            yield f"{self.path}: only line ends, the final newline or the byte order mark"
        yield from unified_diff(now, then, self.path, self.path, lineterm="")


def fmt(
    session: Session,
    paths: list[str] | None = argument(default=None, metavar="PATH..."),
    check: bool = flag(default=False),
    diff: bool = flag(default=False),
) -> Exit:
    """Format files: order of keys, indentation, whitespace and line endings."""
    report = Report()
    paths_ = paths or ["."]
    places = files.places(paths_)
    laid_out = [_format(session, file, places) for file in _files(paths_, report)]
    session.show(report)
    changed = [file for file in laid_out if file.differs]
    if diff:
        session.out("\n".join(line for file in changed for line in file.difference))
    if check and not diff:
        session.out("\n".join(file.path for file in changed))
    if not (check or diff) and not _write(session, laid_out):
        return Exit.ERROR
    return Exit.ERROR if report.failed or (check and changed) else Exit.OK


def _files(paths: Sequence[str], report: Report) -> Iterator[_File]:
    """Return the named files, and those in folders, mlctl's own too, if they can be read."""
    for source_file in source.discover(paths, report, own=True):
        name, findings = source_file.path, Report()
        try:
            if name == STDIN:
                name, raw = _STDIN_NAME, sys.stdin.buffer.read(MAX_BYTES + 1)
            else:
                raw = files.read(Path(name), MAX_BYTES)
        except (OSError, ValueError):
            source.read(name, report, explicit=False)  # reports why
            continue
        documents = source.load(name, raw, findings, explicit=False)
        unreadable = [finding for finding in findings if finding.rule in UNREADABLE_RULES]
        report.extend(unreadable)
        if not unreadable:
            yield _File(name, raw, documents)


def _format(session: Session, file: _File, named: frozenset[Path]) -> _File:
    """Return the file in canonical layout; unchanged, with a note, if that is unsafe."""
    if file.path != _STDIN_NAME and files.leads_out(Path(file.path), named):
        session.note(clean(f"note: {file.path}: unchanged, a link leads out of the folder"))
        return file
    try:
        text = canonical(file.path, file.documents)
    except OddLayout as odd:
        place = f"{file.path}:{odd.line + 1}"
        session.note(clean(f"note: {place}: unchanged, {odd.why}"))
        return file
    if text is None:
        session.note(clean(f"note: {file.path}: unchanged, it has no document of mlctl's"))
        return file
    return replace(file, laid_out=text)


def canonical(path: str, documents: Sequence[Document]) -> str | None:
    """Return a file's text in canonical layout; None if no document is mlctl's.

    Raises:
        OddLayout: it has a layout that cannot be changed safely.
    """
    schemas = {document.index: _schema(path, document) for document in documents}
    if all(document is None for document in schemas.values()):
        return None
    orders = {
        document.index: key_orders(schemas[document.index] or {}, document.data)
        for document in documents
    }
    text = documents[0].source.text
    return lay_out(text, lambda number, at: orders.get(number, {}).get(at, ()))


def _schema(path: str, document: Document) -> Schema | None:
    """Return the schema of a document of mlctl's, {} for an overlay; None for other tools."""
    name = Path(path).name
    data = document.data
    if name == PROJECT_FILE:
        return schema.load("project")
    if name.endswith(CASES):
        return schema.load("test")
    if data.keys() <= {"$schema", "policies"}:
        return schema.load("policy")
    schema_kind = by_schema(data)
    kind = infer(data) if schema_kind is None else schema_kind
    if isinstance(kind, Kind):
        return kind.schema
    is_overlay = all(key.partition("/")[0] in KINDS and "/" in key for key in data)
    return {} if is_overlay else None


def _write(session: Session, changed: Sequence[_File]) -> bool:
    """Write the files that change, and print their names; for stdin, print the text."""
    whole = True
    for file in changed:
        if file.path == _STDIN_NAME:
            session.out_data(file.text if file.laid_out is None else file.laid_out)
        elif file.laid_out is not None and file.differs:
            try:
                files.write(Path(file.path), file.laid_out.encode())
                session.out(file.path)
            except OSError as error:
                session.say(clean(f"ERROR: cannot write {file.path}: {error.strerror or error}"))
                whole = False
    return whole


COMMANDS = {"fmt": fmt}
