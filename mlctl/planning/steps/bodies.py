"""What a plan says of a resource: the part of an ARM body that a step lays over what is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlctl import pointer
from mlctl.kinds import kind_of, routes
from mlctl.kinds.address import Scope
from mlctl.kinds.resource import Resource
from mlctl.kinds.routes import Routes
from mlctl.kinds.values import (
    complete,
    encode,
    encode_fields,
    form_of_body,
    not_kept,
    not_renewed,
    overlay,
    said,
)
from mlctl.planning.model import Action, Change
from mlctl.pointer import Data, Pointer


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a body, and the pointers at which what is there is lost when it is laid over."""

    body: dict[str, Data]
    without: tuple[Pointer, ...]


_PROPERTIES: Pointer = ("properties",)


def said_part(change: Change, resource: Resource, scope: Scope) -> Part:
    """What the file says of a resource, to be laid over what is there."""
    form, values = resource.form, change.values
    without = not_kept(values, form) + resource.kind.arm.service_fields
    if change.live is not None and change.action is not Action.REPLACE:
        return Part(encode_fields(values, form, scope), without)
    body = encode(values, form, scope)
    if change.live is None and change.predecessor is None:
        body = resource.kind.content.complete(body, anonymous=resource.anonymous)
        if resource.anonymous:
            pointer.put(body, ("properties", "isAnonymous"), value=True)
    if any(one.at == ("type",) for one in change.fields):  # the properties of another type
        without += (_PROPERTIES,) if change.live is not None else ()
    had = said(change.live.body, form, scope) if change.live is not None else {}
    return Part(body, without + not_renewed({**had, **values}, form))


def routed_part(change: Change, routed: Routes, scope: Scope) -> Part:
    """As `said_part`, for a resource whose requests go to these children."""
    kind = kind_of(change.address)
    if change.resource is not None and change.action is not Action.NO_OP:
        part = said_part(change, change.resource, scope)
    else:
        live = change.live.body if change.live else {}
        part = Part({}, not_kept({}, form_of_body(kind, live, scope)) + kind.arm.service_fields)
    for field in kind.route_fields:
        pointer.drop(part.body, field.wire)
        told = routes.value(field, routed[field.at])
        if told is not None:
            pointer.put(part.body, field.wire, told)
    wires = tuple(field.wire for field in kind.route_fields)
    return Part(part.body, (*part.without, *wires))


def kept(change: Change, body: Mapping[str, Data], scope: Scope) -> tuple[Pointer, ...]:
    """Where a body says what the live resource has, or its predecessor, and the file does not.

    Requests that go to a successor are among it.
    """
    before = change.live or change.predecessor
    if before is None:
        return ()
    resource, had, moved = change.resource, before.body, _moved(change)
    told = (
        encode(complete(resource.values, resource.form), resource.form, scope) if resource else {}
    )
    return tuple(
        at
        for at, value in pointer.leaves(body)
        if pointer.get(told, at) is None
        and (pointer.get(had, at) == value or any(at[: len(one)] == one for one in moved))
    )


def until_moved(change: Change) -> Mapping[str, Data] | None:
    """Where requests go, as a part of a body, until a successor gets them by what no file says.

    Empty for the successor itself, and None where nothing is taken over.
    """
    if change.predecessor is not None:
        return {}
    moved, live = _moved(change), change.live.body if change.live else {}
    return pointer.nest({at: pointer.get(live, at) for at in moved}) if moved else None


def _moved(change: Change) -> list[Pointer]:
    """The fields by which requests go to a successor, though no file says so."""
    if change.live is None or change.owed is not None:
        return []
    said, changed = change.resource.values if change.resource else {}, {*change.values}
    changed &= {one.at for one in change.fields}
    return [one.wire for one in kind_of(change.address).route_fields if one.at in changed - {*said}]


def renewed_base(change: Change, part: Part) -> Mapping[str, Data] | None:
    """What stays of a resource that is to be made anew: all but what the part says otherwise.

    Since an apply that did not end it is what that one owes. It is taken over by a successor, too.
    """
    if change.predecessor is not None:
        return overlay(change.predecessor.body, {}, part.without)
    if change.live is None:
        return overlay(change.owed.body, {}, part.without) if change.owed is not None else None
    if change.action is not Action.REPLACE:
        return None
    return overlay(change.live.body, {}, part.without)
