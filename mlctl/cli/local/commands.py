"""The commands of `mlctl local`."""

from __future__ import annotations

import typer

from mlctl.cli.local import capacity, cloud, faults, preemption, settings
from mlctl.cli.shell.command import command


def register(app: typer.Typer, verb: str) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="The simulated cloud: its clock, quotas and faults.")
    cloud.register(group)
    settings.register(group)
    preemption.register(group)
    capacity.register(group)
    faults.register(group)
    command(group, "usage")(cloud.usage)
    app.add_typer(group, name=verb)
