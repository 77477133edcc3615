"""The tree of commands."""

from __future__ import annotations

from functools import cache

import typer

from mlctl.cli.parser.command import Group, command, root

AZ_KINDS = ("compute", "batch-endpoint", "batch-deployment", "model", "environment")
KINDS = (*AZ_KINDS, "batch-pool")
VERBS = (
    "validate",
    "plan",
    "apply",
    "destroy",
    *KINDS,
    "job",
    "convert",
    "explain",
    "doctor",
    "schema",
    "local",
    "emulator",
    "configure",
    "az-shim",
)


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
        _register(app, str(name))
    return app


def _register(app: typer.Typer, verb: str) -> None:  # noqa: PLR0912  # a list of commands
    match verb:
        case "validate":
            from mlctl.cli import validate

            validate.register(app)
        case "plan":
            from mlctl.cli import plan

            plan.register(app)
        case "apply":
            from mlctl.cli import apply

            command(app, verb)(apply.apply)
        case "destroy":
            from mlctl.cli import apply

            command(app, verb)(apply.destroy)
        case "convert":
            from mlctl.cli.local import convert

            convert.register(app)
        case "job":
            app.add_typer(_jobs(), name=verb)
        case "explain":
            from mlctl.cli import explain

            explain.register(app)
        case "doctor":
            from mlctl.cli import doctor

            doctor.register(app)
        case "schema":
            from mlctl.cli import schemas

            app.add_typer(schemas.app, name=verb)
        case "local":
            app.add_typer(_local(), name=verb)
        case "emulator":
            from mlctl.cli.local import emulator

            app.add_typer(emulator.app, name=verb)
        case "configure":
            from mlctl.cli import configure

            configure.register(app)
        case "az-shim":
            from mlctl.cli.az import shim

            shim.register(app)
        case kind:
            from mlctl.cli.az import commands

            app.add_typer(commands.group(kind), name=kind)


@cache
def _local() -> typer.Typer:
    """The commands of the simulated cloud, put together once."""
    from mlctl.cli import metrics
    from mlctl.cli.local import cloud, faults, preemption, settings

    settings.register(cloud.app)
    preemption.register(cloud.app)
    faults.register(cloud.app)
    metrics.register_local(cloud.app)
    return cloud.app


@cache
def _jobs() -> typer.Typer:
    """The commands of jobs, put together once."""
    from mlctl.cli.az import jobs, stream, submit

    submit.register(jobs.app)
    command(jobs.app, "stream")(stream.stream)
    return jobs.app
