"""`mlctl local code on | off | show`: whether the simulated cloud runs the user's own code."""

from __future__ import annotations

from mlctl.cli.shell import Exit, InvalidValue, Session, flag
from mlctl.cli.shell.code import CodeArgs, key, python_of, read, write
from mlctl.cli.shell.output import Output, OutputFormat, Query, print_data
from mlctl.service_errors import Permanent


def on(
    session: Session,
    python: str | None = flag(
        "The Python with what the code imports; mlctl's own unless given.", metavar="EXE"
    ),
) -> Exit:
    """Run the code of jobs and of deployments that are invoked, as `--run-code` does once.

    It runs on this machine, with your rights. The setting is yours, for this state file: files of
    a repository cannot make it.
    """
    interpreter = python_of(session, CodeArgs(run_code=True, python=python))
    _write(session, interpreter if python is not None else "")
    return Exit.OK


def off(session: Session) -> Exit:
    """Run no code: endpoints answer with an echo, jobs with files that are made up."""
    _write(session, None)
    return Exit.OK


def show(session: Session, output: Output = OutputFormat.JSON, query: Query = None) -> Exit:
    """Show whether code is run for this state file, and by which Python."""
    state = key(session.environment)
    python = read(session.environment).get(state)
    data = {"state": state, "run_code": python is not None, "python": python or None}
    print_data(session, data, output, query)
    return Exit.OK


def _write(session: Session, python: str | None) -> None:
    if session.backend_name != "local":
        raise InvalidValue("only the simulated cloud runs code: use `--backend local`")
    try:
        write(session.environment, key(session.environment), python)
    except OSError as error:
        text = f"cannot write the setting to `{error.filename}`: {error.strerror}"
        raise Permanent("CannotWrite", text) from None
