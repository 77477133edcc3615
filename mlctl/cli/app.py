"""The tree of commands."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import typer

from mlctl.cli.parser.command import add_global_flags
from mlctl.kinds import KINDS

# The modules whose `register(app, verb)` adds a verb, in the order of help; a run imports one.
VERBS: Mapping[str, str] = {
    "init": "mlctl.cli.init",
    "validate": "mlctl.cli.validate",
    "fmt": "mlctl.cli.fmt",
    "graph": "mlctl.cli.graph",
    "render": "mlctl.cli.render",
    "test": "mlctl.cli.test",
    "plan": "mlctl.cli.plan",
    "apply": "mlctl.cli.apply",
    "destroy": "mlctl.cli.apply",
    "lock": "mlctl.cli.lock",
    "drift": "mlctl.cli.drift",
    "export": "mlctl.cli.export",
    "import": "mlctl.cli.importing",
    "pull": "mlctl.cli.pull",
    "simulate": "mlctl.cli.simulate",
    "advise": "mlctl.cli.advise",
    **dict.fromkeys(KINDS, "mlctl.cli.az.commands"),
    "job": "mlctl.cli.az.job_commands",
    "workspace": "mlctl.cli.az.workspaces",
    "rehearse": "mlctl.cli.rehearse",
    "convert": "mlctl.cli.convert",
    "explain": "mlctl.cli.explain",
    "doctor": "mlctl.cli.doctor",
    "schema": "mlctl.cli.schemas",
    "local": "mlctl.cli.local.commands",
    "emulator": "mlctl.cli.emulator",
    "configure": "mlctl.cli.configure",
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
