"""Find quotas that a plan would exceed, and order changes if a quota is nearly used up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from mlctl import pointer
from mlctl.backends.ports.backend import Usage
from mlctl.catalog import limits
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Address, Resource, kind_of
from mlctl.kinds.facts import NOTHING, Claim, Claims, Quota
from mlctl.kinds.values import claims, effective
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, Change
from mlctl.schema.text import counted

QUOTA = Rule("MLC405", "quota-exceeded", Severity.ERROR)
_ASK = "ask for more quota"
_OTHERS = 3  # further resources that a finding shows


def exceeded(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield each exceeded quota once, at the changes that ask for more.

    A change gets one warning, for the quota that leaves it the fewest nodes.
    """
    fewest: dict[Address, tuple[int, Diagnostic]] = {}
    refused = set()
    for quota, shares in _shares(changes, live_state).items():
        usage = _find_limit(quota, live_state)
        if usage is None or usage.limit is None:
            continue
        growth = sum(share.more for share in shares)
        if usage.used + growth > usage.limit:
            yield from _merge_findings(
                _report_exceeded(share.change, share.change.resource, quota, usage, growth)
                for share in shares
                if share.asks
                and share.change.resource is not None
                and share.planned.is_counted(live_state.quota_refuses)
            )
        for share in shares:
            resource, address = share.change.resource, share.change.address
            if resource is None:
                continue
            if share.planned.is_counted(live_state.quota_refuses):
                continue
            if share.planned.exceeds(share.before, usage.limit):
                refused.add(address)
                yield _too_few_to_start(share, resource, quota, usage.limit)
            elif share.asks and share.planned.most > usage.limit:
                nodes = usage.limit // share.planned.node
                warning = _fewer_nodes(share, resource, quota, usage.limit)
                lowest = fewest.get(address, (nodes, warning))
                fewest[address] = min(lowest, (nodes, warning), key=itemgetter(0))
    yield from (warning for address, (_, warning) in fewest.items() if address not in refused)


