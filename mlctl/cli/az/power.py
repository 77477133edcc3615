"""`mlctl compute start | stop | restart`, of compute instances."""

from __future__ import annotations

from typing import Annotated

from mlctl.backends.ports.backend import SupportsPower
from mlctl.cli.az.args import PolicyArgs
from mlctl.cli.az.read import read_live
from mlctl.cli.shell import Session, flag
from mlctl.cli.shell.command import Commands
from mlctl.cli.shell.workflow import settle_s
from mlctl.kinds import Address, kind_of
from mlctl.service_errors import Permanent
from mlctl.workflow.model import wait_until_settled

_Name = Annotated[str, flag("--name", "-n", metavar="NAME")]
_NoWait = Annotated[bool, flag("--no-wait", default=False)]


def start(session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs) -> None:
    """Start a compute instance."""
    _run(session, name, "start", wait=not no_wait)


def stop(session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs) -> None:
    """Stop a compute instance; its disk is kept."""
    _run(session, name, "stop", wait=not no_wait)


def restart(
    session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs
) -> None:
    """Restart a compute instance."""
    _run(session, name, "restart", wait=not no_wait)


def _run(session: Session, name: str, action: str, *, wait: bool) -> None:
    with session.backend() as backend:
        if not isinstance(backend, SupportsPower):
            text = f"the {backend.name} backend has no compute instances"
            raise Permanent("NoInstances", text)
        live = read_live(backend, Address("compute", name))
        if not kind_of(live.address).arm.within:
            text = f"{name} is a cluster, which scales by itself: there is nothing to {action}"
            raise Permanent("NotAnInstance", text)
        # A script starts what it has stopped without waiting.
        wait_until_settled(
            backend, {live.address: live}, timeout=settle_s(session), note=session.note
        )
        operation = backend.power(live.address, action)
        if wait:
            operation.wait()


COMMANDS: Commands = {"start": start, "stop": stop, "restart": restart}
