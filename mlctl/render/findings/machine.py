"""A report as JSON, as annotations of GitHub and Azure Pipelines, and as Code Quality of GitLab."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import PurePath
from urllib.parse import quote

from mlctl import inert
from mlctl.diagnostics import Diagnostic, Label, Report, Rule, Severity, SourceText, Span
from mlctl.pointer import Data
from mlctl.render.terminal.terminal import clean
from mlctl.version import __version__

FORMAT_VERSION = "1.0"
_LONGEST_LINE = 2000  # characters; longer lines are not useful as a snippet


def as_json(report: Report) -> str:
    """Format the report like `terraform validate -json`, ASCII only.

    Lines and columns count from 1, in code points; `byte` and the offsets of a snippet from 0.
    """
    return inert.as_json(document(report), indent=2) + "\n"


def document(report: Report) -> dict[str, Data]:
    """Return the data of `as_json`, for commands that add to their diagnostics."""
    return {
        "format_version": FORMAT_VERSION,
        "valid": not report.failed,
        "error_count": report.errors,
        "warning_count": report.warnings,
        "diagnostics": diagnostics(report),
    }


def diagnostics(report: Report) -> list[dict[str, Data]]:
    """Return the findings of `report`, one object each."""
    offsets = _Offsets()
    return [_finding(diagnostic, report, offsets) for diagnostic in report]


def github(report: Report) -> str:
    """Format GitHub's workflow commands: `::error file=...,line=...::message`, one line each."""
    return "".join(_github(diagnostic, report) for diagnostic in report)


def azure_pipelines(report: Report) -> str:
    """Format Azure Pipelines' logging commands: `##vso[task.logissue type=error;...]message`."""
    return "".join(_azure(diagnostic, report) for diagnostic in report)


def gitlab(report: Report) -> str:
    """Format GitLab's `codequality` report: a list of findings, each with a unique fingerprint."""
    issues = [_gitlab(diagnostic, report, number) for number, diagnostic in enumerate(report)]
    return inert.as_json(issues, indent=2) + "\n"


_GITLAB = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}
_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def _gitlab(diagnostic: Diagnostic, report: Report, number: int) -> dict[str, Data]:
    span = diagnostic.primary.span if diagnostic.primary else None
    path = _path(diagnostic.primary) if diagnostic.primary else ""
    name = f"{diagnostic.rule.code} {path} {diagnostic.message} {number}"
    return {
        "description": _message(diagnostic),
        "check_name": diagnostic.rule.code,
        "fingerprint": hashlib.sha256(name.encode(errors="replace")).hexdigest(),
        "severity": _GITLAB[report.severity(diagnostic)],
        "location": {"path": path, "lines": {"begin": span.line + 1 if span else 1}},
    }


def _finding(diagnostic: Diagnostic, report: Report, offsets: _Offsets) -> dict[str, Data]:
    span = diagnostic.primary.span if diagnostic.primary else None
    return {
        "severity": report.severity(diagnostic).value,
        "code": diagnostic.rule.code,
        "summary": diagnostic.message,
        "detail": _detail(diagnostic),
        "address": diagnostic.address,
        "range": _range(span, offsets) if span else None,
        "snippet": _snippet(span, diagnostic.address) if span else None,
    }


def _range(span: Span, offsets: _Offsets) -> dict[str, Data]:
    def point(line: int, column: int) -> dict[str, int]:
        byte = offsets.of(span.source, line, column)
        return {"line": line + 1, "column": column + 1, "byte": byte}

    return {
        "filename": span.source.name,
        "start": point(span.line, span.column),
        "end": point(span.end_line, span.end_column),
    }


def _snippet(span: Span, context: str | None) -> dict[str, Data] | None:
    """Return the first line of the place, under Terraform's keys."""
    code = span.source.shown(span.line)
    if len(code) > _LONGEST_LINE:
        return None
    return {
        "context": context,
        "code": code,
        "start_line": span.line + 1,
        "highlight_start_offset": span.column,
        "highlight_end_offset": span.end_column if span.end_line == span.line else len(code),
        "values": [],
    }


def _github(diagnostic: Diagnostic, report: Report) -> str:
    # github.com/actions/toolkit, packages/core/src/command.ts: what is escaped, and how.
    properties: dict[str, str | int] = {}
    if diagnostic.primary:
        span = diagnostic.primary.span
        properties = {"file": _path(diagnostic.primary), "line": span.line + 1}
        properties |= {"endLine": span.end_line + 1, "col": span.column + 1}
        if span.end_line == span.line:
            properties["endColumn"] = span.end_column + 1
    properties["title"] = diagnostic.rule.code
    settings = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{_GITHUB[report.severity(diagnostic)]} {settings}::{_data(_message(diagnostic))}\n"


