"""The language server: findings, words and pages, by the Language Server Protocol of pygls."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from mlctl import schema, source
from mlctl.cli.shell import Session
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Report, Severity, Span
from mlctl.files import Files
from mlctl.kinds import Kind
from mlctl.kinds.registry import by_schema, infer
from mlctl.pointer import Data, Pointer
from mlctl.project.file import ProjectError
from mlctl.render.findings.explain import explain, properties
from mlctl.schema import Schema
from mlctl.schema.text import enumerated
from mlctl.version import __version__

_KEY = re.compile(r"^(?P<indent>\s*(?:- +)*)(?P<key>[\w$.-]+)\s*:(?:\s|$)")
_SUGGESTION = re.compile(r"did you mean `([^`]+)`\?")
_MOST_FILES = 1000  # of a folder whose names are suggested


@dataclass(frozen=True, slots=True)
class Completion:
    """A word to complete, its description, and its documentation."""

    word: str
    detail: str = ""
    documentation: str = ""


def findings_of(path: Path, text: str) -> list[Diagnostic]:
    """Return what `mlctl validate` reports on a file with this text, in its project."""
    session = _session(path)
    report = Report()
    files = Files.with_texts({path: text})
    session.loader(report, files=files, scripts=False).load([str(path)])
    return [finding for finding in report if _is_of(finding, path)]


def _session(path: Path) -> Session:
    """Return a session for a file, in the first environment of its project."""
    session = Session(GlobalArgs(), dict(os.environ), [str(path)])
    environments = session.settings.project.environments
    if environments and "MLCTL_ENV" not in session.environment:
        flags = replace(session.flags, env=environments[0])
        session = Session(flags, session.environment, session.paths)
    return session


def _is_of(finding: Diagnostic, path: Path) -> bool:
    return finding.primary is not None and finding.primary.span.source.name == str(path)


def suggestion(finding: Diagnostic) -> str | None:
    """Return the word with which a hint would replace the underlined text."""
    match = _SUGGESTION.search(finding.hint or "")
    return match[1] if match else None


def path_at(text: str, line: int) -> Pointer:
    """Return the keys above and on a line, by indentation: unfinished text may not be YAML."""
    lines = text.splitlines()
    path: list[str] = []
    depth = 1 << 30
    for number in range(min(line, len(lines) - 1), -1, -1):
        match = _KEY.match(lines[number])
        if match is None or lines[number].lstrip().startswith("#"):
            continue
        indent = len(match["indent"])
        if indent < depth:
            path.insert(0, match["key"])
            depth = indent
        if depth == 0:
            break
    return tuple(path)


def kind_of(text: str) -> Kind | None:
    """Return the kind of a document, which may be incomplete."""
    lines = (_KEY.match(line) for line in text.splitlines())
    top = [match["key"] for match in lines if match and not match["indent"]]
    stated = re.search(r"^\$schema:\s*(\S+)", text, re.MULTILINE)
    if stated:
        kind = by_schema({"$schema": stated[1].strip("\"'")})
        return kind if isinstance(kind, Kind) else None
    data = source.plain(text)
    return infer(data if isinstance(data, dict) else dict.fromkeys(top, ""))


def completions(
    text: str, line: int, column: int, names: Mapping[str, list[str]]
) -> list[Completion]:
    """Return the fields that can begin at a place, or values of the field before it.

    `names` are references by kind, as `declared_names` returns them.
    """
    kind = kind_of(text)
    if kind is None:
        return []
    lines = text.splitlines()
    typed = lines[line][:column] if line < len(lines) else ""
    match = _KEY.match(typed)
    if match is not None:
        at = path_at("\n".join([*lines[:line], typed]), line)
        words = (word for level in _levels(kind, at) for word in _values(level, names))
        return list({word.word: word for word in words}.values())
    indent = len(typed) - len(typed.lstrip(" -"))
    above = _above(lines[:line], indent)
    present = _siblings(lines, line, indent)
    fields: dict[str, Completion] = {}
    for level in _levels(kind, above):
        for name, inner in properties(level):
            if name not in present and not inner.get("readOnly"):
                fields.setdefault(name, _field(name, inner, level))
    return list(fields.values())


def _above(lines: list[str], indent: int) -> Pointer:
    """Return the keys that enclose a line with this indentation."""
    for number in range(len(lines) - 1, -1, -1):
        match = _KEY.match(lines[number])
        if match is not None and len(match["indent"]) < indent:
            return path_at("\n".join(lines[: number + 1]), number)
    return ()


def _siblings(lines: list[str], line: int, indent: int) -> set[str]:
    """Return the keys of the mapping that contains a line."""
    keys: set[str] = set()
    for numbers in (range(line - 1, -1, -1), range(line + 1, len(lines))):
        for number in numbers:
            match = _KEY.match(lines[number])
            if match is not None and len(match["indent"]) == indent:
                keys.add(match["key"])
            elif match is not None and len(match["indent"]) < indent:
                break
    return keys


def _levels(kind: Kind, at: Pointer) -> list[Schema]:
    """Return the schemas of each form of a kind at a path."""
    levels = [form for _, form in schema.forms(schema.resolved(kind.schema))]
    for key in at:
        levels = [inner for level in levels for name, inner in properties(level) if name == key]
    return levels


def _field(name: str, inner: Schema, level: Schema) -> Completion:
    required = "required" if name in level.get("required", ()) else ""
    kind = inner.get("type", "")
    detail = ", ".join(filter(None, [kind if isinstance(kind, str) else "", required]))
    return Completion(name, detail, inner.get("description", ""))


def _values(level: Schema, names: Mapping[str, list[str]]) -> Iterator[Completion]:
    for part in (level, *level.get("anyOf", ())):
        for word in enumerated(part):
            yield Completion(word)
        if part.get("type") == "boolean":
            yield from (Completion("true"), Completion("false"))
        for name in names.get(str(part.get("x-mlctl-refers-to", "")), ()):
            yield Completion(name, str(part["x-mlctl-refers-to"]))


def declared_names(folder: Path) -> dict[str, list[str]]:
    """Return references to what a folder's files declare, by kind."""
    names: dict[str, list[str]] = {}
    for file in source.discover([str(folder)], Report())[:_MOST_FILES]:
        try:
            status = Path(file.path).stat()
        except OSError:
            continue
        declared = _declared(file.path, status.st_mtime_ns, status.st_size)
        if declared is not None:
            kind, name = declared
            names.setdefault(kind, []).append(name)
    return names


