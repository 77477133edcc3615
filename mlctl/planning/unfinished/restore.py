"""Add to a plan what restores an unfinished apply. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from mlctl.backends.ports.backend import Live
from mlctl.dataclasses import replace
from mlctl.kinds import Address, Resource, Scope, kind_of, routes
from mlctl.kinds.values import (
    Values,
    decode,
    form_of_body,
    moving,
    overlay,
    overwritten_pointers,
    stored_values,
)
from mlctl.planning.diff import differences
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, Change, FieldChange, Unfinished
from mlctl.planning.ownership.owner import PROJECT, SPEC_HASH, TAGS, Ownership
from mlctl.pointer import Pointer

NOTE = "an unfinished apply"


def restore_values(
    unfinished: Unfinished, resource: Resource, desired: Values, scope: Scope, ownership: Ownership
) -> Values:
    """Return a recreated resource's values: the files', over those that it had.

    Routes are restored by `restore_routes`.
    """
    form, kind = resource.form, resource.kind
    desired = ownership.keep_own_tags(resource, desired, Live(unfinished.address, unfinished.body))
    excluded = (*overwritten_pointers(desired, form), *kind.arm.service_fields)
    previous = stored_values(
        overlay(unfinished.body, {}, excluded), form, scope, with_service_fields=False
    )
    restored = {at: value for at, value in previous.items() if at not in kind.plan.routes}
    return {**restored, **desired}


def notes_by_field(declared: Values, values: Values, note: str) -> dict[Pointer, str]:
    """Return a note for each value that files do not declare, except for the project's tags."""
    restored = {at for at, value in values.items() if declared.get(at) != value}
    own_tags = (declared.get(TAGS) or {}).keys() | {PROJECT, SPEC_HASH}
    if TAGS in restored and own_tags >= values[TAGS].keys():
        restored.remove(TAGS)
    return dict.fromkeys(restored, note)


def restore_routes(
    changes: Iterable[Change], live_state: LiveState, targets: Collection[Address] | None = None
) -> list[Change]:
    """Restore the routes that endpoints have lost and no file declares.

    They are restored if their deployments exist, or are created by this plan. With `targets`,
    endpoints unrelated to them are left alone.
    """
    live, by_address = live_state.live, {change.address: change for change in changes}
    for address, unfinished in live_state.unfinished.items():
        if targets is not None and unfinished.related.isdisjoint(targets):
            continue
        change = by_address.get(address)
        if change is None and address in live:
            change = Change(address, Action.NO_OP, live=live[address])
        if change is None or not unfinished.routes:
            continue
        if change.live is not None and moving(change.live.body):
            continue
        if all(_will_exist(child, by_address, live) for child in unfinished.children):
            by_address[address] = _add_routes(change, unfinished, live_state.scope)
    return list(by_address.values())


def _will_exist(
    address: Address, changes: Mapping[Address, Change], live: Mapping[Address, Live]
) -> bool:
    change = changes.get(address)
    return address in live if change is None else change.action is not Action.DELETE


def _add_routes(change: Change, unfinished: Unfinished, scope: Scope) -> Change:
    """Add the routes that its file does not declare to a change."""
    declared = change.resource.values if change.resource is not None else {}
    missing = unfinished.routes.keys() - declared
    fields = [field for field in kind_of(change.address).route_fields if field.at in missing]
    if not fields or change.action is Action.DELETE:
        return change
    restored = {field.at: routes.value(field, unfinished.routes[field.at]) for field in fields}
    live = change.live
    previous = (
        decode(live.body, form_of_body(kind_of(live.address), live.body, scope), scope)
        if live
        else {}
    )
    changed = differences(fields, restored, previous, scope)
    return replace(
        change,
        action=Action.UPDATE if change.action is Action.NO_OP else change.action,
        fields=(
            *(field for field in change.fields if field.at not in restored),
            *(replace(field, note=NOTE) for field in changed),
        ),
        values={**change.values, **restored},
        unfinished=unfinished,
    )


def fields_set_by_others(unfinished: Unfinished, live: Live, scope: Scope) -> list[FieldChange]:
    """Return the fields that others have changed since, which are not restored."""
    form = form_of_body(kind_of(live.address), live.body, scope)
    previous = stored_values(unfinished.body, form, scope, with_service_fields=False)
    current = decode(live.body, form, scope, with_service_fields=False)
    remaining = unfinished.remaining(live)
    for at in remaining.routes if remaining else ():
        previous.pop(at, None)  # is still to be restored
    changed = differences(form.writable, previous, current, scope)
    return [field for field in changed if field.after is not None]
