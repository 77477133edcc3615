"""Arguments to an exit code: every way in which a command can end is translated here."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import cast

import typer

from mlctl.backends.base import BackendError, NotFound
from mlctl.cli.app import app
from mlctl.cli.exits import Exit
from mlctl.cli.scope import ScopeError
from mlctl.cli.streams import OutputError
from mlctl.planfile import PlanFileError

_PLAN_FAMILY = ("validate", "plan", "apply", "destroy", "drift")
# The base of what the parser raises, wherever typer keeps it.
_ParserError = cast("type[Exception]", typer.BadParameter.__mro__[2])
_ISSUES = "https://github.com/mlctl/mlctl/issues"


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Returns the exit code; nothing gets out, but a traceback is shown under --debug.
    """
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("Keyboard interrupt is captured.", Exit.ERROR)
    except Exception as error:  # noqa: BLE001  # the last place that can say what happened
        return _ended(error, arguments)
    return code


def _run(arguments: Sequence[str]) -> int:
    command = typer.main.get_command(app)
    return int(command.main(list(arguments), prog_name="mlctl", standalone_mode=False) or 0)


def _ended(error: Exception, arguments: Sequence[str]) -> Exit:
    """Say why a command ended, and with which code."""
    match error:
        case _ParserError():
            return _misused(error, arguments)
        case ScopeError():
            said, code = str(error), _usage(arguments)
        case PlanFileError(message=message, hint=hint):
            said, code = f"{message}\n{hint[:1].upper()}{hint[1:]}", Exit.ERROR
        case BackendError():
            asked = [f"request id: {error.request_id}"] if error.request_id else []
            said = "\n  ".join([str(error), *error.details, *asked])
            code = Exit.NOT_FOUND if isinstance(error, NotFound) else Exit.ERROR
        case OutputError() | typer.Abort():
            said, code = str(error) or "Aborted.", Exit.ERROR
        case _:
            if "--debug" in arguments:
                traceback.print_exception(error)
            said, code = f"this is a bug in mlctl: {type(error).__name__}: {error}", Exit.BUG
            said += f"\nRun it again with --debug for the traceback, and report it: {_ISSUES}"
    return _fail(said, code)


def _misused(error: Exception, arguments: Sequence[str]) -> Exit:
    """Say what is wrong with the arguments; a group without a command has shown its help."""
    context = getattr(error, "ctx", None)
    message = error.format_message()  # type: ignore[attr-defined]  # every parser error has it
    if not message:
        return Exit.USAGE if context and context.parent else Exit.OK
    where = f"\nTry: {context.command_path} --help" if context else ""
    return _fail(f"{message}{where}", _usage(arguments))


def _usage(arguments: Sequence[str]) -> Exit:
    """Usage errors are 2 as in az, but 1 where 2 means "changes"."""
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # it is a group
    verb = next((word for word in arguments if word in verbs), None)  # past `--backend NAME`
    return Exit.ERROR if verb in _PLAN_FAMILY else Exit.USAGE


def _fail(message: str, code: Exit) -> Exit:
    sys.stderr.write(f"ERROR: {message}\n")
    return code
