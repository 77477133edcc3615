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


def report(found: Report) -> str:
    """The findings, and every rule that fired; paths stay relative to where the command ran."""
    fired = sorted({one.rule.code: one.rule for one in found}.values(), key=lambda rule: rule.code)
    numbers = {rule.code: number for number, rule in enumerate(fired)}
    run = {
        "tool": {"driver": _driver(fired)},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, found, numbers[one.rule.code]) for one in found],
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


def _result(found: Diagnostic, report: Report, number: int) -> dict[str, Data]:
    text = f"{found.message}. Hint: {found.hint}." if found.hint else f"{found.message}."
    result: dict[str, Data] = {
        "ruleId": found.rule.code,
        "ruleIndex": number,
        "level": _level(report.severity(found)),
        "message": {"text": text},
        "locations": [_location(found.primary)] if found.primary else [],
    }
    if found.related:
        result["relatedLocations"] = [
            {"id": place, **_location(label), "message": {"text": label.text or "see also"}}
            for place, label in enumerate(found.related, start=1)
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
