"""A report as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

from mlctl.diagnostics import Diagnostic, Label, Report, Rule, Severity
from mlctl.inert import as_json
from mlctl.pointer import Data
from mlctl.render.findings import positions
from mlctl.version import __version__

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
HOME = "https://mlctl.dev"


def report(findings: Report) -> str:
    """The findings, and every rule that fired; paths stay relative to where the command ran."""
    fired = sorted(
        {finding.rule.code: finding.rule.documented() for finding in findings}.values(),
        key=lambda rule: rule.code,
    )
    numbers = {rule.code: number for number, rule in enumerate(fired)}
    run = {
        "tool": {"driver": _driver(fired)},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, findings, numbers[finding.rule.code]) for finding in findings],
    }
    return as_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _driver(fired: list[Rule]) -> dict[str, Data]:
    return {
        "name": "mlctl",
        "semanticVersion": __version__,
        "informationUri": HOME,
        "rules": [_rule(rule) for rule in fired],
    }


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
    artifact = {"uri": positions.uri(span.source.name)}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _level(severity: Severity) -> str:
    match severity:
        case Severity.ERROR:
            return "error"
        case Severity.WARNING:
            return "warning"
