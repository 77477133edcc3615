"""The commands of `mlctl job`."""

from __future__ import annotations

import typer

from mlctl.cli.az import job_verify, jobs, stream, submit
from mlctl.cli.shell.command import command


def register(app: typer.Typer, verb: str) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Manage jobs.")
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
    app.add_typer(group, name=verb)
