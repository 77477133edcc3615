"""Compare desired and live values in canonical form; differences are shown as written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from mlctl import pointer
from mlctl.backends.ports.backend import Live
from mlctl.dataclasses import replace
from mlctl.kinds import Scope, codec
from mlctl.kinds.field import Field, Form, Mutability
from mlctl.kinds.values import state
from mlctl.planning.model import PROVISIONING_STATE, Action, Change, FieldChange
from mlctl.pointer import Data, Pointer

_SCALARS = (str, int, bool, float)
_BY_KEY = ("map", "variables", "shares")  # maps whose entries change one by one


def differences(
    fields: Iterable[Field],
    desired: Mapping[Pointer, Data],
    live_values: Mapping[Pointer, Data],
    scope: Scope,
) -> list[FieldChange]:
    """Return the fields whose desired value differs from the live one.

    Both sides are in YAML spelling. Fields without a desired value, and secrets, are not compared.
    """
    changes: list[FieldChange] = []
    for field in fields:
        at = field.at
        if at not in desired or not field.compared:
            continue
        live_value, desired_value = live_values.get(at), desired[at]
        if (
            type(live_value) is type(desired_value)
            and live_value == desired_value
            and (type(desired_value) in _SCALARS or repr(live_value) == repr(desired_value))
        ):
            continue  # most are equal; in a list or mapping, `true` equals 1
        if not (field.when and _ignored(field, {**live_values, **desired})):
            changes.extend(_compare_field(field, live_value, desired_value, scope))
    return changes


def _ignored(field: Field, ending: Mapping[Pointer, Data]) -> bool:
    """Whether the service ignores the field because of a sibling's final value (`x-mlctl-when`)."""
    siblings = {name: ending.get((*field.at[:-1], name)) for name in field.when}
    return any(
        value is not None and str(value).casefold() != str(field.when[name]).casefold()
        for name, value in siblings.items()
    )


def changed_secrets(form: Form, desired: Collection[Pointer], live: Live) -> Iterable[FieldChange]:
    """Yield the desired secrets of which the live body shows another sort, or none.

    The values themselves cannot be read, so another value of the same sort is not a change.
    """
    for field, marks in form.marked_secrets:
        shown = [pointer.get(live.body, at) for at in marks]
        if field.at in desired and not {*marks.values()} & {*shown}:
            had = next((word for word in shown if word not in (None, "None")), None)
            yield FieldChange(field.at, had, "", sensitive=True, note=had or "")


def written_secrets(form: Form, body: Mapping[str, Data]) -> list[Pointer]:
    """Return the fields of the secrets that a body will write."""
    return [field.at for field, _ in form.marked_secrets if pointer.get(body, field.wire)]


def with_secrets_again(change: Change) -> Change:
    """Make a change that only rewrites the file's secrets, if nothing else is to be written."""
    form = change.resource.form if change.resource is not None else None
    if form is None or change.action is not Action.NO_OP:
        return change
    secrets = [field.at for field, _ in form.marked_secrets if field.at in change.values]
    fields = tuple(FieldChange(at, "", "", sensitive=True) for at in secrets)
    return replace(change, action=Action.UPDATE, fields=fields) if fields else change


def failed_operation(live: Live) -> list[FieldChange]:
    """Return the change that rewrites a resource whose last operation failed."""
    if state(live.body) not in ("failed", "canceled"):
        return []
    state_word = live.body["properties"]["provisioningState"]
    return [FieldChange(PROVISIONING_STATE, state_word, "Succeeded")]


def _compare_field(
    field: Field, live_value: Data, desired_value: Data, scope: Scope
) -> Iterable[FieldChange]:
    forces = field.mutability is Mutability.REPLACE
    if field.codec in _BY_KEY:
        old, new = (codec.canonical(value, field, scope) for value in (live_value, desired_value))
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key) and not (field.additive and key not in new):
                yield FieldChange((*field.at, key), old.get(key), new.get(key), forces)
        return
    if codec.differ(live_value, desired_value, field, scope):
        if field.codec == "identities":
            live_value = _align_items(live_value or [], desired_value or [], field, scope) or None
        yield FieldChange(field.at, live_value, desired_value, forces)


def _align_items(
    live_items: list[Data], desired_items: list[Data], field: Field, scope: Scope
) -> list[Data]:
    """Return a set's live items; those that stay are ordered and spelt as desired."""

    def key(item: Data) -> str:
        return str(codec.canonical([item], field, scope))

    live_by_key = {key(item): item for item in live_items}
    stay = [item for item in desired_items if live_by_key.pop(key(item), None) is not None]
    return [*stay, *live_by_key.values()]
