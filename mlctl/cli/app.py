"""The tree of commands."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import typer

from mlctl.cli.shell.command import add_global_flags
from mlctl.kinds import KINDS

# The modules whose `register(app, verb)` adds a verb, in the order of help; a run imports one.
AZ_VERBS = "mlctl.cli.az.commands"  # those of the kinds
VERBS: Mapping[str, str] = {
    "init": "mlctl.cli.files.init",
    "validate": "mlctl.cli.files.validate",
    "fmt": "mlctl.cli.files.fmt",
    "graph": "mlctl.cli.files.graph",
    "render": "mlctl.cli.files.render",
    "test": "mlctl.cli.files.test",
    "plan": "mlctl.cli.change.plan",
    "apply": "mlctl.cli.change.apply",
    "destroy": "mlctl.cli.change.apply",
    "lock": "mlctl.cli.change.lock",
    "drift": "mlctl.cli.change.drift",
    "export": "mlctl.cli.change.export",
    "import": "mlctl.cli.change.importing",
    "pull": "mlctl.cli.change.pull",
    "simulate": "mlctl.cli.forecast.simulate",
    "advise": "mlctl.cli.advise.command",
    **dict.fromkeys(KINDS, AZ_VERBS),
    "job": "mlctl.cli.az.job_commands",
    "workspace": "mlctl.cli.az.workspaces",
    "rehearse": "mlctl.cli.rehearse.command",
    "convert": "mlctl.cli.files.convert",
    "explain": "mlctl.cli.files.explain",
    "doctor": "mlctl.cli.shell.doctor",
    "schema": "mlctl.cli.files.schemas",
    "local": "mlctl.cli.local.commands",
    "emulator": "mlctl.cli.emulator.command",
    "configure": "mlctl.cli.shell.configure",
    "az-shim": "mlctl.cli.az.shim",
}


def build(verb: str | None = None) -> typer.Typer:
    """All commands, or only the branch of `verb`: a run imports no more than it needs."""
    app = typer.Typer(
        name="mlctl",
        help="Declarative infrastructure as code for Azure Machine Learning: validate, plan and"
        " apply the YAML that `az ml` users already have, on Azure or on a simulated workspace of"
        " your own.",
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    add_global_flags(app)
    for name in [verb] if verb in VERBS else VERBS:
        import_module(VERBS[str(name)]).register(app, name)
    return app
