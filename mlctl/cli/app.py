"""The tree of commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import typer

from mlctl.cli.parser.command import Group, command, root
from mlctl.kinds import KINDS


def build(verb: str | None = None) -> typer.Typer:
    """All commands, or only the branch of `verb`: a run imports no more than it needs."""
    app = typer.Typer(
        name="mlctl",
        cls=Group,
        help="Declarative infrastructure as code for Azure Machine Learning: validate, plan and"
        " apply the YAML that `az ml` users already have, on Azure or on a simulated workspace of"
        " your own.",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    root(app)
    for name in [verb] if verb in VERBS else VERBS:
        VERBS[str(name)](app)
    return app


def _validate(app: typer.Typer) -> None:
    from mlctl.cli import validate

    validate.register(app)


def _plan(app: typer.Typer) -> None:
    from mlctl.cli import plan

    plan.register(app)


def _apply(app: typer.Typer) -> None:
    from mlctl.cli import apply

    command(app, "apply")(apply.apply)


def _destroy(app: typer.Typer) -> None:
    from mlctl.cli import apply

    command(app, "destroy")(apply.destroy)


def _convert(app: typer.Typer) -> None:
    from mlctl.cli.local import convert

    convert.register(app)


def _explain(app: typer.Typer) -> None:
    from mlctl.cli import explain

    explain.register(app)


def _doctor(app: typer.Typer) -> None:
    from mlctl.cli import doctor

    doctor.register(app)


def _schema(app: typer.Typer) -> None:
    from mlctl.cli import schemas

    app.add_typer(schemas.app, name="schema")


def _emulator(app: typer.Typer) -> None:
    from mlctl.cli.local import emulator

    app.add_typer(emulator.app, name="emulator")


def _configure(app: typer.Typer) -> None:
    from mlctl.cli import configure

    configure.register(app)


def _az_shim(app: typer.Typer) -> None:
    from mlctl.cli.az import shim

    shim.register(app)


def _kind(app: typer.Typer, name: str) -> None:
    from mlctl.cli.az import commands

    app.add_typer(commands.group(name), name=name)


def _local(app: typer.Typer) -> None:
    app.add_typer(_local_commands(), name="local")


def _jobs(app: typer.Typer) -> None:
    app.add_typer(_job_commands(), name="job")


@cache
def _local_commands() -> typer.Typer:
    """The commands of the simulated cloud, put together once."""
    from mlctl.cli import metrics
    from mlctl.cli.local import cloud, faults, preemption, settings

    settings.register(cloud.app)
    preemption.register(cloud.app)
    faults.register(cloud.app)
    metrics.register_local(cloud.app)
    return cloud.app


@cache
def _job_commands() -> typer.Typer:
    """The commands of jobs, put together once."""
    from mlctl.cli.az import jobs, stream, submit

    submit.register(jobs.app)
    command(jobs.app, "stream")(stream.stream)
    return jobs.app


# What registers each verb, in the order of help: a run imports the one that it needs.
VERBS: Mapping[str, Callable[[typer.Typer], None]] = {
    "validate": _validate,
    "plan": _plan,
    "apply": _apply,
    "destroy": _destroy,
    **{name: partial(_kind, name=name) for name in KINDS},
    "job": _jobs,
    "convert": _convert,
    "explain": _explain,
    "doctor": _doctor,
    "schema": _schema,
    "local": _local,
    "emulator": _emulator,
    "configure": _configure,
    "az-shim": _az_shim,
}
