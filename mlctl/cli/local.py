"""`mlctl local`: the strings of the simulated cloud: its clock, quotas and faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer

from mlctl import catalog
from mlctl.backends.base import Permanent
from mlctl.backends.local import LocalBackend
from mlctl.catalog.limits import EVERYWHERE
from mlctl.cli.command import command
from mlctl.cli.exits import Exit
from mlctl.cli.output import Output, OutputFormat, Query, print_data
from mlctl.cli.session import Session
from mlctl.cloud.faults import ANY, Fault, Trouble
from mlctl.kinds.codec import seconds as iso_seconds
from mlctl.pointer import Data
from mlctl.schema.words import nearest

app = typer.Typer(help="The simulated cloud: its clock, quotas and faults.", no_args_is_help=True)
_quota = typer.Typer(help="Core quotas of a region.", no_args_is_help=True)
_fault = typer.Typer(
    help="Faults: make calls fail, be throttled, take long or lose their answer.",
    no_args_is_help=True,
)
app.add_typer(_quota, name="quota")
app.add_typer(_fault, name="fault")

Location = Annotated[
    str | None,
    typer.Option(
        "--location", "-l", metavar="REGION", help="The region; the workspace's unless given."
    ),
]


@contextmanager
def opened(session: Session) -> Iterator[LocalBackend]:
    """The local backend.

    Raises:
        Permanent: another backend was asked for.
    """
    with session.backend() as backend:
        if not isinstance(backend, LocalBackend):
            raise Permanent(
                "NotLocal",
                f"`mlctl local` works on the simulated cloud, not on the {backend.name} backend",
            )
        yield backend


def duration(text: str) -> float:
    """Seconds of `90`, `90s`, `1h30m`, `30d` or an ISO 8601 duration.

    Raises:
        typer.BadParameter: it is none of these.
    """
    units = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)([dhms])", text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * units[unit] for number, unit in parts)
    try:
        return iso_seconds(text)
    except ValueError:
        raise typer.BadParameter(
            f"`{text}` is no duration; write 90s, 15m, 1h30m, 30d or PT90S"
        ) from None


def status(session: Session, output: Output = OutputFormat.JSON, query: Query = None) -> Exit:
    """Show the clock, the workspaces, what is running and the faults."""
    with opened(session) as local:
        now = local.status()
        data: Data = {
            "state": str(now.path),
            "time": now.moment,
            "seed": now.seed,
            "workspaces": [
                {
                    "subscription": one.scope.subscription,
                    "resource_group": one.scope.resource_group,
                    "workspace": one.scope.workspace,
                    "location": one.location,
                    "resources": dict(one.counts),
                }
                for one in now.workspaces
            ],
            "running": len(now.pending),
            "faults": [_fault_data(one.number, one.fault, one.seen) for one in now.faults],
        }
        print_data(session, data, output, query)
    return Exit.OK


def advance(
    session: Session,
    time: Annotated[str, typer.Argument(metavar="DURATION", help="90s, 15m, 1h30m, 30d or PT90S.")],
    output: Output = OutputFormat.NONE,
    query: Query = None,
) -> Exit:
    """Let virtual time pass; nothing sleeps."""
    length = duration(time)
    with opened(session) as local:
        local.advance(length)
        moment = local.status().moment
        session.note(f"it is {moment} now")
        print_data(session, {"time": moment}, output, query)
    return Exit.OK


def reset(
    session: Session,
    seed: Annotated[
        int, typer.Option("--seed", help="What all chance in the new cloud comes from.")
    ] = 0,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> Exit:
    """Make the cloud new: no workspace, the clock at its start, quotas and faults as at first."""
    with opened(session) as local:
        if not yes and not session.confirmed("Delete every workspace of the simulated cloud?"):
            return Exit.ERROR
        local.reset(seed)
    return Exit.OK


def quota_set(
    session: Session,
    low_priority_cores: Annotated[
        int | None, typer.Option(min=0, help="Low-priority cores, all families.")
    ] = None,
    dedicated_cores: Annotated[
        int | None, typer.Option(min=0, help="Dedicated cores, all families.")
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(metavar="FAMILY=N", help="Dedicated cores of a VM family (repeatable)."),
    ] = None,
    computes: Annotated[int | None, typer.Option(min=0, help="How many computes.")] = None,
    pools: Annotated[int | None, typer.Option(min=0, help="How many Batch Pools.")] = None,
    vms_per_pool: Annotated[
        int | None, typer.Option(min=0, help="How many VMs in each Batch Pool.")
    ] = None,
    location: Location = None,
) -> Exit:
    """Set the quotas of the subscription in a region, and the limits of its Batch Pool account."""
    families = dict(_family(one) for one in family or [])
    numbers = (low_priority_cores, dedicated_cores, computes, pools, vms_per_pool)
    if not families and all(one is None for one in numbers):
        raise typer.BadParameter(
            "say which quota: --low-priority-cores, --dedicated-cores, --family, --computes,"
            " --pools or --vms-per-pool"
        )
    with opened(session) as local:
        local.set_quota(
            location,
            low_priority=low_priority_cores,
            dedicated=dedicated_cores,
            families=families,
            computes=computes,
        )
        local.set_pool_limits(pools=pools, vms=vms_per_pool)
    return Exit.OK


def quota_list(
    session: Session,
    location: Location = None,
    output: Output = OutputFormat.TABLE,
    query: Query = None,
) -> Exit:
    """List the quotas of a region: those in use or set, and those that people run into."""
    with opened(session) as local:
        data = [
            {"quota": one.name, "used": one.used, "limit": one.limit}
            for one in (*local.pools(location), *local.pools(EVERYWHERE))
            if one.used or one.is_set or not one.name.startswith("standard")
        ]
        print_data(session, data, output, query)
    return Exit.OK


class OperationVerb(StrEnum):
    """The calls that a fault can strike."""

    ANY = ANY
    PUT = "put"
    GET = "get"
    LIST = "list"
    DELETE = "delete"


class TroubleName(StrEnum):
    """What happens to the call."""

    FAIL = "fail"
    THROTTLE = "throttle"
    DELAY = "delay"
    DROP = "drop"
    FAIL_OPERATION = "fail-operation"
    IGNORE = "ignore"


def fault_add(
    session: Session,
    trouble: Annotated[TroubleName, typer.Argument(help="What happens to the call.")],
    operation: Annotated[
        OperationVerb, typer.Option("--operation", help="Which calls.")
    ] = OperationVerb.ANY,
    target: Annotated[
        str,
        typer.Option(
            "--target", metavar="ADDRESS", help="Calls about this resource; * and ? match any."
        ),
    ] = "*",
    nth: Annotated[int, typer.Option("--nth", min=1, help="The first call that it strikes.")] = 1,
    times: Annotated[
        int, typer.Option("--times", min=0, help="How many calls in a row; 0 for all to come.")
    ] = 1,
    every: Annotated[bool, typer.Option("--every", help="Strike each n-th call instead.")] = False,
    seconds: Annotated[
        str, typer.Option("--seconds", metavar="DURATION", help="The delay, or the Retry-After.")
    ] = "1",
    code: Annotated[str, typer.Option("--code", help="The service's error code.")] = "",
    status: Annotated[int, typer.Option("--status", min=0, max=599, help="The HTTP status.")] = 0,
    message: Annotated[str, typer.Option("--message", help="The service's error message.")] = "",
) -> Exit:
    """Make calls to come go wrong.

    fail and throttle refuse them, delay makes them long, drop loses the answer of what was done,
    fail-operation accepts them and fails later, ignore does not apply a changed create-only field.
    """
    wanted = Fault(
        Trouble(trouble.value),
        operation.value,
        target,
        nth,
        times or None,
        every,
        duration(seconds),
        code,
        status,
        message,
    )
    with opened(session) as local:
        session.out(str(local.add_fault(wanted)))
    return Exit.OK


def fault_list(session: Session, output: Output = OutputFormat.TABLE, query: Query = None) -> Exit:
    """List the faults, and how many calls each has seen."""
    with opened(session) as local:
        data = [_fault_data(one.number, one.fault, one.seen) for one in local.faults()]
        print_data(session, data, output, query)
    return Exit.OK


def fault_clear(session: Session) -> Exit:
    """Remove all faults."""
    with opened(session) as local:
        session.note(f"{local.clear_faults()} removed")
    return Exit.OK


def _family(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    known = {size.family.casefold(): size.family for size in catalog.sizes().values()}
    if name.casefold() not in known and number:
        near = nearest(name, known.values())
        hint = f"did you mean `{near}`?" if near else "see `mlctl local quota list`"
        raise typer.BadParameter(f"`{name}` is no VM family: {hint}", param_hint="--family")
    if not number.isdecimal():
        raise typer.BadParameter(
            f"`{text}`: write FAMILY=N, as standardDSv2Family=24", param_hint="--family"
        )
    return known[name.casefold()], int(number)


def _fault_data(number: int, fault: Fault, seen: int) -> Data:
    return {
        "number": number,
        "trouble": fault.trouble.value,
        "operation": fault.verb,
        "target": fault.target,
        "nth": fault.nth,
        "times": fault.times,
        "every": fault.every,
        "seconds": fault.seconds,
        "code": fault.code,
        "status": fault.status,
        "message": fault.message,
        "seen": seen,
    }


command(app, "status")(status)
command(app, "advance")(advance)
command(app, "reset")(reset)
command(_quota, "set")(quota_set)
command(_quota, "list")(quota_list)
command(_fault, "add")(fault_add)
command(_fault, "list")(fault_list)
command(_fault, "clear")(fault_clear)
