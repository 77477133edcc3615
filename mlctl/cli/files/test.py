"""`mlctl test`: a project's expectations of its own files, policies and plans."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from mlctl import schema, source
from mlctl.cli.shell import Exit, Session, argument, flag
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Report
from mlctl.inert import as_json
from mlctl.pointer import Data
from mlctl.project.file import nearest_file
from mlctl.render.terminal.terminal import clean
from mlctl.source.files import CASES

_EVERY_S = 0.5  # how often files are checked
_WATCHED = (".yml", ".yaml", ".py")

TestFormat: TypeAlias = Literal["human", "json", "junit"]


def run_cases(
    session: Session,
    paths: list[str] | None = argument(default=None, metavar="PATH..."),
    output: TestFormat = flag("-o", default="human"),
    watch: bool = flag(default=False),
) -> Exit:
    """Run a project's tests: files, the live state before, and the expected result."""
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
    cases = read_cases(paths, report)
    session.show(report)
    if report.failed:
        return Exit.ERROR
    if not cases:
        session.say(f"ERROR: there are no cases in {', '.join(paths)}: name files *.test.yml")
        return Exit.ERROR
    results = [run_case(case, run) for case in cases]
    match output:
        case "json":
            session.out_data(as_json([result.document() for result in results], indent=2))
        case "junit":
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
    """Return the modification times of files below this folder that may affect a case."""
    times = {}
    for folder, names, files in os.walk("."):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            path = Path(folder, name)
            if name.endswith(_WATCHED) and path.is_file():
                times[str(path)] = path.stat().st_mtime
    return times


Command = Callable[[Sequence[str]], int]  # runs a command line, and returns its exit code


@dataclass(frozen=True, slots=True)
class Case:
    """A case, its file (as given, and its real path) and its line; its paths start there."""

    name: str
    path: str
    file: Path
    line: int
    data: Mapping[str, Data]

    @property
    def project(self) -> Path:
        """Return the nearest_file folder above the file with a `mlctl.yml`; else the file's own."""
        folder = self.file.parent
        project_file = nearest_file(str(folder))
        return Path(project_file).parent if project_file else folder

    def paths(self, key: str) -> list[str]:
        """Return the files of a key, relative to the project's folder."""
        folder = self.file.parent
        return [os.path.relpath(folder / name, self.project) for name in self.data.get(key, ())]

    @property
    def flags(self) -> list[str]:
        """Return the flags that name the environment and the variables."""
        words = ["--env", self.data["env"]] if "env" in self.data else []
        for name, value in self.data.get("var", {}).items():
            words += ["--var", f"{name}={json.dumps(value)}"]
        return words


@dataclass(frozen=True, slots=True)
class Result:
    """How a case ended: the failed expectations, if any."""

    case: Case
    wrong: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the result as data."""
        case, passed = self.case, not self.wrong
        place = {"name": case.name, "file": case.path, "line": case.line}
        return {**place, "passed": passed, "wrong": list(self.wrong)}


def read_cases(paths: Sequence[str], report: Report) -> list[Case]:
    """Read the cases of files, and of the case files in folders; report errors."""
    cases = []
    for path in _files(paths):
        for document in source.read(path, report):
            findings = list(schema.check(document, schema.load("test")))
            report.extend(findings)
            for number, case in enumerate([] if findings else document.data["tests"]):
                line = document.label(("tests", number, "name")).span.line + 1
                cases.append(Case(case["name"], path, Path(path).resolve(), line, case))
    return cases


def run_case(case: Case, command: Command) -> Result:
    """Apply the state before, then validate and plan the files, and compare."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _workspace(Path(folder) / "cloud.db"),
        contextlib.chdir(case.project),
    ):
        local = [*case.flags, "--backend", "local"]
        live = case.paths("live")
        if live:
            code, _, err = _run_quietly(command, ["apply", *live, "--yes", *local])
            if code:
                return Result(
                    case, ("the files of the initial state cannot be applied:", *err.splitlines())
                )
        files = case.paths("files")
        code, out, err = _run_quietly(command, ["validate", *files, *case.flags, "-o", "json"])
        if not out.strip():
            return Result(case, tuple(err.splitlines()))
        findings = json.loads(out)["diagnostics"]
        changes: dict[str, str] | None = None
        if not code:
            code, out, err = _run_quietly(command, ["plan", *files, *local, "-o", "json"])
            if not out.strip():
                return Result(case, tuple(err.splitlines()))
            planned = json.loads(out)
            findings += planned["diagnostics"]
            changes = dict(_changes(planned))
        return Result(case, tuple(_failures(case.data.get("expect", {}), findings, changes)))


def _files(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if Path(path).is_dir():
            below = sorted(file for file in Path(path).rglob("*.test.y*ml") if file.is_file())
            yield from (str(file) for file in below if str(file).endswith(CASES))
        else:
            yield path


@contextlib.contextmanager
def _workspace(path: Path) -> Iterator[None]:
    """Use a simulated cloud at a path, whatever the environment says."""
    variables = {name: os.environ.pop(name, None) for name in ("MLCTL_LOCAL_DB", "MLCTL_ENV")}
    os.environ["MLCTL_LOCAL_DB"] = str(path)
    try:
        yield
    finally:
        del os.environ["MLCTL_LOCAL_DB"]
        os.environ.update({name: value for name, value in variables.items() if value is not None})


def _run_quietly(command: Command, line: Sequence[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(line)
    return code, out.getvalue(), err.getvalue()


def _changes(planned: Mapping[str, Data]) -> Iterator[tuple[str, str]]:
    for change in planned["resource_changes"]:
        actions = change["change"]["actions"]
        if actions != ["no-op"]:
            yield change["address"], "replace" if len(actions) > 1 else actions[0]


def _failures(
    expected: Mapping[str, Data],
    findings: Sequence[Mapping[str, Data]],
    changes: Mapping[str, str] | None,
) -> Iterator[str]:
    """Return the failed expectations, a sentence each."""
    expected_findings = [str(finding).split(maxsplit=1) for finding in expected.get("findings", ())]
    for code, *at in expected_findings:
        if not any(_matches(finding, code, at) for finding in findings):
            yield f"not found: {' '.join([code, *at])}"
    for finding in findings:
        if finding["severity"] == "error" and not any(
            _matches(finding, code, at) for code, *at in expected_findings
        ):
            words = f"{finding['code']} {_place(finding)}: {finding['summary']}"
            yield f"not expected: {words}".replace(" :", ":")
    want = expected.get("changes")
    if want is None:
        return
    if changes is None:
        yield "no plan: the files have errors"
        return
    for address in sorted({*want, *changes}):
        if want.get(address) != changes.get(address):
            expected_change, is_ = want.get(address, "no change"), changes.get(address, "no change")
            yield f"{address}: expected {expected_change}, the plan says {is_}"


def _matches(finding: Mapping[str, Data], code: str, at: Sequence[str]) -> bool:
    """Whether a finding has a code, and a place that ends so, if given."""
    if finding["code"] != code:
        return False
    return not at or f"/{_place(finding)}".endswith(f"/{at[0]}")


def _place(finding: Mapping[str, Data]) -> str:
    span = finding["range"]
    return f"{span['filename']}:{span['start']['line']}" if span else ""


COMMANDS = {"test": run_cases}
