"""`mlctl test`: a project's expectations of its own files, policies and plans."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from mlctl.cli.files import case_files
from mlctl.cli.files.case_files import Result
from mlctl.cli.shell import Exit, Session, argument, flag
from mlctl.diagnostics import Report
from mlctl.inert import as_json
from mlctl.render.terminal.terminal import clean

_EVERY_S = 0.5  # how often files are looked at
_WATCHED = (".yml", ".yaml", ".py")


class TestFormat(StrEnum):
    """How results are written."""

    __test__ = False

    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"


def run_cases(
    session: Session,
    paths: list[str] | None = argument(
        "Case files, or folders with *.test.yml; this one unless given.",
        default=None,
        metavar="PATH...",
    ),
    output: TestFormat = flag("How the results are written.", "-o", default=TestFormat.HUMAN),
    watch: bool = flag("Run them again when a file here changes, until Ctrl-C.", default=False),
) -> Exit:
    """Run a project's own tests: files, what is live before, and what is expected of them.

    Each case has a simulated workspace of its own; nothing else is read or written.
    """
    folders = paths or ["."]
    code = _run(session, folders, output)
    if not watch:
        return code
    times = _times()
    session.note("\nWatching for changes; Ctrl-C ends it.")
    try:
        while True:
            time.sleep(_EVERY_S)
            now = _times()
            if now != times:
                times = now
                code = _run(session, folders, output)
    except KeyboardInterrupt:
        return code


def _run(session: Session, paths: Sequence[str], output: TestFormat) -> Exit:
    from mlctl.cli.run import run

    report = Report()
    cases = case_files.read(paths, report)
    session.show(report)
    if report.failed:
        return Exit.ERROR
    if not cases:
        session.say(f"ERROR: there are no cases in {', '.join(paths)}: name files *.test.yml")
        return Exit.ERROR
    results = [case_files.run(case, run) for case in cases]
    match output:
        case TestFormat.JSON:
            session.out_data(as_json([_as_data(result) for result in results], indent=2))
        case TestFormat.JUNIT:
            session.out_data(_junit(results))
        case _:
            session.out("\n".join(_lines(results)))
    sys.stdout.flush()
    return Exit.ERROR if any(result.wrong for result in results) else Exit.OK


def _lines(results: Sequence[Result]) -> Iterable[str]:
    for result in results:
        if not result.wrong:
            yield clean(f"ok      {result.case.name}")
            continue
        yield clean(f"FAILED  {result.case.name}  ({result.case.path}:{result.case.line})")
        yield from (clean(f"        {line}") for line in result.wrong)
    failed = sum(bool(result.wrong) for result in results)
    yield f"\n{len(results) - failed} of {len(results)} passed"


def _as_data(result: Result) -> dict[str, object]:
    case = result.case
    passed, wrong = not result.wrong, list(result.wrong)
    return {
        "name": case.name,
        "file": case.path,
        "line": case.line,
        "passed": passed,
        "wrong": wrong,
    }


def _junit(results: Sequence[Result]) -> str:
    failed = sum(bool(result.wrong) for result in results)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="mlctl test" tests="{len(results)}" failures="{failed}">',
    ]
    for result in results:
        name = f"classname={quoteattr(result.case.path)} name={quoteattr(clean(result.case.name))}"
        if result.wrong:
            text = escape("\n".join(map(clean, result.wrong)))
            lines.append(f"  <testcase {name}><failure>{text}</failure></testcase>")
        else:
            lines.append(f"  <testcase {name}/>")
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _times() -> dict[str, float]:
    """When the files below this folder were changed that may decide about a case."""
    times = {}
    for folder, names, files in os.walk("."):
        names[:] = [one for one in names if not one.startswith(".")]
        for name in files:
            path = Path(folder, name)
            if name.endswith(_WATCHED) and path.is_file():
                times[str(path)] = path.stat().st_mtime
    return times


COMMANDS = {"test": run_cases}
