"""Which children of a resource get its requests, and how much of them.

A field says it by a name, which gets all of them, or by a map of names and percentages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from mlctl import pointer
from mlctl.kinds.field import Field
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data, Pointer

Shares: TypeAlias = Mapping[str, float]
"""The percentage that each child gets, by its name; those that get nothing are left out."""
Routes: TypeAlias = Mapping[Pointer, Shares]
"""The shares that each field says."""

ALL = 100  # percent


def shares(value: Data) -> Shares:
    """The shares that the value of a field says: `blue`, or `{blue: 90, green: 10}`."""
    if isinstance(value, dict):
        return {str(name): part for name, part in value.items() if _counts(part)}
    return {str(value): ALL} if value else {}


def value(field: Field, target: Shares) -> Data:
    """The value of a field that says these shares; None where it is not written for none."""
    if field.codec == "shares":
        return dict(target)
    return next(iter(target), None)


def nothing(field: Field) -> Data:
    """The value of a field by which no child gets anything."""
    return {} if field.codec == "shares" else ""


def routes(kind: Kind, body: Mapping[str, Data]) -> Routes:
    """What a body says of each field."""
    return {field.at: shares(pointer.get(body, field.wire)) for field in kind.route_fields}


def main_child(kind: Kind, body: Mapping[str, Data]) -> str:
    """The name of the child that a body gives most of the requests; "" for none."""
    first = routes(kind, body).get(kind.plan.routes[0], {}) if kind.plan.routes else {}
    return max(first, key=lambda name: first[name], default="")


def share(of: Routes, name: str) -> float:
    """The percentage that a child gets by all fields together; letter case means nothing."""
    folded = name.casefold()
    return sum(
        part
        for routing in of.values()
        for name, part in routing.items()
        if name.casefold() == folded
    )


def without(of: Shares, removed: frozenset[str]) -> Shares:
    """The shares without those of some children, by folded names.

    Where all requests are given away, the others take over what the lost ones had, in proportion.
    """
    remaining = {name: part for name, part in of.items() if name.casefold() not in removed}
    if not remaining or len(remaining) == len(of) or sum(of.values()) != ALL:
        return remaining
    whole = sum(remaining.values())
    exact = {name: part * ALL / whole for name, part in remaining.items()}
    rounded = {name: int(part) for name, part in exact.items()}
    missing = int(ALL - sum(rounded.values()))
    for name in sorted(exact, key=lambda name: rounded[name] - exact[name])[:missing]:
        rounded[name] += 1
    return rounded


def same(first: Shares, second: Shares) -> bool:
    """Whether two fields say the same; letter case means nothing."""
    return _folded(first) == _folded(second)


def _folded(of: Shares) -> dict[str, float]:
    return {name.casefold(): part for name, part in of.items()}


def _counts(part: Data) -> bool:
    return isinstance(part, int | float) and not isinstance(part, bool) and part > 0
