"""Quotas that a plan would exceed, and the order of changes where a quota is nearly used up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlctl.backends.ports.backend import Usage
from mlctl.catalog import limits
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address
from mlctl.kinds.kind import Claims, Quota
from mlctl.kinds.resource import Resource
from mlctl.kinds.values import claims, decode, effective
from mlctl.planning.model import Action, Change
from mlctl.planning.preflight import pools
from mlctl.planning.refresh import LiveState

QUOTA = Rule(
    "MLC405",
    "quota-exceeded",
    Severity.ERROR,
    "the clusters would need more cores than the quota has",
    "Every cluster counts with `max_instances` times the cores of its size, whether its nodes run"
    " or not. Dedicated cores are limited per VM family and in total, low-priority cores by one"
    " number for all families.",
    "Lower `max_instances`, delete clusters that nobody uses, or ask for more quota.",
    "Manage and increase quotas; Create an Azure Machine Learning compute cluster, section Delete",
)


def exceeded(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Each quota that the plan as a whole would exceed, at every change that asks for more."""
    for quota, shares in _shares(changes, live_state).items():
        limit, more = _limit(quota, live_state), sum(share.more for share in shares)
        if limit is None or limit.limit is None or limit.used + more <= limit.limit:
            continue
        for change in (share.change for share in shares if share.asks):
            if change.resource is not None:
                if quota == pools.POOLS:
                    yield pools.too_many(change, change.resource, limit, more)
                else:
                    yield _over(change, change.resource, quota, limit, more)


def waits(changes: Sequence[Change], live_state: LiveState) -> dict[Address, tuple[Address, ...]]:
    """For each resource that must wait for quota, the resources that give some back first."""
    found: dict[Address, tuple[Address, ...]] = {}
    for quota, shares in _shares(changes, live_state).items():
        limit = _limit(quota, live_state)
        if limit is None or limit.limit is None:
            continue
        growth = sum(share.more for share in shares if share.more > 0)
        asking = [share.change.address for share in shares if share.asks]
        freed = [share.change.address for share in shares if share.more < 0]
        if limit.used + growth > limit.limit:
            for address in asking:
                others = (one for one in freed if one != address)
                found[address] = (*found.get(address, ()), *others)
    return {address: freed for address, freed in found.items() if freed}


def _over(change: Change, resource: Resource, quota: Quota, limit: Usage, more: int) -> Diagnostic:
    region, family = quota
    counted = family == limits.COMPUTES_QUOTA
    what = {
        limits.COMPUTES_QUOTA: "computes",
        limits.DEDICATED_QUOTA: "dedicated cores",
        limits.LOW_PRIORITY_QUOTA: "low-priority cores",
    }.get(family, f"{family} cores")
    asked = (
        f"{limit.used} are taken and this plan asks for {more} more"
        if more > 0
        else f"{limit.used + more} would be taken once this is made"
    )
    return Diagnostic(
        QUOTA,
        f"{region} allows {limit.limit} {what}; {asked}",
        resource.label(("name" if counted else "max_instances",)),
        hint=("" if counted else "lower `max_instances`, ")
        + "delete clusters that nobody uses, or ask for more quota",
        address=str(change.address),
    )


def _limit(quota: Quota, live_state: LiveState) -> Usage | None:
    region, family = quota
    return next((one for one in live_state.usage.get(region, ()) if one.family == family), None)


@dataclass(frozen=True, slots=True)
class _Share:
    """How much `more`, or less (negative), of a quota a change takes.

    It `asks` for quota if it grows, or is created or replaced: a replacement gives its share back
    first, and somebody else may take it.
    """

    change: Change
    more: int
    asks: bool


def _shares(changes: Sequence[Change], live_state: LiveState) -> dict[Quota, list[_Share]]:
    """What the changes take of each quota whose usage is published."""
    found: dict[Quota, list[_Share]] = defaultdict(list)
    for change in changes:
        if change.action is Action.NO_OP:
            continue
        had, wanted = claimed(change, live_state)
        for quota in sorted(had.keys() | wanted.keys()):
            more = wanted.get(quota, 0) - had.get(quota, 0)
            created = change.action.creates and wanted.get(quota, 0) > 0
            if (more or created) and quota[1] not in limits.UNPUBLISHED:
                found[quota].append(_Share(change, more, more > 0 or created))
    return found


def claimed(change: Change, live_state: LiveState) -> tuple[Claims, Claims]:
    """What a resource holds of the quotas, and what it would hold after the change."""
    kind, live = kind_of(change.address), change.live or live_state.deleting.get(change.address)
    if live is None and change.action is Action.DELETE:
        return {}, {}
    form = change.resource.form if change.resource else kind.forms[-1]
    had = decode(live.body, form, live_state.scope, own=False) if live else {}
    held = claims(kind, effective(had, form), live_state.location) if live else {}
    if change.action is Action.DELETE:
        return held, {}
    wanted = {**(had if change.live else {}), **change.values}
    return held, claims(kind, effective(wanted, form), live_state.location)
