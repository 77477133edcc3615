"""The tree of commands."""

from __future__ import annotations

import typer

from mlctl.cli import apply, explain, local, plan, resources, schemas, validate
from mlctl.cli.command import root

app = typer.Typer(
    name="mlctl",
    help="Declarative infrastructure as code for Azure Machine Learning: validate, plan and apply the YAML that"
    " `az ml` users already have, on Azure or on a simulated workspace of your own.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
root(app)
for module in (validate, plan, apply, explain):
    module.register(app)
app.add_typer(schemas.app, name="schema")
app.add_typer(local.app, name="local")
for group, name in resources.groups():
    app.add_typer(group, name=name)
