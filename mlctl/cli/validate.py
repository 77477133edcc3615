"""`mlctl validate`: checks files offline."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from mlctl.cli.exits import Exit
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.command import command
from mlctl.cli.session import Session
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.render.terminal import clean

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Files, folders (searched for *.yml and *.yaml), globs, or - for stdin.",
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="CODE",
        help="Check only these rules (codes, names or prefixes; repeatable).",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="CODE",
        help="Leave these rules out (codes, names or prefixes; repeatable).",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Warnings fail too.")]


class FindingsFormat(StrEnum):
    """How findings are written."""

    HUMAN = "human"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    AZURE = "azure-pipelines"


def new_report(ignore: list[str] | None, select: list[str] | None, *, strict: bool) -> Report:
    """A report for the flags' values, each of which may hold several codes with commas between.

    Raises:
        InvalidValue: one of them names no rule.
    """
    return Report(_codes("--ignore", ignore), _codes("--select", select), strict)


def _codes(flag: str, given: list[str] | None) -> frozenset[str]:
    codes = frozenset(code for one in given or [] for code in one.split(",") if code)
    if codes:
        from mlctl.cli.rule_registry import ALL_RULES
        from mlctl.schema.text import nearest

        for code in sorted(codes):
            if not any(rule.name == code or rule.code.startswith(code) for rule in ALL_RULES):
                near = nearest(
                    code, [word for rule in ALL_RULES for word in (rule.code, rule.name)]
                )
                hint = f"did you mean `{near}`?" if near else "docs/rules.md lists them"
                raise InvalidValue(f"`{code}` is no rule: {hint}", flag=flag)
    return codes


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(validate)


def validate(
    session: Session,
    paths: Paths,
    output: Annotated[
        FindingsFormat, typer.Option("--output", "-o", help="How findings are written.")
    ] = FindingsFormat.HUMAN,
    ignore: Ignore = None,
    select: Select = None,
    strict: Strict = False,
) -> Exit:
    """Check files against the schemas and rules, offline.

    Exits with 0 when every file is valid, with 1 otherwise.
    """
    report = new_report(ignore, select, strict=strict)
    loaded = Loader(report, session.today).load(paths)
    for note in loaded.notes:
        session.note(clean(f"note: {note}"))
    if output is FindingsFormat.HUMAN:
        session.out(_for_people(session, report, len(loaded.files)))
    else:
        session.out_data(_for_programs(report, output))
    return Exit.ERROR if report.failed else Exit.OK


def _for_people(session: Session, report: Report, files: int) -> str:
    from mlctl.render import diagnostics

    color = session.color(sys.stdout)
    text = diagnostics.report(report, color=color, width=session.width)
    return text + ("\n" if text else "") + diagnostics.summary(report, files, color=color)


def _for_programs(report: Report, output: FindingsFormat) -> str:
    from mlctl.render import machine, sarif

    match output:
        case FindingsFormat.SARIF:
            return sarif.report(report)
        case FindingsFormat.GITHUB:
            return machine.github(report)
        case FindingsFormat.AZURE:
            return machine.azure_pipelines(report)
        case _:
            return machine.as_json(report)
