"""The language server: `language` behind the Language Server Protocol, by pygls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from mlctl.cli.assist import language
from mlctl.diagnostics import Diagnostic, Severity, Span
from mlctl.project.file import ProjectError
from mlctl.version import __version__

_DOCS = "https://github.com/mlctl/mlctl/blob/main/docs/rules.md"


def server() -> LanguageServer:
    """A language server for YAML of Azure ML."""
    serving = LanguageServer("mlctl", __version__)
    names: dict[Path, dict[str, list[str]]] = {}

    def check(uri: str) -> None:
        path, text = _path(uri), serving.workspace.get_text_document(uri).source
        try:
            findings = language.findings(path, text)
        except ProjectError as error:
            findings = [finding for finding in error.report if finding.primary is not None]
        diagnostics = [_diagnostic(finding) for finding in findings]
        serving.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics)
        )

    def names_of(folder: Path) -> dict[str, list[str]]:
        if folder not in names:
            names[folder] = language.declared_names(folder)
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
            for word in language.completions(text, at.line, at.character, names_of(folder))
        ]

    @serving.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        text = serving.workspace.get_text_document(params.text_document.uri).source
        page = language.hover(text, params.position.line)
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
    suggested: Any = language.suggestion(finding)
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
