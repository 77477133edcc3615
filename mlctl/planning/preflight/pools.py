"""The limits of a Batch Pool account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlctl import pointer
from mlctl.backends.ports.backend import Usage
from mlctl.catalog import limits
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource, kind_of
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, Change

POOL_LIMIT = Rule("MLC409", "pool-limit-exceeded", Severity.ERROR)

POOLS = (limits.EVERYWHERE, limits.BATCH_POOLS_QUOTA)


def too_many(change: Change, resource: Resource, limit: Usage, extra: int) -> Diagnostic:
    """More pools than the account allows."""
    return Diagnostic(
        POOL_LIMIT,
        f"Batch Pools are limited to {limit.limit} in this account; it has {limit.used}, and this"
        f" plan asks for {extra} more",
        resource.label(("name",)),
        hint="delete a pool that nobody uses, or have the limit raised",
        address=str(change.address),
    )


def too_large(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Pools that would have more VMs than the account allows, and than they have now."""
    usage = live_state.usage.get(limits.EVERYWHERE, ())
    limit = next(
        (quota.limit for quota in usage if quota.family == limits.VMS_PER_POOL_QUOTA), None
    )
    for change in changes:
        at = kind_of(change.address).quota.capped.get(limits.VMS_PER_POOL_QUOTA)
        vms = change.values.get(at) if at else None
        if at is None or limit is None or not isinstance(vms, int) or change.resource is None:
            continue
        if vms > max(limit, _live_vms(change)):
            yield Diagnostic(
                POOL_LIMIT,
                f"the VMs of a Batch Pool are limited to {limit} in this account, and this one"
                f" asks for {vms}",
                change.resource.label(at),
                hint=f"write {limit} or fewer, or have the limit raised",
                address=str(change.address),
            )


def _live_vms(change: Change) -> int:
    """The VMs of the live pool; 0 if it is created or replaced."""
    if change.live is None or change.action is Action.REPLACE:
        return 0
    count = pointer.get(change.live.body, ("properties", "vmCount"), 0)
    return count if isinstance(count, int) else 0
