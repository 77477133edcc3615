"""`wait`, the generic wait of az: it returns once a condition on a resource holds.

The conditions are those of azure-cli-core (`commands/arm.py`). Time is the backend's: the simulated
cloud advances its clock, Azure is polled after a pause.
"""

from __future__ import annotations

from typing import Any

from mlctl.backends.ports.backend import Live
from mlctl.cli.az.args import WaitArgs
from mlctl.cli.az.read import address_of, not_found, read_any
from mlctl.cli.shell import Exit, Session, UsageError
from mlctl.cli.shell.command import option, switch
from mlctl.cli.shell.output import compile_query
from mlctl.kinds import Address, Kind, Scope
from mlctl.kinds.values import state
from mlctl.render.cloud import resources
from mlctl.service_errors import TIMED_OUT, Permanent

_TIMEOUT = 3600.0  # seconds; az's default
_CONDITIONS = ("created", "updated", "deleted", "exists", "custom")
_PANEL = "Wait Condition Arguments"
FLAGS = (
    switch("created", panel=_PANEL),
    switch("updated", panel=_PANEL),
    switch("deleted", panel=_PANEL),
    switch("exists", panel=_PANEL),
    option("custom", metavar="JMESPATH", panel=_PANEL),
    option("interval", type_=int, metavar="SECONDS", panel=_PANEL, default=30),
)


def wait(session: Session, kind: Kind, args: WaitArgs) -> Exit:
    """Return once one of the conditions holds; poll every `interval` seconds, for `--timeout`."""
    conditions = (args.created, args.updated, args.deleted, args.exists, args.custom)
    if not any(conditions):
        flags = " | ".join(f"--{name}" for name in _CONDITIONS)
        raise UsageError(f"say what to wait for: {flags}")
    if args.interval < 1:
        raise UsageError("--interval takes at least 1 second.")
    custom = compile_query(args.custom, "--custom") if args.custom else None
    address, longest = address_of(kind, args), session.options.timeout or _TIMEOUT
    with session.backend() as backend:
        waited = 0.0
        while True:
            live = read_any(backend, address)
            expected = args.created or args.deleted or args.exists or args.custom
            if live is None and not expected:
                raise not_found(backend, address)
            if _is_reached(address, live, backend.scope, args, custom):
                return Exit.OK
            if waited >= longest:
                raise Permanent(TIMED_OUT, f"{address} was waited for {waited:.0f} seconds")
            step = min(args.interval, longest - waited)
            backend.wait(step)
            waited += step


def _is_reached(
    address: Address, live: Live | None, scope: Scope, args: WaitArgs, custom: Any
) -> bool:
    """Whether one of the conditions holds."""
    if live is None:
        return args.deleted
    if args.exists:
        return True
    if state(live.body) == "failed":
        raise Permanent("OperationFailed", f"the last operation on {address} failed")
    if state(live.body) == "succeeded" and (args.created or args.updated):
        return True
    return bool(custom and custom.search(resources.printed(live, scope)))
