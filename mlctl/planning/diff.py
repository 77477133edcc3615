"""The difference between wanted and live values: compared in canonical form, shown as written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mlctl.backends.ports.backend import Live
from mlctl.kinds import codec
from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field, Mutability
from mlctl.kinds.values import state
from mlctl.planning.model import PROVISIONING_STATE, FieldChange
from mlctl.pointer import Data, Pointer

_SCALARS = (str, int, bool, float)
_BY_KEY = ("map", "variables", "shares")  # maps whose entries change one by one


def differences(
    fields: Iterable[Field],
    wanted: Mapping[Pointer, Data],
    had: Mapping[Pointer, Data],
    scope: Scope,
) -> list[FieldChange]:
    """The fields whose wanted value differs from the one that is there.

    Both sides are in the YAML spelling. Fields without a wanted value are not compared, and neither
    are secrets.
    """
    found: list[FieldChange] = []
    for one in fields:
        at = one.at
        if at not in wanted or not one.compared:
            continue
        before, after = had.get(at), wanted[at]
        if type(before) is type(after) and type(after) in _SCALARS and before == after:
            continue  # most are
        if not (one.when and _ignored(one, {**had, **wanted})):
            found.extend(_difference(one, before, after, scope))
    return found


def _ignored(one: Field, ending: Mapping[Pointer, Data]) -> bool:
    """Whether a sibling ends with a value by which the service ignores the field (`x-mlctl-when`).

    It may be there already, and not be wanted otherwise.
    """
    siblings = {name: ending.get((*one.at[:-1], name)) for name in one.when}
    return any(
        value is not None and str(value).casefold() != str(one.when[name]).casefold()
        for name, value in siblings.items()
    )


def failed_operation(live: Live) -> list[FieldChange]:
    """The change of a resource whose last operation failed: it must be written again."""
    if state(live.body) not in ("failed", "canceled"):
        return []
    found = live.body["properties"]["provisioningState"]
    return [FieldChange(PROVISIONING_STATE, found, "Succeeded")]


def _difference(one: Field, before: Data, after: Data, scope: Scope) -> Iterable[FieldChange]:
    forces = one.mutability is Mutability.REPLACE
    if one.codec in _BY_KEY:
        old, new = (codec.canonical(value, one, scope) for value in (before, after))
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key) and not (one.additive and key not in new):
                yield FieldChange((*one.at, key), old.get(key), new.get(key), forces)
        return
    if codec.differ(before, after, one, scope):
        if one.codec == "identities":
            before = _respelt(before or [], after or [], one, scope) or None
        yield FieldChange(one.at, before, after, forces)


def _respelt(before: list[Data], after: list[Data], one: Field, scope: Scope) -> list[Data]:
    """The items of a set before; those that stay are in the order and the spelling of `after`."""

    def key(item: Data) -> str:
        return str(codec.canonical([item], one, scope))

    had = {key(item): item for item in before}
    stay = [item for item in after if had.pop(key(item), None) is not None]
    return [*stay, *had.values()]
