"""The commands of `mlctl local`."""

from __future__ import annotations

from mlctl.cli.local import capacity, cloud, faults, preemption, settings
from mlctl.cli.parser.declare import CommandGroup
from mlctl.cli.shell.command import command


def register(app: CommandGroup, verb: str) -> None:
    """Add the group of commands."""
    group = CommandGroup(help="The simulated cloud: its clock, quotas and faults.")
    cloud.register(group)
    settings.register(group)
    preemption.register(group)
    capacity.register(group)
    faults.register(group)
    command(group, "usage")(cloud.usage)
    app.groups[verb] = group
