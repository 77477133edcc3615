"""Replace a resource without downtime: a successor under a new name takes its place.

The old resource is deleted last, once everything that referred to it refers to its successor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from mlctl.backends.ports.backend import Live
from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic
from mlctl.kinds import Address, Resource, Scope, kind_of, routes
from mlctl.kinds.routes import Shares
from mlctl.kinds.values import decode
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, ActionReason, Change, FieldChange
from mlctl.pointer import Pointer

Successors = Mapping[Address, Address]
"""For each resource the one that takes its place."""
_TYPE: Pointer = ("type",)
NONE: Successors = MappingProxyType({})


class CannotRename(Exception):
    """A resource cannot be replaced under a new name; `diagnostic` says which, where and why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.found = diagnostic


def inheritable(predecessor: Live | None, resource: Resource, scope: Scope) -> Live | None:
    """Return what a successor inherits that no file declares; no properties if types differ."""
    if predecessor is None:
        return None
    live_values = decode(predecessor.body, resource.form, scope, with_service_fields=False)
    if live_values.get(_TYPE) == resource.values.get(_TYPE, live_values.get(_TYPE)):
        return predecessor
    return replace(
        predecessor,
        body={key: value for key, value in predecessor.body.items() if key != "properties"},
    )


def add_successors(
    changes: Iterable[Change], live_state: LiveState, successors: Successors
) -> list[Change]:
    """Add the deletes of resources that have a successor.

    Requests that a resource gets without a file saying so go to its successor, too.
    """
    decided = {change.address: change for change in changes}
    for old, new in successors.items():
        live = live_state.live.get(old)
        if live is not None:
            reason = ActionReason.SUPERSEDED
            decided[old] = Change(old, Action.DELETE, live=live, reason=reason, because=new)
            _repoint(decided, live_state, old, new)
    return list(decided.values())


def _repoint(
    decided: dict[Address, Change], live_state: LiveState, old: Address, new: Address
) -> None:
    above = live_state.live.get(old.up) if old.up is not None else None
    if above is None:
        return
    kind = kind_of(above.address)
    change = decided.get(above.address, Change(above.address, Action.NO_OP, live=above))
    for field in kind.route_fields:
        was = (
            routes.shares(change.values.get(field.at)) or routes.routes(kind, above.body)[field.at]
        )
        if routes.share({field.at: was}, old.name):
            live_value = routes.value(field, was)
            new_value = routes.value(field, _rename_shares(was, old.name, new.name))
            change = replace(
                change,
                action=Action.UPDATE,
                fields=(*change.fields, FieldChange(field.at, live_value, new_value)),
                values={**change.values, field.at: new_value},
            )
            decided[above.address] = change


def _rename_shares(shares: Shares, old: str, new: str) -> Shares:
    folded = old.casefold()
    return {new if name.casefold() == folded else name: part for name, part in shares.items()}