def _azure(diagnostic: Diagnostic, report: Report) -> str:
    # github.com/microsoft/azure-pipelines-task-lib, node/taskcommand.ts: what is escaped, and how.
    properties: dict[str, str | int] = {
        "type": "error" if report.severity(diagnostic) is Severity.ERROR else "warning"
    }
    if diagnostic.primary:
        span = diagnostic.primary.span
        properties |= {"sourcepath": _path(diagnostic.primary), "linenumber": span.line + 1}
        properties["columnnumber"] = span.column + 1
    properties["code"] = diagnostic.rule.code
    settings = ";".join(f"{name}={_setting(str(value))}" for name, value in properties.items())
    return f"##vso[task.logissue {settings}]{_vso(_message(diagnostic))}\n"


def _message(diagnostic: Diagnostic) -> str:
    """Join message and hint on one line, without anything that could control a terminal."""
    detail = _detail(diagnostic)
    return clean(f"{diagnostic.message} ({detail})" if detail else diagnostic.message)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return clean(_data(text)).replace(":", "%3A").replace(",", "%2C")


def _setting(text: str) -> str:
    return _vso(clean(text)).replace(";", "%3B").replace("]", "%5D")


def _vso(text: str) -> str:
    return text.replace("%", "%AZP25")


SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
HOME = "https://mlctl.dev"


def sarif(findings: Report) -> str:
    """Format the findings, and every rule that fired, as SARIF; paths stay relative."""
    fired = sorted(
        {finding.rule.code: finding.rule.documented() for finding in findings}.values(),
        key=lambda rule: rule.code,
    )
    numbers = {rule.code: number for number, rule in enumerate(fired)}
    run = {
        "tool": {
            "driver": {
                "name": "mlctl",
                "semanticVersion": __version__,
                "informationUri": HOME,
                "rules": [_rule(rule) for rule in fired],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, findings, numbers[finding.rule.code]) for finding in findings],
    }
    return inert.as_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Data]:
    prose = f"{rule.why}\n\n{rule.fix}"
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": prose, "markdown": prose},
        "helpUri": f"{HOME}/rules#{rule.code.lower()}",
        "defaultConfiguration": {"level": _level(rule.severity)},
    }


def _result(finding: Diagnostic, report: Report, number: int) -> dict[str, Data]:
    text = f"{finding.message}. Hint: {finding.hint}." if finding.hint else f"{finding.message}."
    result: dict[str, Data] = {
        "ruleId": finding.rule.code,
        "ruleIndex": number,
        "level": _level(report.severity(finding)),
        "message": {"text": text},
        "locations": [_location(finding.primary)] if finding.primary else [],
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": place, **_location(label), "message": {"text": label.text or "see also"}}
            for place, label in enumerate(finding.related, start=1)
        ]
    return result


def _location(label: Label) -> dict[str, Data]:
    span = label.span
    region = {
        "startLine": span.line + 1,
        "startColumn": span.column + 1,
        "endLine": span.end_line + 1,
        "endColumn": span.end_column + 1,
    }
    pure = PurePath(span.source.name)
    artifact = {"uri": pure.as_uri() if pure.is_absolute() else quote(os.fsencode(pure.as_posix()))}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _level(severity: Severity) -> str:
    return "note" if severity is Severity.INFO else severity.value


_BREAKS = re.compile(r"(\r\n|[\n\r\x85\u2028\u2029])")


class _Offsets:
    """Byte offsets of lines in the UTF-8 text of each source, counted once per source."""

    def __init__(self) -> None:
        self._starts: dict[int, list[int]] = {}

    def of(self, source: SourceText, line: int, column: int) -> int:
        """Count the bytes before a place, without a byte order mark."""
        starts = self._starts.get(id(source))
        if starts is None:
            starts = self._starts[id(source)] = list(_starts(source.text))
        if line >= len(starts):
            return len(source.text.encode(errors="replace"))
        return starts[line] + len(source.lines[line][:column].encode(errors="replace"))


def _detail(diagnostic: Diagnostic) -> str:
    """Return the hint and the related positions."""
    sentences = [diagnostic.hint] if diagnostic.hint else []
    sentences += [f"{label.text or 'see'}: {place(label.span)}" for label in diagnostic.related]
    return "; ".join(sentences)


def place(span: Span) -> str:
    """Format `train.yml:4:1`."""
    return f"{span.source.name}:{span.line + 1}:{span.column + 1}"


def _path(label: Label) -> str:
    """Return the file of a label, with forward slashes."""
    return PurePath(label.span.source.name).as_posix()


def _starts(text: str) -> Iterator[int]:
    offset = 0
    yield offset
    pieces = iter(_BREAKS.split(text))
    for line, end in zip(pieces, pieces, strict=False):  # the last line has no line break
        offset += len(line.encode(errors="replace")) + len(end.encode())
        yield offset
