"""Arguments to an exit code: every way in which a command can end is translated here."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import cast

import typer

from mlctl.cli.app import VERBS, build
from mlctl.cli.az.compatibility import ABSENT_FLAGS
from mlctl.cli.exits import Exit
from mlctl.cli.parser import arguments, tree
from mlctl.cli.parser.bind import bind
from mlctl.cli.scope import ScopeError
from mlctl.cli.session import Flags, Session
from mlctl.cli.streams import OutputError
from mlctl.kinds import KINDS
from mlctl.service_errors import NotFound, ServiceError

_PLAN_FAMILY = ("validate", "plan", "apply", "destroy", "drift")
# Flags with a value that may stand before the verb.
_BEFORE = ("--backend", "--subscription", "--resource-group", "-g", "--workspace-name", "-w")
# The base of what typer raises, wherever it keeps it; every one has format_message().
_ParserError = cast("type[Exception]", typer.BadParameter.__mro__[2])
_COMPLETION = "_MLCTL_COMPLETE"  # typer's variable
_ISSUES = "https://github.com/mlctl/mlctl/issues"


def run(words: Sequence[str]) -> int:
    """Run a command line.

    Returns the exit code; nothing gets out, but a traceback is shown under --debug.
    """
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("Keyboard interrupt is captured.", Exit.ERROR)
    except Exception as error:  # noqa: BLE001  # the last place that can say what happened
        return _ended(error, words)
    return code


def _run(words: Sequence[str]) -> int:
    """Read the words as az does, and run the command that they name."""
    if _COMPLETION in os.environ:
        return _complete(words)
    verb = words[0] if words and words[0] in VERBS else None
    if verb in KINDS:
        words = arguments.with_files(words, _read)
    line = arguments.read(words, tree.read(build(verb)), ABSENT_FLAGS)
    if line.completes:
        return _complete(words)
    if line.helps or line.node.run is None:
        _help(line.node)
        return Exit.OK if line.helps or not line.node.path else Exit.USAGE
    try:
        return line.node.run(**bind(line))
    except _ParserError as error:
        raise line.error(error.format_message()) from None  # type: ignore[attr-defined]


def _complete(words: Sequence[str]) -> int:
    """What the shell asks for, or is told, to complete a line: the work of typer."""
    command = typer.main.get_command(build())
    return int(command.main([*words], prog_name="mlctl", standalone_mode=False) or 0)


def _help(node: tree.Node) -> None:
    """Help, in the shape of az's rather than the parser's."""
    from mlctl.cli.examples import examples
    from mlctl.cli.parser import help as page

    session = Session(Flags())
    shown = examples(node.path)
    session.out(page.text(node, shown, width=session.width, color=session.color(sys.stdout)))


def _read(path: str) -> str:
    return sys.stdin.read() if path == "-" else Path(path).expanduser().read_text(encoding="utf-8")


def _ended(error: Exception, words: Sequence[str]) -> Exit:
    """Say why a command ended, and with which code."""
    from mlctl.cli.az.update import UpdateError
    from mlctl.planfile import PlanFileError

    match error:
        case arguments.UsageError() | ScopeError():
            said, code = str(error), _usage(words)
        case PlanFileError(message=message, hint=hint):
            said, code = f"{message}\n{hint[:1].upper()}{hint[1:]}", Exit.ERROR
        case ServiceError():
            said = _refused(error)
            code = _absent(words) if isinstance(error, NotFound) else Exit.ERROR
        case OutputError() | UpdateError() | typer.Abort():
            said, code = str(error) or "Aborted.", Exit.ERROR
        case _:
            if "--debug" in words:
                traceback.print_exception(error)
            said, code = f"this is a bug in mlctl: {type(error).__name__}: {error}", Exit.BUG
            said += f"\nRun it again with --debug for the traceback, and report it: {_ISSUES}"
    return _fail(said, code)


def _refused(error: ServiceError) -> str:
    """The backend's words, and what to do."""
    from mlctl.render.advice import advice

    number = [f"request id: {error.request_id}"] if error.request_id else []
    told = advice(error)
    return "\n  ".join([str(error), *error.details, *number, *([f"hint: {told}"] if told else [])])


def _usage(words: Sequence[str]) -> Exit:
    """Usage errors are 2 as in az, but 1 where 2 means "changes"."""
    return Exit.ERROR if _plans(words) else Exit.USAGE


def _absent(words: Sequence[str]) -> Exit:
    """What is not there is 3 of the az-style verbs only: to the others it is an error."""
    return Exit.ERROR if _plans(words) else Exit.NOT_FOUND


def _plans(words: Sequence[str]) -> bool:
    values = {after for flag, after in pairwise(words) if flag in _BEFORE}
    verb = next((word for word in words if word in VERBS and word not in values), None)
    return verb in _PLAN_FAMILY


def _fail(message: str, code: Exit) -> Exit:
    sys.stderr.write(f"ERROR: {message}\n")
    return code
