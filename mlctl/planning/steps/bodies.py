"""The part of an ARM body that a step lays over the live one."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import pointer
from mlctl.dataclasses import dataclass
from mlctl.kinds import Resource, Scope, kind_of, routes
from mlctl.kinds.routes import Routes
from mlctl.kinds.values import (
    complete,
    encode,
    encode_fields,
    form_of_body,
    lost_credentials,
    overlay,
    overwritten_pointers,
    stored_values,
)
from mlctl.planning.model import Action, Change
from mlctl.pointer import Data, Pointer


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A part of a body, and the pointers that the live body loses first."""

    body: dict[str, Data]
    without: tuple[Pointer, ...]


@dataclass(frozen=True, slots=True)
class Restoration:
    """What a step writes that no file declares, so that an unfinished apply does not lose it.

    For a resource that is created again, or a successor, `base` is what stays of the body that the
    plan has read; the one that is read before the delete takes precedence. `fields` are the places
    in the step's body that no file declares. If a successor inherits them, `routes_before` is where
    the endpoint's requests go until then, as a part of a body: empty for the successor itself, None
    if nothing is inherited.
    """

    base: Mapping[str, Data] | None = None
    fields: tuple[Pointer, ...] = ()
    routes_before: Mapping[str, Data] | None = None


NO_RESTORATION = Restoration()

_PROPERTIES: Pointer = ("properties",)


def declared_part(change: Change, resource: Resource, scope: Scope) -> BodyPart:
    """Return what the file declares, to be laid over the live body."""
    form, values = resource.form, change.values
    excluded = overwritten_pointers(values, form) + _service_places(change)
    secrets = [(field, marks) for field, marks in form.marked_secrets if field.at in values]
    if secrets:  # properties of another sort are dropped
        excluded += tuple({at[:-1] for _, marks in secrets for at in marks})
    if change.live is not None and change.action is not Action.REPLACE and not secrets:
        return BodyPart(encode_fields(values, form, scope), excluded)
    body = encode(values, form, scope)
    if change.live is None and change.replaces is None:
        body = resource.kind.content.complete(body, anonymous=resource.anonymous)
        if resource.anonymous:
            pointer.put(body, ("properties", "isAnonymous"), value=True)
    if any(field.at == ("type",) for field in change.fields):  # the properties of another type
        excluded += (_PROPERTIES,) if change.live is not None else ()
    live_values = stored_values(change.live.body, form, scope) if change.live is not None else {}
    return BodyPart(body, excluded + lost_credentials({**live_values, **values}, form))


def _service_places(change: Change) -> tuple[Pointer, ...]:
    """Return the places that are not sent back: the service's own values, and its defaults."""
    facts = kind_of(change.address).arm
    if change.live is None or not facts.unsent:
        return facts.service_fields
    body = change.live.body
    defaults = (at for at, value in facts.unsent.items() if pointer.get(body, at) == value)
    return (*facts.service_fields, *defaults)


def routed_part(change: Change, routed: Routes, scope: Scope) -> BodyPart:
    """Return the part for a resource whose requests go to these children."""
    kind = kind_of(change.address)
    if change.resource is not None and change.action is not Action.NO_OP:
        part = declared_part(change, change.resource, scope)
    else:
        live = change.live.body if change.live else {}
        part = BodyPart(
            {}, overwritten_pointers({}, form_of_body(kind, live, scope)) + kind.arm.service_fields
        )
    for field in kind.route_fields:
        pointer.drop(part.body, field.wire)
        value = routes.value(field, routed[field.at])
        if value is not None:
            pointer.put(part.body, field.wire, value)
    wires = tuple(field.wire for field in kind.route_fields)
    return BodyPart(part.body, (*part.without, *wires))


def restoration(change: Change, part: BodyPart, scope: Scope) -> Restoration:
    """Return what a step restores that lays this part over the live body."""
    base = _base_to_restore(change, part)
    fields = _restored_fields(change, part.body, scope)
    routes_before = _routes_before(change)
    if base is None and not fields and routes_before is None:
        return NO_RESTORATION
    return Restoration(base, fields, routes_before)


def _base_to_restore(change: Change, part: BodyPart) -> Mapping[str, Data] | None:
    if change.replaces is not None:
        previous = change.replaces.body
    elif change.live is None and change.unfinished is not None:
        previous = change.unfinished.body
    elif change.live is not None and change.action is Action.REPLACE:
        previous = change.live.body
    else:
        return None
    return overlay(previous, {}, part.without)


def _restored_fields(change: Change, body: Mapping[str, Data], scope: Scope) -> tuple[Pointer, ...]:
    """Return where a body has what no file declares: as before, or requests to a successor."""
    previous = change.live or change.replaces
    if previous is None:
        return ()
    resource, moved = change.resource, _moved_routes(change)
    declared = (
        encode(complete(resource.values, resource.form), resource.form, scope) if resource else {}
    )
    return tuple(
        at
        for at, value in pointer.leaves(body)
        if pointer.get(declared, at) is None
        and (
            pointer.get(previous.body, at) == value
            or any(at[: len(route)] == route for route in moved)
        )
    )


def _routes_before(change: Change) -> Mapping[str, Data] | None:
    if change.replaces is not None:
        return {}
    moved, body = _moved_routes(change), change.live.body if change.live else {}
    return pointer.nest({at: pointer.get(body, at) for at in moved}) if moved else None


def _moved_routes(change: Change) -> list[Pointer]:
    """Return the fields by which requests go to a successor though no file says so."""
    if change.live is None or change.unfinished is not None:
        return []
    declared = change.resource.values.keys() if change.resource else set()
    changed = {field.at for field in change.fields} & change.values.keys()
    return [
        field.wire
        for field in kind_of(change.address).route_fields
        if field.at in changed - declared
    ]