def _merge_findings(findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Merge the findings of one quota: at the first place that is not waived, others related."""
    every = [(finding, finding.primary) for finding in findings]
    labels = [label for _, label in every if label is not None]
    if not every:
        return
    heard = (
        finding
        for finding, label in every
        if label and not label.span.source.waives(finding.rule, label.span.line)
    )
    finding = next(heard, every[0][0])
    others = [label for label in labels if label is not finding.primary]
    related = tuple(replace(label, text="this asks for more, too") for label in others[:_OTHERS])
    unlisted = len(others) - len(related)
    more = f" (and {counted(unlisted, 'more resource')})" if unlisted > 0 else ""
    yield replace(finding, message=finding.message + more, related=(*finding.related, *related))


def waits(changes: Sequence[Change], live_state: LiveState) -> dict[Address, tuple[Address, ...]]:
    """Return the resources that must wait for quota, with those that release some first."""
    freed_by_address: dict[Address, tuple[Address, ...]] = {}
    if not live_state.deleting and all(change.live is None for change in changes):
        return freed_by_address  # nothing is there that could release any
    for quota, shares in _shares(changes, live_state).items():
        limit = _find_limit(quota, live_state)
        counted = any(share.planned.is_counted(live_state.quota_refuses) for share in shares)
        if limit is None or limit.limit is None or not counted:
            continue
        growth = sum(share.more for share in shares if share.more > 0)
        asking = [share.change.address for share in shares if share.asks]
        freed = [share.change.address for share in shares if share.more < 0]
        if limit.used + growth > limit.limit:
            for address in asking:
                freed_by_others = (releasing for releasing in freed if releasing != address)
                freed_by_address[address] = (*freed_by_address.get(address, ()), *freed_by_others)
    return {address: freed for address, freed in freed_by_address.items() if freed}


def _report_exceeded(
    change: Change, resource: Resource, quota: Quota, limit: Usage, growth: int
) -> Diagnostic:
    if quota == POOLS:
        return too_many(change, resource, limit, growth)
    counted, scaled_by = quota[1] == limits.COMPUTES_QUOTA, kind_of(change.address).quota.scaled_by
    explanation = (
        f"{limit.used} are in use, and this plan needs {growth} more"
        if growth > 0
        else f"{limit.used + growth} would then be in use"
    )
    message = f"{_describe(quota, limit.limit)}; {explanation}"
    lower = "" if counted else f"lower `{pointer.dotted(scaled_by)}`, "
    place = resource.label(("name",) if counted else scaled_by)
    return change.finding(QUOTA, message, place, f"{lower}delete unused clusters, or {_ASK}")


def _too_few_to_start(share: _Share, resource: Resource, quota: Quota, limit: int) -> Diagnostic:
    least = share.planned.least or 0
    nodes = least // share.planned.node
    size = share.change.values.get(("size",))
    need = f"{nodes} node of {size} needs" if nodes == 1 else f"{nodes} nodes of {size} need"
    message = f"{_describe(quota, limit)}, and {need} {least}: {limits.MIN_NODES_EXCEED}"
    lower, at = ("lower `min_instances`, ", "min_instances") if nodes > 1 else ("", "size")
    hint = f"{lower}use a smaller size, or {_ASK}"
    return share.change.finding(QUOTA, message, resource.label((at,)), hint)


def _fewer_nodes(share: _Share, resource: Resource, quota: Quota, limit: int) -> Diagnostic:
    nodes, sought = limit // share.planned.node, share.planned.most // share.planned.node
    message = f"{_describe(quota, limit)}: jobs get at most {counted(nodes, 'node')}, not {sought}"
    hint = f"write `max_instances: {nodes}`, use a smaller size, or {_ASK}"
    warning = share.change.finding(QUOTA, message, resource.label(("max_instances",)), hint)
    return replace(warning, severity=Severity.WARNING)


def _describe(quota: Quota, limit: int | None) -> str:
    region, name = quota
    quota_name = {
        limits.COMPUTES_QUOTA: "computes",
        limits.DEDICATED_QUOTA: "dedicated cores",
        limits.LOW_PRIORITY_QUOTA: "low-priority cores",
    }.get(name)
    if quota_name is None:
        tier, _, family = name.rpartition("/")
        quota_name = f"low-priority {family} cores" if tier else f"{family} cores"
    return f"{region} allows {limit} {quota_name}"


def _find_limit(quota: Quota, live_state: LiveState) -> Usage | None:
    region, family = quota
    usage, key = live_state.usage.get(region, ()), limits.quota_key(family)
    return next((row for row in usage if limits.quota_key(row.family) == key), None)


@dataclass(frozen=True, slots=True)
class _Share:
    """A change's share of a quota: `planned`, instead of `current`.

    It needs quota if it grows, or is created or replaced: a replacement first releases its share,
    which somebody else may take.
    """

    change: Change
    current: Claim
    planned: Claim

    @property
    def more(self) -> int:
        """How much more is used afterwards; negative if less."""
        return self.planned.most - self.current.most

    @property
    def before(self) -> Claim:
        """What it still holds when it is written."""
        return NOTHING if self.change.action.creates else self.current

    @property
    def asks(self) -> bool:
        """Whether it needs more than it holds when it is written."""
        return self.planned.most > self.before.most


def _shares(changes: Sequence[Change], live_state: LiveState) -> dict[Quota, list[_Share]]:
    """Return the changes' shares of each quota whose usage is published."""
    shares: dict[Quota, list[_Share]] = defaultdict(list)
    for change in changes:
        if change.action is Action.NO_OP:
            continue
        current, planned = claims_of(change, live_state)
        for quota in sorted(current.keys() | planned.keys()):
            if quota[1] not in limits.UNPUBLISHED:
                share = _Share(change, current.get(quota, NOTHING), planned.get(quota, NOTHING))
                shares[quota].append(share)
    return shares


def claims_of(change: Change, live_state: LiveState) -> tuple[Claims, Claims]:
    """Return what a resource claims of quotas before and after the change."""
    kind, live = kind_of(change.address), change.live or live_state.deleting.get(change.address)
    if live is None and change.action is Action.DELETE:
        return {}, {}
    form = change.resource.form if change.resource else kind.forms[-1]
    live_values = live_state.bodies.values(live.body, form) if live else {}
    current = claims(kind, effective(live_values, form), live_state.location) if live else {}
    if change.action is Action.DELETE:
        return current, {}
    planned_values = {**(live_values if change.live else {}), **change.values}
    return current, claims(kind, effective(planned_values, form), live_state.location)


POOL_LIMIT = Rule("MLC409", "pool-limit-exceeded", Severity.ERROR)

POOLS = (limits.EVERYWHERE, limits.BATCH_POOLS_QUOTA)


def too_many(change: Change, resource: Resource, limit: Usage, extra: int) -> Diagnostic:
    """Report more pools than the account allows."""
    message = (
        f"this account is limited to {limit.limit} Batch Pools; it has {limit.used}, and this"
        f" plan needs {extra} more"
    )
    hint = "delete an unused pool, or have the limit raised"
    return change.finding(POOL_LIMIT, message, resource.label(("name",)), hint)


def too_large(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield pools that grow to more VMs than the account allows."""
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
            message = (
                f"this account is limited to {limit} VMs per Batch Pool, but this one"
                f" asks for {vms}"
            )
            hint = f"write {limit} or fewer, or have the limit raised"
            yield change.finding(POOL_LIMIT, message, change.resource.label(at), hint)


def _live_vms(change: Change) -> int:
    """Return the VMs of the live pool; 0 if it is created or replaced."""
    if change.live is None or change.action is Action.REPLACE:
        return 0
    count = pointer.get(change.live.body, ("properties", "vmCount"), 0)
    return count if isinstance(count, int) else 0