@lru_cache(maxsize=4 * _MOST_FILES)
def _declared(path: str, _modified: int, _size: int) -> tuple[str, str] | None:
    """Return the kind that a file declares, and a reference; cached until the file changes."""
    data = _plain(path)
    kind = by_schema(data) or infer(data)
    if not isinstance(kind, Kind) or not isinstance(data.get("name"), str):
        return None
    version = f":{data['version']}" if data.get("version") is not None else ""
    latest = "@latest" if kind.versioned and not version else version
    return kind.name, f"azureml:{data['name']}{latest}"


def _plain(path: str) -> dict[str, Data]:
    try:
        data = source.plain(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def hover_text(text: str, line: int) -> str | None:
    """Return what `mlctl explain` says of the field on a line; None if it says nothing."""
    kind, at = kind_of(text), path_at(text, line)
    if kind is None or not at:
        return None
    while at:
        try:
            return explain(".".join([kind.name, *map(str, at)]), ())
        except ValueError:
            at = at[:-1]  # a name that the user chose: of a step, an input, a tag
    return None


_DOCS = "https://github.com/mlctl/mlctl/blob/main/docs/rules.md"


def server() -> LanguageServer:
    """A language server for YAML of Azure ML."""
    serving = LanguageServer("mlctl", __version__)
    names: dict[Path, dict[str, list[str]]] = {}

    def check(uri: str) -> None:
        path, text = _path(uri), serving.workspace.get_text_document(uri).source
        try:
            findings = findings_of(path, text)
        except ProjectError as error:
            findings = [finding for finding in error.report if finding.primary is not None]
        diagnostics = [_diagnostic(finding) for finding in findings]
        serving.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics)
        )

    def names_of(folder: Path) -> dict[str, list[str]]:
        if folder not in names:
            names[folder] = declared_names(folder)
        return names[folder]

    @serving.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        check(params.text_document.uri)
        names_of(_path(params.text_document.uri).parent)  # now, not at the first completion

    @serving.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        check(params.text_document.uri)

    @serving.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        names.clear()
        check(params.text_document.uri)

    @serving.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[":", " "])
    )
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        folder = _path(params.text_document.uri).parent
        text = serving.workspace.get_text_document(params.text_document.uri).source
        at = params.position
        return [
            types.CompletionItem(
                label=word.word,
                detail=word.detail or None,
                documentation=word.documentation or None,
            )
            for word in completions(text, at.line, at.character, names_of(folder))
        ]

    @serving.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        text = serving.workspace.get_text_document(params.text_document.uri).source
        page = hover_text(text, params.position.line)
        if page is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{page}```")
        return types.Hover(contents=content)

    @serving.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return [
            _action(params.text_document.uri, diagnostic)
            for diagnostic in params.context.diagnostics
            if isinstance(diagnostic.data, str)
        ]

    return serving


def _path(uri: str) -> Path:
    return Path(to_fs_path(uri) or uri)


def _diagnostic(finding: Diagnostic) -> types.Diagnostic:
    assert finding.primary is not None
    hint = f"\n{finding.hint}" if finding.hint else ""
    is_error = finding.rule.severity is Severity.ERROR
    suggested: Any = suggestion(finding)
    return types.Diagnostic(
        range=_range(finding.primary.span),
        message=f"{finding.message}{hint}",
        severity=types.DiagnosticSeverity.Error if is_error else types.DiagnosticSeverity.Warning,
        code=finding.rule.code,
        code_description=types.CodeDescription(href=_DOCS),
        source="mlctl",
        data=suggested,
    )


def _range(span: Span) -> types.Range:
    return types.Range(
        start=types.Position(line=span.line, character=span.column),
        end=types.Position(line=span.end_line, character=span.end_column),
    )


def _action(uri: str, diagnostic: types.Diagnostic) -> types.CodeAction:
    word = str(diagnostic.data)
    edit = types.TextEdit(range=diagnostic.range, new_text=word)
    return types.CodeAction(
        title=f"Write `{word}`",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        edit=types.WorkspaceEdit(changes={uri: [edit]}),
        is_preferred=True,
    )
