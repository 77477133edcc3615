"""`mlctl local status | advance | reset | quota | usage`: the simulated cloud, clock and costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from mlctl import catalog
from mlctl.backends.local.backend import LocalBackend
from mlctl.catalog import prices
from mlctl.catalog.limits import EVERYWHERE
from mlctl.cli.shell import Exit, InvalidValue, Session, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.pointer import Data
from mlctl.schema.text import nearest
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.resources import quota as quotas

Location = Annotated[str | None, flag("--location", "-l", metavar="REGION")]


@contextmanager
def open_cloud(session: Session) -> Iterator[LocalBackend]:
    """Open the local backend."""
    with session.backend() as backend:
        if not isinstance(backend, LocalBackend):
            raise Permanent(
                "NotLocal",
                f"`mlctl local` works on the simulated cloud, not on the {backend.name} backend",
            )
        yield backend


def status(session: Session, output: Output = "json", query: Query = None) -> None:
    """Show the clock, workspaces, running operations, faults and locks."""
    with open_cloud(session) as local:
        now = control.status(local.handle)
        data: Data = {
            "state": str(now.path),
            "time": now.moment,
            "seed": now.seed,
            "workspaces": [
                {
                    "subscription": handle.scope.subscription,
                    "resource_group": handle.scope.resource_group,
                    "workspace": handle.scope.workspace,
                    "location": handle.location,
                    "resources": dict(handle.counts),
                }
                for handle in now.workspaces
            ],
            "running": len(now.pending),
            "faults": [fault.to_json() for fault in now.faults],
            "locks": [
                {"scope": lock.scope, "name": lock.name, "level": lock.level.value}
                for lock in now.locks
            ],
        }
        print_data(session, data, output, query)


def advance(
    session: Session,
    time: str = argument(metavar="DURATION"),
    output: Output = "none",
    query: Query = None,
) -> None:
    """Advance virtual time, without waiting."""
    length = duration(time)
    with open_cloud(session) as local:
        try:
            local.wait(length)
        except control.ClockError as error:
            raise InvalidValue(f"argument DURATION: {error}") from None
        moment = control.status(local.handle).moment
        session.note(f"it is {moment} now")
        print_data(session, {"time": moment}, output, query)


def reset(
    session: Session, seed: str = flag(default="0"), yes: bool = flag("-y", default=False)
) -> Exit:
    """Reset the cloud: no workspaces, initial time, default quotas and no faults."""
    with open_cloud(session) as local:
        if not yes and not session.confirmed("Delete every workspace of the simulated cloud?"):
            return Exit.ERROR
        control.reset(local.handle, seed)
    return Exit.OK


def quota_set(
    session: Session,
    low_priority_cores: int | None = flag(min=0),
    dedicated_cores: int | None = flag(min=0),
    family: list[str] | None = flag(metavar="FAMILY=N"),
    computes: int | None = flag(min=0),
    pools: int | None = flag(min=0),
    vms_per_pool: int | None = flag(min=0),
    location: Location = None,
) -> None:
    """Set the quotas of the subscription in a region, and the limits of its Batch account."""
    families = dict(_family(text) for text in family or [])
    numbers = (low_priority_cores, dedicated_cores, computes, pools, vms_per_pool)
    if not families and all(number is None for number in numbers):
        raise InvalidValue(
            "give a quota: --low-priority-cores, --dedicated-cores, --family, --computes,"
            " --pools or --vms-per-pool"
        )
    with open_cloud(session) as local:
        try:
            local.set_quota(
                location,
                low_priority=low_priority_cores,
                dedicated=dedicated_cores,
                families=families,
                computes=computes,
            )
            local.set_pool_limits(pools=pools, vms=vms_per_pool)
        except ValueError as error:
            raise InvalidValue(str(error)) from None


def quota_list(
    session: Session, location: Location = None, output: Output = "table", query: Query = None
) -> None:
    """List the quotas of a region that are in use, were set, or are commonly exceeded."""
    with open_cloud(session) as local:
        own = control.quotas(local.handle, location or local.location)
        everywhere = control.quotas(local.handle, EVERYWHERE)
        data = [
            {"quota": quota.name, "used": quota.used, "limit": quota.limit}
            for quota in (*own, *everywhere)
            if quota.limit is not None
            and (quota.used or quota.is_set or not quotas.is_family(quota.name))
        ]
        print_data(session, data, output, query)


def _family(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    families = {size.family for size in catalog.sizes().values()}
    family = catalog.family(name)
    if family not in families and number:
        near = nearest(name, sorted(families))
        hint = f"did you mean `{near}`?" if near else "see `mlctl local quota list`"
        raise InvalidValue(f"`{name}` is not a VM family: {hint}", flag="--family")
    if not number.isdecimal():
        raise InvalidValue(f"`{text}`: write FAMILY=N, as standardDSv2Family=24", flag="--family")
    return family, int(number)


def usage(session: Session, output: Output = "table", query: Query = None) -> None:
    """List node-hours and cost by tier for every cluster, pool and job."""
    from mlctl.simulator.control_plane import metrics

    with open_cloud(session) as cloud:
        data: list[Data] = [
            {
                "kind": row.kind,
                "name": row.name,
                "tier": row.tier,
                "node_hours": round(row.node_hours, 6),
                "cost": "unknown" if row.cost is None else round(row.cost, 6),
                "gone": row.gone,
            }
            for row in metrics.summarize_usage(cloud.handle)
        ]
    day = session.price_list.as_of.isoformat()
    session.note(f"USD, {prices.OF}, {day}; low priority at the price of Spot")
    print_data(session, data, output, query)
