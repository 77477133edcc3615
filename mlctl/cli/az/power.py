"""`mlctl compute start | stop | restart`, of compute instances."""

from __future__ import annotations

from typing import Annotated

from mlctl.backends.ports.backend import SupportsPower
from mlctl.cli.az.common_flags import PolicyArgs
from mlctl.cli.az.read import read_any
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.command import Commands
from mlctl.kinds.address import Address
from mlctl.service_errors import NotFound, Permanent

_Name = Annotated[str, flag("Name of the compute instance.", "--name", "-n", metavar="NAME")]
_NoWait = Annotated[bool, flag("Return once it is accepted.", "--no-wait", default=False)]


def start(session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs) -> Exit:
    """Start a compute instance."""
    return _run(session, name, "start", wait=not no_wait)


def stop(session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs) -> Exit:
    """Stop a compute instance: its disk stays."""
    return _run(session, name, "stop", wait=not no_wait)


def restart(
    session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs
) -> Exit:
    """Restart a compute instance."""
    return _run(session, name, "restart", wait=not no_wait)


def _run(session: Session, name: str, action: str, *, wait: bool) -> Exit:
    with session.backend() as backend:
        if not isinstance(backend, SupportsPower):
            text = f"the {backend.name} backend has no compute instances"
            raise Permanent("NoInstances", text)
        try:
            operation = backend.power(Address("compute-instance", name), action)
        except NotFound:
            if read_any(backend, Address("compute", name)) is not None:
                text = f"{name} is a cluster, which scales by itself: there is nothing to {action}"
                raise Permanent("NotAnInstance", text) from None
            raise
        if wait:
            operation.wait()
    return Exit.OK


COMMANDS: Commands = {"start": start, "stop": stop, "restart": restart}
