"""`mlctl retirements`: what files or a workspace use that is retired, or soon will be."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from mlctl import catalog, files, inert
from mlctl.catalog.tables import Retiring, every_table, retiring_features
from mlctl.cli.shell import Exit, InvalidValue, Session, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Label, Report, Severity, SourceText, Span
from mlctl.pointer import Data
from mlctl.project.rules import RETIREMENT
from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.schema.text import counted

_SUFFIX = r"\.(ya?ml|py|ipynb|txt|toml|cfg|json|sh|ps1|bicep|tf|md)"
_NAMES = frozenset({"Dockerfile", "Makefile"})
_MOST_BYTES = 4 << 20  # of a file: a larger one is data
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})
_COMMENT = re.compile(r"(?:^|\s)#.*")  # parts of lines that nobody uses

RetirementsFormat: TypeAlias = Literal["human", "json", "sarif"]


@dataclass(frozen=True, slots=True)
class DatedUse:
    """A use of something that retires: in a file, or in a live resource."""

    retiring: Retiring
    label: Label | None
    address: str | None = None

    @property
    def place(self) -> str:
        """Return `FILE:LINE:COLUMN`, or the address."""
        if self.label is None:
            return str(self.address)
        span = self.label.span
        return f"{span.source.name}:{span.line + 1}:{span.column + 1}"


def retirements(
    session: Session,
    paths: list[str] | None = argument(default=None, metavar="PATH..."),
    live: bool = flag(default=False),
    within: str = flag(default="180d"),
    fail_within: str | None = flag(metavar="DURATION"),
    output: RetirementsFormat = flag("-o", default="human"),
) -> Exit:
    """List what is retired or retires soon, with the date, the source and the replacement."""
    if live and paths:
        raise InvalidValue("the workspace and files exclude each other", flag="--live")
    until = _day(session, within, "--within")
    failing = None if fail_within is None else _day(session, fail_within, "--fail-within")
    uses = _of_workspace(session) if live else _of_files(paths or ["."])
    latest = max(until, failing or until)
    near_uses = sorted(
        (use for use in uses if use.retiring.date <= latest),
        key=lambda use: (use.retiring.date, use.retiring.name, use.place),
    )
    fails = [use for use in near_uses if failing is not None and use.retiring.date <= failing]
    match output:
        case "json":
            session.out_data(inert.as_json(_document(near_uses), indent=2) + "\n")
        case "sarif":
            from mlctl.render.findings import machine

            session.out_data(machine.sarif(_report(near_uses, fails)))
        case "human":
            session.out(
                "\n".join(_lines(near_uses, session.today, color=session.color(sys.stdout)))
            )
    return Exit.ERROR if fails else Exit.OK


def _day(session: Session, text: str, flag_name: str) -> date:
    """Return the day that is so far ahead."""
    try:
        return session.today + timedelta(seconds=duration(text))
    except (InvalidValue, OverflowError):
        raise InvalidValue(f"`{text}` is not a time ahead: write 180d", flag=flag_name) from None


def _of_files(paths: Sequence[str]) -> Iterator[DatedUse]:
    """Find what retires in the lines of files."""
    for path in dict.fromkeys(file for name in paths for file in _walk(Path(name))):
        try:
            text = files.read(path, _MOST_BYTES).decode()
        except (OSError, UnicodeDecodeError):
            continue  # data, or not ours
        source = SourceText(str(path), text)
        for number, line in enumerate(source.lines):
            if source.waives(RETIREMENT, number):
                continue
            for retiring, start, end in _of_line(_COMMENT.sub("", line)):
                yield DatedUse(retiring, Label(Span(source, number, start, number, end)))


def _walk(path: Path) -> Iterator[Path]:
    """Return the sorted files of a folder that may name something, or the file itself."""
    if files.is_file(path):
        yield path
        return
    if not files.is_folder(path):
        raise InvalidValue(f"there is no `{path}`", flag="PATH")
    for folder, names, file_names in os.walk(path):
        names[:] = sorted(name for name in names if name[0] != "." and name not in _SKIPPED)
        for name in sorted(file_names):
            if re.fullmatch(_SUFFIX, Path(name).suffix.casefold()) or name in _NAMES:
                yield Path(folder, name)


def _of_line(line: str) -> Iterator[tuple[Retiring, int, int]]:
    """Find what retires in a line, and where."""
    for retiring in retiring_features():
        for match in re.finditer(retiring.pattern, line, re.IGNORECASE):
            yield retiring, match.start(), match.end()
    for match in re.finditer(r"\b(?:Standard|Basic)_\w[\w-]*", line, re.IGNORECASE):
        end = catalog.retirement(match[0])
        if end is not None:
            of = Retiring("size", match[0], "", end.date, end.successor or "", end.source)
            yield of, match.start(), match.end()


def _of_workspace(session: Session) -> Iterator[DatedUse]:
    """Find what retires in live resources."""
    from mlctl.kinds import KINDS

    with session.backend() as backend:
        for resource in backend.list_all(KINDS):
            lines = _values(resource.body, "")
            retirings = {retiring for line in lines for retiring, _, _ in _of_line(line)}
            yield from (DatedUse(retiring, None, str(resource.address)) for retiring in retirings)


def _values(data: Data, key: str) -> Iterator[str]:
    """Return the values of a body as lines of `key: value`; multi-line text gives several."""
    match data:
        case dict():
            for name, value in data.items():
                yield from _values(value, name)
        case list():
            for value in data:
                yield from _values(value, key)
        case str():
            yield from (f"{key}: {line}" for line in data.splitlines())
        case _:
            pass


def _lines(near_uses: Sequence[DatedUse], today: date, *, color: bool) -> Iterator[str]:
    """Write a paragraph for each thing that retires, with all places."""
    styler = Styler(color)
    by_thing: dict[Retiring, list[str]] = {}
    for use in near_uses:
        by_thing.setdefault(use.retiring, []).append(use.place)
    for retiring, places in by_thing.items():
        is_over = retiring.date <= today
        verb = "retired on" if is_over else "retires on"
        head = f"{retiring.name} ({retiring.kind}) {verb} {retiring.date.isoformat()}"
        yield styler.apply(clean(head), Style.BOLD_RED if is_over else Style.BOLD_YELLOW)
        yield from (f"  {clean(place)}" for place in places)
        yield f"  instead: {retiring.successor or 'nothing that is known'}"
        yield f"  source: {retiring.source}\n"
    yield f"{counted(len(by_thing), 'retirement')} in {counted(len(near_uses), 'place')}."


def _document(near_uses: Iterable[DatedUse]) -> Data:
    return {
        "format_version": "1.0",
        "as_of": {
            table.name: table.as_of.isoformat()
            for table in every_table()
            if table.name in ("retirements.csv", "features.csv")
        },
        "retirements": [
            {
                "kind": use.retiring.kind,
                "name": use.retiring.name,
                "date": use.retiring.date.isoformat(),
                "successor": use.retiring.successor or None,
                "source": use.retiring.source,
                "file": use.label.span.source.name if use.label else None,
                "line": use.label.span.line + 1 if use.label else None,
                "column": use.label.span.column + 1 if use.label else None,
                "address": use.address,
            }
            for use in near_uses
        ],
    }


def report_retired(lines: Iterable[Label], today: date) -> Iterator[Diagnostic]:
    """Report what lines name that is retired."""
    for label in lines:
        span = label.span
        if span.source.waives(RETIREMENT, span.line):
            continue
        for of, start, end in _of_line(_COMMENT.sub("", span.text)):
            if of.date <= today:
                at = Span(span.source, span.line, span.column + start, span.line, span.column + end)
                yield _diagnostic(DatedUse(of, Label(at)), f"was retired on {of.date.isoformat()}")


def _report(near_uses: Iterable[DatedUse], fails: Sequence[DatedUse]) -> Report:
    report = Report()
    for use in near_uses:
        severity = Severity.ERROR if use in fails else Severity.WARNING
        moment = f"retires on {use.retiring.date.isoformat()}"
        report.add(replace(_diagnostic(use, moment), severity=severity))
    return report


def _diagnostic(use: DatedUse, when: str) -> Diagnostic:
    of = use.retiring
    message = f"`{of.name}` ({of.kind}) {when}, by {of.source}"
    hint = f"use {of.successor}" if of.successor else None
    return Diagnostic(RETIREMENT, message, use.label, hint, (), use.address)


COMMANDS = {"retirements": retirements}
