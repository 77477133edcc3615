"""`mlctl validate`: check files offline."""

from __future__ import annotations

import sys
from typing import Annotated, Literal, TypeAlias

from mlctl.cli.shell import Exit, Session, argument, flag
from mlctl.cli.shell.rule_choice import Ignore, Select, Strict, new_report
from mlctl.diagnostics import Report
from mlctl.inert import line
from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.schema.text import counted

Paths = Annotated[list[str], argument(metavar="PATH...")]
SomePaths = Annotated[list[str] | None, argument(metavar="PATH...")]

FindingsFormat: TypeAlias = Literal["human", "json", "sarif", "github", "azure-pipelines", "gitlab"]


def validate(
    session: Session,
    paths: Paths,
    output: FindingsFormat = flag("-o", default="human"),
    ignore: Ignore = None,
    select: Select = None,
    strict: Strict = False,
) -> Exit:
    """Check files against the schemas and rules, offline."""
    report = new_report(session, ignore, select, strict=strict)
    loaded = session.loader(report).load(paths)
    for note in loaded.notes:
        session.note(clean(f"note: {note}"))
    print_findings(session, report, output, len(loaded.files))
    return Exit.ERROR if report.failed else Exit.OK


def print_findings(session: Session, report: Report, output: FindingsFormat, files: int) -> None:
    """Print the findings in so many files."""
    if output == "human":
        session.out(_human(session, report, files))
    else:
        from mlctl.render.findings import machine

        views = {"sarif": machine.sarif, "github": machine.github, "gitlab": machine.gitlab}
        views |= {"azure-pipelines": machine.azure_pipelines, "json": machine.as_json}
        session.out_data(views[output](report))


def _human(session: Session, report: Report, files: int) -> str:
    color = session.color(sys.stdout)
    information = [line(f"info: {text}") for text in report.information()]  # `out` masks
    if len(information) == len(report):
        return "\n".join([*information, summary(Report(), files, color=color)])
    from mlctl.render.findings import diagnostics

    text = diagnostics.report(report, color=color, width=session.width)
    return f"{text}\n{summary(report, files, color=color)}"


def summary(findings: Report, files: int, *, color: bool = False) -> str:
    """Summarize: `Found 2 errors and 1 warning in 3 files.`, or a success."""
    errors, warnings = findings.errors, findings.warnings
    counts = [counted(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    if errors:
        style, text = Style.BOLD_RED, f"Found {' and '.join(counts)} in {counted(files, 'file')}."
    elif not files:
        style, text = Style.BOLD, "Nothing to validate: none of these files is one of Azure ML's."
    else:
        verb = "is" if files == 1 else "are"
        tail = f", with {counts[0]}" if counts else ""
        style = Style.BOLD_YELLOW if counts else Style.BOLD
        text = f"Success! {counted(files, 'file')} {verb} valid{tail}."
    return Styler(color).apply(text, style) + "\n"


COMMANDS = {"validate": validate}
