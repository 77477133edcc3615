"""Run a command line; every error becomes a message and an exit code here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import files, masking
from mlctl.cli.app import AZ_VERBS, VERBS, build
from mlctl.cli.parser import arguments
from mlctl.cli.parser.tree import INSTALL_COMPLETION
from mlctl.cli.shell import Exit, Session, streams
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.cli.shell.streams import OutputError

if TYPE_CHECKING:
    from mlctl.backends.ports.lease import LeaseHeld
    from mlctl.service_errors import ServiceError

_PLAN_FAMILY = (
    "init",
    "validate",
    "fmt",
    "render",
    "test",
    "plan",
    "apply",
    "destroy",
    "drift",
    "lock",
    "export",
    "import",
    "pull",
    "simulate",
    "advise",
    "rehearse",
    "finish",
)
# Flags with a value that may precede the verb.
_BEFORE = (
    "--backend",
    "--subscription",
    "--resource-group",
    "-g",
    "--workspace-name",
    "-w",
    "--env",
    "--var",
    "--var-file",
    "--auth",
    "--cloud",
    "--timeout",
)
_SWITCHES_BEFORE = ("--only-show-errors", "--verbose", "--debug")
_AZ = "az"  # marks calls by the executable of `mlctl az-shim`
_COMPLETION = "_MLCTL_COMPLETE"  # the variable with which a shell completes a line
_MAX_ARGUMENTS = 8 << 20  # bytes of an `@FILE`
_ISSUES = "https://github.com/mlctl/mlctl/issues"


def run(args: Sequence[str]) -> int:
    """Run a command line, and return the exit code.

    No exception leaves, but a traceback is shown under --debug.
    """
    masking.hidden.clear()
    try:
        code = _run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("Keyboard interrupt is captured.", Exit.ERROR)
    except Exception as error:  # noqa: BLE001  # the last place that can say what happened
        return _explain(error, args)
    return code


def _run(args: Sequence[str]) -> int:
    """Read the arguments as az does, and run the command that they name."""
    if _COMPLETION in os.environ:
        return _complete()
    if args and args[0] == _AZ:
        from mlctl.cli.az import stand_in

        return stand_in.run(args[1:], _run)
    verb = _verb(args)
    if verb and VERBS[verb] == AZ_VERBS:
        args = arguments.expand_files(args, _read)
    line = arguments.read(args, build(verb), _absent_flags(verb))
    if line.wants_completion:
        return _offer_completion(line)
    if not args:
        from mlctl.cli.shell.next_step import next_step

        sys.stdout.write(next_step(Session(GlobalArgs())) + "\n")
        return Exit.OK
    if line.wants_help or line.command.run is None:
        from mlctl.cli.parser import help as page
        from mlctl.cli.parser.help import examples

        session = Session(GlobalArgs())
        lines = examples(line.command.path)
        session.out(
            page.text(line.command, lines, width=session.width, color=session.color(sys.stdout))
        )
        return Exit.OK if line.wants_help or not line.command.path else Exit.USAGE
    return _run_command(line, args)


def _run_command(line: arguments.CommandLine, args: Sequence[str]) -> int:
    """Run a command with the values of its line, once or in several environments."""
    values = arguments.bind(line)
    if values.get("env") or os.environ.get("MLCTL_ENV"):
        from mlctl.cli.shell import environments

        names = environments.several(values, os.environ)
        if names:
            return environments.run_in_each(args, names, values)
    run = line.command.run
    assert run is not None  # a group has no values
    try:
        if values.get("query") is not None:
            from mlctl.cli.shell.output import compile_query

            compile_query(values["query"])  # before anything is written
        if not sys.stderr.isatty():
            return run(**values)
        from mlctl.cli.shell.streams import show_reading

        with show_reading(sys.stderr):
            return run(**values)
    except arguments.InvalidValue as error:
        raise arguments.usage_error(str(error), line.command) from None


def _absent_flags(verb: str | None) -> Mapping[str, str]:
    """Return why flags and commands of az are missing; mlctl's own commands have none."""
    if verb in _PLAN_FAMILY:
        return {}
    from mlctl.cli.az.compatibility import compatibility

    return compatibility().absent


def _complete() -> int:
    """Answer the shell that completes a line."""
    from mlctl.cli.parser.completion import answer, typed_words

    verb = next((word for word in typed_words(os.environ)[:-1] if word in VERBS), None)
    text, has_words = answer(build(verb), os.environ)
    if text:
        sys.stdout.write(f"{text}\n")
    return Exit.OK if has_words else Exit.ERROR


