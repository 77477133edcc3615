"""Run a command in several environments: `--env dev,prod`, `--env all`.

Each is a process, parallel to the others or (`--in-order`) after the previous one, and its output a
section. `{env}` in an argument stands for the environment's name. For an apply, all plans are
checked before the first one begins.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from mlctl.cli.parser.arguments import InvalidValue, UsageError
from mlctl.cli.shell import new_names
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.cli.shell.scope import PLACE, paths_of, project_file_of
from mlctl.cli.shell.session import Session
from mlctl.inert import as_json, prose
from mlctl.planning.preflight.regions import NAME_TAKEN
from mlctl.pointer import Data
from mlctl.project.file import ALL, Project
from mlctl.project.load import load_project

_FLAG = "--env"
_IN_ORDER = "--in-order"
_VARIABLE = "MLCTL_ENV"
_BLUE_GREEN = "blue-green"  # of `--replace-strategy`, which rewrites the files of all
# Formats that can be concatenated.
_TOGETHER = (
    "",
    "human",
    "markdown",
    "json",
    "none",
    "table",
    "text",
    "yaml",
    "github",
    "azure-pipelines",
)

_Ran: TypeAlias = tuple[int, str, str]  # exit code, stdout and stderr


def several(values: Mapping[str, Any], environment: Mapping[str, str]) -> list[str]:
    """Return the environments of a command line if there are several, else none."""
    text = values.get("env") or environment.get(_VARIABLE) or ""
    listed = list(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))
    if text != ALL and "," not in text:
        return []
    names = load_project(project_file_of(paths_of(values))).environments
    if text != ALL:
        order = {name: number for number, name in enumerate(names)}
        return sorted(listed, key=lambda name: order.get(name, len(order)))
    if not names:
        raise InvalidValue("mlctl.yml describes no `environments:`", flag=_FLAG)
    return names


def run_in_each(args: Sequence[str], names: Sequence[str], values: Mapping[str, Any]) -> int:
    """Run the command line in each environment; return the worst exit code."""
    project = load_project(project_file_of(paths_of(values)))
    for name in names:
        project.within(name)
    if values.get("replace_strategy") == _BLUE_GREEN:
        raise UsageError("blue-green renames in the files of all: one environment at a time.")
    output = str(values.get("output") or "")
    if output not in _TOGETHER:
        raise UsageError(f"-o {output} is for one environment at a time.")
    if values.get("out") is not None and PLACE not in str(values["out"]):
        raise UsageError(f"--out would be one file for all: write {PLACE} in its name.")
    session = Session(GlobalArgs(env=names[0]))
    with TemporaryDirectory() as folder:
        runs = _Runs(args, names, Path(folder), together=output not in ("json", "markdown"))
        applying = values.get("check") is False
        if applying:
            checked = dict(runs.run(["--check"]))
            conflicts = _conflicts(runs, values, project)
            if conflicts or any(code != Exit.OK for code, _, _ in checked.values()):
                code = _show(session, checked.items(), output, applying=True)
                for conflict in conflicts:
                    session.say(f"ERROR: {conflict}")
                session.say("Nothing was started in any environment.")
                return code if code != Exit.OK else Exit.REJECTED
        results = runs.run(in_order=bool(values.get("in_order")))
        code = _show(session, results, output, applying=applying)
        conflicts = [] if applying else _conflicts(runs, values, project)
    for conflict in conflicts:
        session.say(f"ERROR: {conflict}")
    return max(code, Exit.ERROR if conflicts else Exit.OK, key=_badness)


def _conflicts(runs: _Runs, values: Mapping[str, Any], project: Project) -> list[str]:
    """Find conflicts between the environments, unless they are waived."""
    ignored = {*(values.get("ignore") or ()), *project.ignore}
    waived = any(code == NAME_TAKEN.name or NAME_TAKEN.code.startswith(code) for code in ignored)
    return [] if waived else list(new_names.conflicts(runs.files))


def _show(
    session: Session, results: Iterable[tuple[str, _Ran]], output: str, *, applying: bool
) -> int:
    """Show the output of each environment; return the worst exit code."""
    documents, codes = {}, [int(Exit.OK)]
    for name, (code, out, err) in results:
        codes.append(code)
        if output == "json":
            documents[name] = _documents(out)
        else:
            session.out(f"## {prose(name)}\n" if output == "markdown" else f"== {name} ==")
            session.out_data(out)
        if err:
            session.say(f"[{name}]\n{err}")
        if applying and output != "json":
            session.out(f"== {name}: exit code {int(code)} ==\n")
    if output == "json":
        session.out_data(as_json(documents, indent=2))
    return max(codes, key=_badness)


def _documents(out: str) -> Data:
    """Return a command's JSON output: a document, a list of its lines, null for nothing."""
    try:
        return json.loads(out) if out.strip() else None
    except ValueError:
        return [json.loads(line) for line in out.splitlines()]  # of apply


