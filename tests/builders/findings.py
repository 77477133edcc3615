"""Texts to findings: the way of a document up to the gate, with the world as an argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from mlctl import schema, source
from mlctl.config import graph, rules
from mlctl.config.graph import ReadDocument
from mlctl.diagnostics import Report
from mlctl.kinds import Kind, kind_of_schema
from mlctl.kinds.resource import build
from mlctl.render.findings import diagnostics
from mlctl.source import Document

TODAY = date(2026, 11, 20)


def check(
    *texts: str,
    today: date = TODAY,
    exists: Callable[[Path], bool] = lambda _: True,
    planning: bool = False,
    name: str = "main.yml",
    script: Callable[[Path], str | None] = lambda _: None,
    conda: ReadDocument = lambda _: None,
) -> Report:
    """What the rules of text, schema and meaning find in the documents of one file."""
    facts = rules.RuleContext(today, exists, planning, script, conda=conda)
    return check_files({name: "---\n".join(texts)}, facts)


def check_files(texts: Mapping[str, str], facts: rules.RuleContext) -> Report:
    """The same for several files, by name."""
    report, resources = Report(), []
    for name, text in texts.items():
        for document in source.load(name, text, report):
            kind = kind_of_schema(str(document.data.get("$schema")))
            assert isinstance(kind, Kind)
            report.extend(schema.check(document, kind.schema))
            resources.append(build(document, kind))
    built = graph.build(one for one in resources if one is not None)
    report.extend(rules.check(built, facts))
    return report


def codes(report: Report) -> list[str]:
    """The codes of the findings, in the order of the report."""
    return [found.rule.code for found in report]


def of_case(folder: Path, file: str) -> Report:
    """What is found in a file of `cases/rules/CODE-NAME/`, with its paths beside it."""

    def conda(path: Path) -> Document | None:
        text = (folder / path).read_text() if (folder / path).is_file() else ""
        return next(iter(source.load(str(path), text, Report())), None)

    return check(
        (folder / file).read_text(encoding="utf-8"),
        exists=lambda path: (folder / path).exists(),
        planning=folder.name == "MLC204-missing-path-to-plan",
        name=file,
        script=lambda path: (folder / path).read_text() if (folder / path).is_file() else None,
        conda=conda,
    )


def rules_case(folder: Path) -> str:
    """What is printed about `bad.yml`."""
    return diagnostics.report(of_case(folder, "bad.yml"))
