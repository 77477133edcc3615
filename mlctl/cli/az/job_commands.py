"""The commands of `mlctl job`."""

from __future__ import annotations

from mlctl.cli.az import job_verify, jobs, stream, submit
from mlctl.cli.parser.declare import CommandGroup
from mlctl.cli.shell.command import command


def register(app: CommandGroup, verb: str) -> None:
    """Add the group of commands."""
    group = CommandGroup(help="Manage jobs.")
    command(group, "show")(jobs.show)
    command(group, "list")(jobs.list_)
    command(group, "wait")(jobs.wait)
    command(group, "download")(jobs.download)
    command(group, "metrics")(jobs.metrics)
    command(group, "cancel")(jobs.cancel)
    command(group, "archive")(jobs.archive)
    command(group, "restore")(jobs.restore)
    command(group, "create")(submit.create)
    command(group, "stream")(stream.stream)
    command(group, "verify")(job_verify.verify)
    app.groups[verb] = group