def _badness(code: int) -> tuple[bool, bool, int]:
    """Return the rank of an exit code; changes rank below any error."""
    return code != Exit.OK, code != Exit.CHANGES, abs(code)


class _Runs:
    """A command line in each environment; `files` are those that record their new names."""

    def __init__(
        self, args: Sequence[str], names: Sequence[str], folder: Path, *, together: bool
    ) -> None:
        self._line = list(_without_flags(args))
        self._together = together
        self.files = {name: folder / f"{number}.json" for number, name in enumerate(names)}

    def run(
        self, flags: Sequence[str] = (), *, in_order: bool = False
    ) -> Iterator[tuple[str, _Ran]]:
        """Run in each environment; `in_order` one by one, up to the first failure."""
        line = [*self._line, *flags]
        if not in_order:
            running = {
                name: _start(line, name, file, self._together) for name, file in self.files.items()
            }
            with _pass_on_signals([*running.values()]):
                for name, process in running.items():
                    yield name, _wait(process)
            return
        failed = ""
        for name, file in self.files.items():
            if failed:
                text = f"Not started, because {failed} has failed.\n"
                yield name, (Exit.OK, text, "") if self._together else (Exit.OK, "", text)
                continue
            process = _start(line, name, file, self._together)
            with _pass_on_signals([process]):
                result = _wait(process)
            failed = name if result[0] not in (Exit.OK, Exit.CHANGES) else ""
            yield name, result


def _wait(process: subprocess.Popen[str]) -> _Ran:
    out, err = process.communicate()
    return process.returncode, out, err or ""


def _start(line: Sequence[str], name: str, file: Path, together: bool) -> subprocess.Popen[str]:
    """Start the command line in an environment, as a process."""
    return subprocess.Popen(  # noqa: S603  # mlctl itself
        [
            sys.executable,
            "-P",  # the current folder may be a stranger's: nothing in it is imported
            "-m",
            "mlctl",
            _FLAG,
            name,
            *(argument.replace(PLACE, name) for argument in line),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "PYTHONIOENCODING": "utf-8",
            new_names.VARIABLE: str(file),
        },
        encoding="utf-8",
    )


def _without_flags(args: Sequence[str]) -> Iterator[str]:
    """Return the arguments without `--env` and its value, and without `--in-order`."""
    remaining = iter(args)
    for argument in remaining:
        if argument == _FLAG:
            next(remaining, None)
        elif argument != _IN_ORDER and not argument.startswith(f"{_FLAG}="):
            yield argument


@contextmanager
def _pass_on_signals(running: Sequence[subprocess.Popen[str]]) -> Iterator[None]:
    """Pass SIGTERM on to the processes; Ctrl-C reaches them through the terminal."""

    def handle(number: int, _frame: object) -> None:
        for process in running:
            if number != signal.SIGINT and process.poll() is None:
                process.send_signal(number)

    handlers = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
