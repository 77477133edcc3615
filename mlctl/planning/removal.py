"""Plans that only delete: declared resources, one live resource, or a project's orphans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mlctl.backends.ports.backend import Live
from mlctl.kinds import Address, Resource, Scope, kind_of
from mlctl.kinds.values import fingerprint
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, ActionReason, Change, Plan
from mlctl.planning.ownership.owner import NOBODY, Ownership
from mlctl.planning.preflight import checks, protection


def removal(
    live: Live,
    neighbours: Mapping[Address, Live],
    backend: str,
    scope: Scope,
    users: Mapping[Address, list[Address]],
    ownership: Ownership = NOBODY,
) -> Plan:
    """Plan to delete one live resource that no file declares, and its children.

    `neighbours` are the live resources around it: its parent, its children.
    """
    changes = [Change(live.address, Action.DELETE, live=live, reason=ActionReason.REQUESTED)]
    changes += _children(changes, users)
    live_state = LiveState(scope, "", neighbours, used_by=users)
    rejections = checks.deletion_findings(changes, live_state)
    refusals = protection.findings(changes, live_state, ownership)
    kind = kind_of(live.address)
    read: dict[Address, str | None] = {live.address: fingerprint(live.body, kind, scope)}
    return Plan(backend, scope, tuple(changes), read, tuple(rejections), refusals=tuple(refusals))


def delete_declared(resources: Iterable[Resource], live_state: LiveState) -> Iterable[Change]:
    declared = {}
    for resource in resources:
        live = live_state.live.get(resource.address)
        if live is not None and resource.owner is None:
            reason = ActionReason.REQUESTED
            change = Change(live.address, Action.DELETE, (), resource, {}, live, reason)
            declared[change.address] = change
    yield from declared.values()
    for change in _children(declared.values(), live_state.used_by):
        if change.address not in declared:
            yield change


def _children(changes: Iterable[Change], users: Mapping[Address, list[Address]]) -> list[Change]:
    """Yield the live, undeclared children of deleted parents, which are deleted too."""
    reason = ActionReason.PARENT_DELETED
    return [
        Change(child, Action.DELETE, reason=reason, because=change.address)
        for change in changes
        for child in users.get(change.address, ())
        if child.up == change.address
    ]
