"""What an apply that did not end still owes, as parts of a plan that puts it back. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from mlctl.backends.ports.backend import Live
from mlctl.kinds import kind_of, routes
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.field import Form
from mlctl.kinds.resource import Resource
from mlctl.kinds.values import (
    Values,
    decode,
    form_of_body,
    moving,
    not_kept,
    overlay,
    said,
)
from mlctl.planning.diff import differences
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, Change, FieldChange
from mlctl.planning.ownership.owner import PROJECT, SPEC_HASH, TAGS, Ownership
from mlctl.planning.unfinished.owed import Owed
from mlctl.pointer import Pointer

NOTE = "an unfinished apply"


def with_owed(
    owed: Owed, resource: Resource, wanted: Values, scope: Scope, ownership: Ownership
) -> Values:
    """The wanted values of a resource that is made anew, with what it had and no file says.

    Where its requests go is not among them: see `with_routes`.
    """
    form, kind = resource.form, resource.kind
    wanted = ownership.over(resource, wanted, Live(owed.address, owed.body))
    without = (*not_kept(wanted, form), *kind.arm.service_fields)
    had = said(overlay(owed.body, {}, without), form, scope, own=False)
    defaults = {one.at: one.default for one in form.fields}
    had = {at: value for at, value in had.items() if value != defaults.get(at)}
    for at in kind.plan.routes:
        had.pop(at, None)
    return {**had, **wanted}


def notes_on(said: Values, values: Values, note: str) -> dict[Pointer, str]:
    """A note on the values that files do not say; the project's own tags are made anew."""
    own = {PROJECT, SPEC_HASH}
    back = {at for at, value in values.items() if said.get(at) != value}
    if TAGS in back and (said.get(TAGS) or {}).keys() | own >= values[TAGS].keys():
        back.remove(TAGS)
    return dict.fromkeys(back, note)


def with_routes(
    changes: Iterable[Change], live_state: LiveState, targets: Collection[Address] | None = None
) -> list[Change]:
    """The changes, with the routes that are owed to endpoints for which no file says any.

    They are put back where their deployments are there, or are made by this plan. Endpoints that
    have nothing to do with the `targets` are left, where there are some.
    """
    live, by_address = live_state.live, {one.address: one for one in changes}
    for address, one in live_state.owed.items():
        if targets is not None and not one.about & set(targets):
            continue
        change = by_address.get(address)
        if change is None and address in live:
            change = Change(address, Action.NO_OP, live=live[address])
        there = all(_will_be_there(child, by_address, live) for child in one.children)
        if change is not None and there and one.routes and not _in_motion(change):
            by_address[address] = _routed(change, one, live_state.scope)
    return list(by_address.values())


def _will_be_there(
    address: Address, changes: Mapping[Address, Change], live: Mapping[Address, Live]
) -> bool:
    change = changes.get(address)
    return address in live if change is None else change.action is not Action.DELETE


def _in_motion(change: Change) -> bool:
    return change.live is not None and moving(change.live.body)


def _routed(change: Change, owed: Owed, scope: Scope) -> Change:
    """The change with the routes that its file does not say."""
    said = change.resource.values if change.resource is not None else {}
    fields = [
        one for one in kind_of(owed.address).route_fields if one.at in owed.routes.keys() - said
    ]
    if not fields or change.action is Action.DELETE:
        return change
    back = {one.at: routes.value(one, owed.routes[one.at]) for one in fields}
    had = decode(change.live.body, _form(change.live, scope), scope) if change.live else {}
    told = [replace(one, note=NOTE) for one in differences(fields, back, had, scope)]
    action = Action.UPDATE if change.action is Action.NO_OP else change.action
    kept = [one for one in change.fields if one.at not in back]
    values = {**change.values, **back}
    return replace(change, action=action, fields=(*kept, *told), values=values, owed=owed)


def lost(owed: Owed, live: Live, scope: Scope) -> list[FieldChange]:
    """What a resource had that was made anew by others, or set otherwise, and is not put back."""
    form = _form(live, scope)
    had, found = said(owed.body, form, scope, own=False), decode(live.body, form, scope, own=False)
    left = owed.left(live)
    for at in left.routes if left else ():
        had.pop(at, None)  # is still to be put back
    return [one for one in differences(form.writable, had, found, scope) if one.after is not None]


def _form(live: Live, scope: Scope) -> Form:
    return form_of_body(kind_of(live.address), live.body, scope)