def _offer_completion(line: arguments.CommandLine) -> int:
    """Print or install the script by which the user's shell completes lines."""
    from mlctl.cli.parser.completion import install, script

    shell = Path(os.environ.get("SHELL", "")).name
    if INSTALL_COMPLETION not in [flag.option for flag in line.flags]:
        sys.stdout.write(script(shell))
        return Exit.OK
    path = install(shell, Path.home())
    sys.stdout.write(
        f"{shell} completion installed in {path}\n"
        "Completion will take effect once you restart the terminal\n"
    )
    return Exit.OK


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read(_MAX_ARGUMENTS)
    return files.read(files.expanded(Path(path)), _MAX_ARGUMENTS, pipes=True).decode()


def _explain(error: Exception, args: Sequence[str]) -> Exit:
    """Print why a command ended; return the exit code."""
    from mlctl.backends.ports.lease import LeaseHeld
    from mlctl.cli.az.update import UpdateError
    from mlctl.cli.shell.scope import ScopeError
    from mlctl.planfile import PlanFileError
    from mlctl.project.file import ProjectError, SeveralProjects, UnknownEnvironment
    from mlctl.service_errors import NotFound, ServiceError

    # In az-style verbs 2 and 3 as in az; in the plan family 2 means "changes".
    usage, missing = (Exit.ERROR,) * 2 if _is_plan_family(args) else (Exit.USAGE, Exit.NOT_FOUND)
    match error:
        case arguments.UsageError() | ScopeError() | UnknownEnvironment() | SeveralProjects():
            message, code = str(error), usage
        case ProjectError(report=report, file=file):
            Session(GlobalArgs()).show(report)
            first = next((finding.primary for finding in report if finding.primary), None)
            name = first.span.source.name if first else file
            message, code = f"{name} cannot be used as it is", usage
        case PlanFileError(message=what, hint=hint):
            message, code = f"{what}\n{hint[:1].upper()}{hint[1:]}", Exit.ERROR
        case LeaseHeld():
            message, code = _held_message(error), Exit.LOCKED
        case ServiceError():
            message = _backend_message(error)
            code = missing if isinstance(error, NotFound) else Exit.ERROR
        case OutputError() | UpdateError():
            message, code = str(error), Exit.ERROR
        case _:
            if "--debug" in args:
                import traceback

                streams.say("".join(traceback.format_exception(error)))
            message, code = f"this is a bug in mlctl: {type(error).__name__}: {error}", Exit.BUG
            message += f"\nRun it again with --debug for the traceback, and report it: {_ISSUES}"
    return _fail(message, code)


def _backend_message(error: ServiceError) -> str:
    """Return the backend's message, and what to do about it."""
    from mlctl.render.cloud.advice import advice

    number = [f"request id: {error.request_id}"] if error.request_id else []
    hint = advice(error)
    advised = [f"hint: {hint}"] if hint else []
    lines = [*map(str, error.properties), *error.details, *number, *advised]
    return "\n  ".join([str(error), *lines])


def _held_message(error: LeaseHeld) -> str:
    """Say who holds the lease, and what to do about it."""
    from mlctl.backends.ports.lease import FINISH
    from mlctl.render.apply.leases import facts

    project = error.lease.project
    advice = (
        f"hint: `mlctl finish show {project.removeprefix(FINISH)}` says how far it is; if that"
        f" process is dead, `mlctl lock break --project {project}` frees it at once"
        if project.startswith(FINISH)
        else "hint: wait for it with --lock-timeout 10m; `mlctl lock show` lists it, and"
        " `mlctl lock break` ends one that is stuck"
    )
    return "\n  ".join([error.message, *facts(error.lease), advice])


def _verb(args: Sequence[str]) -> str | None:
    """Return the verb after flags that may precede it; None if uncertain."""
    words = iter(args)
    for word in words:
        if word in _BEFORE:
            next(words, None)
        elif word not in _SWITCHES_BEFORE and "=" not in word:
            return word if word in VERBS else None
    return None


def _is_plan_family(args: Sequence[str]) -> bool:
    """Whether the verb is of the plan family; the value of an earlier flag is not a verb."""
    values = {flag_values for flag, flag_values in pairwise(args) if flag in _BEFORE}
    verb = next((arg for arg in args if arg in VERBS and arg not in values), None)
    return verb in _PLAN_FAMILY


def _fail(message: str, code: Exit) -> Exit:
    streams.say(f"ERROR: {message}")
    return code
