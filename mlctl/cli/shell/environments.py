"""One command in several environments: `--env dev,prod`, `--env all`.

Each is a process of its own, at the same time as the others, and its output a section. `{env}` in
an argument stands for the environment's name.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mlctl.cli.parser.arguments import InvalidValue, UsageError
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.cli.shell.project_paths import PLACE, paths_of, project_file_of
from mlctl.cli.shell.session import Session
from mlctl.inert import as_json, prose
from mlctl.pointer import Data
from mlctl.project.load import load_project

ALL = "all"
_FLAG = "--env"
_VARIABLE = "MLCTL_ENV"
_BLUE_GREEN = "blue-green"  # of `--replace-strategy`, which rewrites the files of all
# Formats of which several make sense one after the other.
_TOGETHER = (
    *("", "human", "markdown", "json", "none", "table", "text", "yaml"),
    *("github", "azure-pipelines"),
)


def several(values: Mapping[str, Any], environment: Mapping[str, str]) -> list[str]:
    """The environments that a command line means, where they are more than one; else none.

    Raises:
        ProjectError: `mlctl.yml` cannot be used.
        InvalidValue: it describes no environments.
    """
    text = values.get("env") or environment.get(_VARIABLE) or ""
    if text != ALL:
        names = [name.strip() for name in text.split(",")]
        return list(dict.fromkeys(filter(None, names))) if len(names) > 1 else []
    names = load_project(project_file_of(paths_of(values))).environments
    if not names:
        raise InvalidValue("mlctl.yml describes no `environments:`", flag=_FLAG)
    return names


def run_in_each(args: Sequence[str], names: Sequence[str], values: Mapping[str, Any]) -> int:
    """Run the command line in each of the environments; the worst of their exit codes.

    Raises:
        UsageError: all would write the same file, or their output cannot be put together.
        UnknownEnvironment: there is none of one of the names.
    """
    project = load_project(project_file_of(paths_of(values)))
    for name in names:
        project.within(name)
    if values.get("replace_strategy") == _BLUE_GREEN:
        raise UsageError("blue-green renames in the files of all: one environment at a time.")
    output = str(getattr(values.get("output"), "value", values.get("output") or ""))
    if output not in _TOGETHER:
        raise UsageError(f"-o {output} is for one environment at a time.")
    if values.get("out") is not None and PLACE not in str(values["out"]):
        raise UsageError(f"--out would be one file for all: write {PLACE} in its name.")
    session = Session(GlobalArgs(env=names[0]))
    together = output not in ("json", "markdown")
    documents, codes = {}, []
    for name, (code, out, err) in zip(names, _run(args, names, together=together), strict=True):
        codes.append(code)
        if output == "json":
            documents[name] = _documents(out)
        else:
            session.out(f"## {prose(name)}\n" if output == "markdown" else f"== {name} ==")
            session.out_data(out)
        if err:
            session.say(f"[{name}]\n{err}")
    if output == "json":
        session.out_data(as_json(documents, indent=2))
    return max(codes, key=_badness)


def _documents(out: str) -> Data:
    """What a command wrote as JSON: its document, a list of its lines, null for nothing."""
    try:
        return json.loads(out) if out.strip() else None
    except ValueError:
        return [json.loads(line) for line in out.splitlines()]  # of apply


def _badness(code: int) -> tuple[bool, bool, int]:
    """How bad an exit code is: that there are changes is less bad than any error."""
    return code != Exit.OK, code != Exit.CHANGES, abs(code)


def _run(
    args: Sequence[str], names: Sequence[str], *, together: bool
) -> Iterator[tuple[int, str, str]]:
    """Exit code, stdout and stderr of the command in each environment, in their order.

    Where the two streams stay `together`, all is in stdout, as it came.
    """
    line = list(_without_flag(args))
    running = [
        subprocess.Popen(  # noqa: S603  # mlctl itself
            [
                sys.executable,
                "-m",
                "mlctl",
                _FLAG,
                name,
                *(_named(process, name) for process in line),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            text=True,
            encoding="utf-8",
        )
        for name in names
    ]
    with _signals_passed_on(running):
        for process in running:
            out, err = process.communicate()
            yield process.returncode, out, err or ""


def _named(argument: str, name: str) -> str:
    return argument.replace(PLACE, name)


def _without_flag(args: Sequence[str]) -> Iterator[str]:
    """The arguments without `--env` and its value."""
    remaining = iter(args)
    for argument in remaining:
        if argument == _FLAG:
            next(remaining, None)
        elif not argument.startswith(f"{_FLAG}="):
            yield argument


@contextmanager
def _signals_passed_on(running: Sequence[subprocess.Popen[str]]) -> Iterator[None]:
    """While this runs, the processes get SIGTERM too; Ctrl-C reaches them by the terminal."""

    def handle(number: int, _frame: object) -> None:
        for process in running:
            if number != signal.SIGINT and process.poll() is None:
                process.send_signal(number)

    handlers = {one: signal.signal(one, handle) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
