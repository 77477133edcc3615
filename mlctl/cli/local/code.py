"""`mlctl local code on | off | show`: whether the simulated cloud runs the user's own code."""

from __future__ import annotations

from mlctl.cli.shell import InvalidValue, Session, flag
from mlctl.cli.shell.code import CodeArgs, key, python_of, read, write
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.service_errors import Permanent


def on(
    session: Session,
    python: str | None = flag(metavar="EXE"),
) -> None:
    """Run the code of jobs and of invoked deployments, as `--run-code` does for one command.

    The code runs on this machine with your permissions. The setting applies to this state file;
    files in a repository cannot turn it on.
    """
    interpreter = python_of(session, CodeArgs(run_code=True, python=python))
    _write(session, interpreter if python is not None else "")


def off(session: Session) -> None:
    """Do not run code: endpoints answer with an echo, and jobs produce placeholder files."""
    _write(session, None)


def show(session: Session, output: Output = "json", query: Query = None) -> None:
    """Show whether this state file runs code, and with which Python."""
    state = key(session.environment)
    python = read(session.environment).get(state)
    data = {"state": state, "run_code": python is not None, "python": python or None}
    print_data(session, data, output, query)


def _write(session: Session, python: str | None) -> None:
    if session.backend_name != "local":
        raise InvalidValue("only the simulated cloud runs code: use `--backend local`")
    try:
        write(session.environment, key(session.environment), python)
    except OSError as error:
        text = f"cannot write the setting to `{error.filename}`: {error.strerror}"
        raise Permanent("CannotWrite", text) from None
