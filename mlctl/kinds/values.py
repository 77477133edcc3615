"""Convert a resource between document values and the ARM body."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterable, Mapping

from mlctl import catalog, pointer
from mlctl.digests import sha256
from mlctl.kinds import codec
from mlctl.kinds.address import Scope
from mlctl.kinds.facts import Claims, Effective
from mlctl.kinds.field import Field, Form
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data, Pointer

Values = Mapping[Pointer, Data]

# What the service writes into every ARM body.
_SYSTEM: tuple[Pointer, ...] = (
    ("id",),
    ("name",),
    ("type",),
    ("systemData",),
    ("etag",),
    ("properties", "provisioningState"),
)


def form_of_body(kind: Kind, body: Mapping[str, Data], scope: Scope) -> Form:
    """Return the form of a live body, by its decoded discriminator."""
    for form in kind.forms[:-1]:
        discriminating: dict[str, Data] = {}
        for field in form.discriminators:
            value = codec.decode(pointer.get(body, field.wire), field, scope)
            if value is not None:
                pointer.put(discriminating, field.at, value)
        if form.condition and form.holds(discriminating):
            return form
    return kind.forms[-1]


def claims(kind: Kind, value: Effective, location: str) -> Claims:
    """Return a resource's share of each quota; `location` is its region if `value` has none."""
    return kind.quota.claims(value, catalog.region(value("location") or location))


def effective(values: Values, form: Form) -> Effective:
    """Return a lookup of fields in document values: as written, else the default."""

    def value(name: str) -> Data:
        at = (name,)
        if at in values:
            return values[at]
        field = form.field(at)
        return field.default if field else None

    return value


def effective_in_body(kind: Kind, body: Mapping[str, Data], scope: Scope) -> Effective:
    """Return a lookup of fields in a stored body, decoded on demand."""
    form = form_of_body(kind, body, scope)

    def value(name: str) -> Data:
        field = form.field((name,))
        if field is None:
            return None
        declared = codec.decode(pointer.get(body, field.wire), field, scope)
        return field.default if declared is None else declared

    return value


def complete(values: Values, form: Form) -> dict[Pointer, Data]:
    """Return `values` with the defaults of missing ones (`x-mlctl-absent: default`)."""
    full = dict(values)
    for field in form.defaulted:
        if field.at not in full and applies(field, values, form):
            full[field.at] = field.default
    return full


def applies(field: Field, values: Values, form: Form) -> bool:
    """Whether no sibling rules the field out (`x-mlctl-when`)."""
    if not field.when:
        return True
    for name, required in field.when.items():
        at = (*field.at[:-1], name)
        sibling = form.field(at)
        actual = values.get(at, sibling.default if sibling else None)
        if actual is not None and str(actual).casefold() != str(required).casefold():
            return False
    return True


def encode(values: Values, form: Form, scope: Scope) -> dict[str, Data]:
    """Return the ARM body of `values`, secrets included."""
    body: dict[str, Data] = {}
    for fields, constants in form.constants_by_fields:
        if not fields or not fields.isdisjoint(values):
            for wire, value in constants.items():
                pointer.put(body, wire, value)
    return _merge_onto(body, encode_fields(values, form, scope))


def encode_fields(values: Values, form: Form, scope: Scope) -> dict[str, Data]:
    """Return the body without constants, to be laid over a live body that has them."""
    body: dict[str, Data] = {}
    for field in form.writable:
        if field.at in values:
            value = codec.encode(values[field.at], field, scope)
            if value is not None:
                pointer.put(body, field.wire, value)
            if value is not None and field.copy and _stands_in(field, values, form):
                pointer.put(body, field.copy, copy.deepcopy(value))
    return body


def _stands_in(field: Field, values: Values, form: Form) -> bool:
    """Whether a copied value is sent: not if the file has a mapping there.

    Origin: azure-ai-ml 1.35.2 sends a trial's resources as its sweep's, unless the sweep sets its
    own.
    """
    inner_fields = (inner.at for inner in form.writable if inner.wire[:-1] == field.copy[:-1])
    return len(field.at) == 1 or not any(at in values for at in inner_fields)


