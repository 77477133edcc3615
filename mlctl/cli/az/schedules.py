"""`mlctl schedule trigger`: a job of a schedule out of turn."""

from __future__ import annotations

from typing import Annotated

from mlctl.backends.ports.backend import SupportsSchedules
from mlctl.cli.az.args import PolicyArgs
from mlctl.cli.shell import Session, flag
from mlctl.cli.shell.command import Commands
from mlctl.cli.shell.output import OutputArgs, print_data
from mlctl.kinds.address import Address
from mlctl.service_errors import Permanent


def trigger(
    session: Session,
    name: Annotated[str, flag("--name", "-n", metavar="NAME")],
    _policy: PolicyArgs,
    printing: OutputArgs,
) -> None:
    """Start a job of a schedule now, regardless of its next time."""
    with session.backend() as backend:
        if not isinstance(backend, SupportsSchedules):
            text = f"the {backend.name} backend cannot start jobs of schedules"
            raise Permanent("NotSupported", text)
        job = backend.trigger(Address("schedule", name))
    print_data(session, {"job_name": job}, printing.output, printing.query)


COMMANDS: Commands = {"trigger": trigger}
