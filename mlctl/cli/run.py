"""Arguments to an exit code: every way in which a command can end is translated here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from mlctl.backends.base import BackendError, NotFound
from mlctl.cli.app import app
from mlctl.cli.exits import Exit
from mlctl.cli.scope import ScopeError
from mlctl.planfile import PlanFileError

_PLAN_FAMILY = ("validate", "plan", "apply", "destroy", "drift")
_ClickException = typer.BadParameter.__mro__[2]  # the base of what the parser raises, wherever typer keeps it
_ISSUES = "https://github.com/mlctl/mlctl/issues"


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Returns the exit code; nothing but SystemExit from the parser's own `--help` gets out.
    """
    debug = "--debug" in arguments
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has had enough
        return Exit.OK
    except KeyboardInterrupt:
        return _fail("Keyboard interrupt is captured.", Exit.ERROR)
    except Exception as error:
        if debug:
            raise
        return _fail(
            f"this is a bug in mlctl: {type(error).__name__}: {error}\n"
            f"Run it again with --debug for the traceback, and report it: {_ISSUES}",
            Exit.BUG,
        )
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        return int(typer.main.get_command(app).main(list(arguments), prog_name="mlctl", standalone_mode=False) or 0)
    except ScopeError as error:
        return _fail(str(error), _usage(arguments))
    except PlanFileError as error:
        return _fail(str(error), Exit.ERROR)
    except NotFound as error:
        return _fail(str(error), Exit.NOT_FOUND)
    except BackendError as error:
        details = "".join(f"\n  {detail}" for detail in error.details)
        asked = f"\n  request id: {error.request_id}" if error.request_id else ""
        return _fail(f"{error}{details}{asked}", Exit.ERROR)
    except _ClickException as error:
        context = getattr(error, "ctx", None)
        where = f"\nTry: {context.command_path} --help" if context else ""
        return _fail(f"{error.format_message()}{where}", _usage(arguments))  # type: ignore[attr-defined]
    except typer.Abort:
        return _fail("Aborted.", Exit.ERROR)


def _usage(arguments: Sequence[str]) -> Exit:
    """Usage errors are 2 as in az, but 1 where 2 means "changes"."""
    verb = next((word for word in arguments if not word.startswith("-")), "")
    return Exit.ERROR if verb in _PLAN_FAMILY else Exit.USAGE


def _fail(message: str, code: Exit) -> int:
    sys.stderr.write(f"ERROR: {message}\n")
    return code