def decode(
    body: Mapping[str, Data], form: Form, scope: Scope, *, with_service_fields: bool = True
) -> dict[Pointer, Data]:
    """Return a live body's values for a form's fields, with the service's own if asked.

    A field that the body leaves out has its default, if it has one that applies.
    """
    values = stored_values(body, form, scope, with_service_fields=with_service_fields)
    for field in form.with_default:
        if field.at not in values and applies(field, values, form):
            values[field.at] = field.default
    return values


def stored_values(
    body: Mapping[str, Data], form: Form, scope: Scope, *, with_service_fields: bool = True
) -> dict[Pointer, Data]:
    """Return the values in a body, without defaults and secrets."""
    values: dict[Pointer, Data] = {}
    for field in form.shown if with_service_fields else form.shown_writable:
        value = pointer.get(body, field.wire)
        if value is not None or field.enum:
            value = codec.decode(value, field, scope)
            if value is not None:
                values[field.at] = value
    return values


def overwritten_pointers(values: Values, form: Form) -> tuple[Pointer, ...]:
    """Return the places that a live body loses when `values` are laid over it.

    These are the service's own fields, and those in `values`. All others are kept: a PUT replaces
    the whole resource, so what the file leaves to the service is sent back unchanged.
    """
    replaced = tuple(
        field.wire
        for field in form.writable
        if (field.at in values and not field.additive)
        # a managed identity is written as a whole: its type and its ids belong together
        or (field.codec == "identities" and (*field.at[:-1], "type") in values)
        or (field.when and not applies(field, values, form))
    )
    return (*_SYSTEM, *form.read_only_wires, *replaced)


def lost_credentials(known_values: Values, form: Form) -> tuple[Pointer, ...]:
    """Return the credentials that a resource loses when it is created again.

    An account cannot be created again if neither the file nor the old resource has its password or
    key: `known_values` are the values of both.
    """
    credentials = [field for field in form.fields if field.credential]
    if any(field.at in known_values for field in credentials):
        return ()
    return tuple(field.wire[:-1] for field in credentials)


def overlay(
    body: Mapping[str, Data], top: Mapping[str, Data], excluded: Iterable[Pointer]
) -> dict[str, Data]:
    """Lay `top` over a body without its nulls and without the pointers `excluded`."""
    base = _drop_nulls(body)
    for at in excluded if base else ():
        pointer.drop(base, at)
    return _merge_onto(base, pointer.copy(dict(top)))


def _drop_nulls(body: Mapping[str, Data]) -> dict[str, Data]:
    """Return a copy of a body without keys whose value is null."""
    return {
        key: _drop_nulls(value) if isinstance(value, dict) else pointer.copy(value)
        for key, value in body.items()
        if value is not None
    }


def _merge_onto(base: dict[str, Data], top: Mapping[str, Data]) -> dict[str, Data]:
    for key, value in top.items():
        inner = base.get(key)
        base[key] = (
            _merge_onto(inner, value)
            if isinstance(inner, dict) and isinstance(value, dict)
            else value
        )
    return base


def state(body: Mapping[str, Data]) -> str:
    """Return the state of the last operation, in lower case: `succeeded`, `deleting`, ..."""
    return str(pointer.get(body, ("properties", "provisioningState"), "")).casefold()


def moving(body: Mapping[str, Data]) -> bool:
    """Whether an operation is running on the resource."""
    return state(body) in ("creating", "updating", "deleting", "scaling")


def canonical_values(
    values: Mapping[Pointer, Data], fields: Iterable[Field], scope: Scope
) -> dict[str, Data]:
    """Return the canonical values of fields by JSON pointer, the input of hashes."""
    return {
        field.key: codec.canonical(values[field.at], field, scope)
        for field in fields
        if field.at in values
    }


def fingerprint(body: Mapping[str, Data], kind: Kind, scope: Scope) -> str:
    """Hash all that a file could set of a live resource, without node counts and times."""
    form = form_of_body(kind, body, scope)
    values = decode(
        pointer.without(body, own_of_form(kind, form)), form, scope, with_service_fields=False
    )
    canonical = canonical_values(values, form.writable, scope)
    return sha256(_sorted_json(canonical))


_sorted_json = json.JSONEncoder(sort_keys=True).encode


@functools.cache
def own_of_form(kind: Kind, form: Form) -> tuple[Pointer, ...]:
    """Return the service's own places that are within, or contain, a field that a file can set."""
    wires = form.wires
    return tuple(
        at
        for at in kind.arm.service_fields
        if any(wire[: len(at)] == at[: len(wire)] for wire in wires)
    )
