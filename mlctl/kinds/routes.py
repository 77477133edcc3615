"""How the requests of a resource are distributed among its children.

A field holds one name, which gets all requests, or a map of names to percentages.
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
    """Parse the value of a field: `blue`, or `{blue: 90, green: 10}`."""
    if isinstance(value, dict):
        parts = {str(name): part for name, part in value.items() if isinstance(part, int | float)}
        return {name: part for name, part in parts.items() if part > 0 and part is not True}
    return {str(value): ALL} if value else {}


def value(field: Field, target: Shares) -> Data:
    """Return the value of a field for these shares; None if none is written for no shares."""
    if field.codec == "shares":
        return dict(target)
    return next(iter(target), None)


def nothing(field: Field) -> Data:
    """Return the value of a field that sends requests to no child."""
    return {} if field.codec == "shares" else ""


def routes(kind: Kind, body: Mapping[str, Data]) -> Routes:
    """Return the shares in a body, by field."""
    return {field.at: shares(pointer.get(body, field.wire)) for field in kind.route_fields}


def main_child(kind: Kind, body: Mapping[str, Data]) -> str:
    """Return the name of the child that gets most requests; "" if none does."""
    first = routes(kind, body).get(kind.plan.routes[0], {}) if kind.plan.routes else {}
    return max(first, key=lambda name: first[name], default="")


def share(of: Routes, name: str) -> float:
    """Return a child's percentage over all fields; names compare without case."""
    parts = ((child, part) for shares in of.values() for child, part in shares.items())
    return sum(part for child, part in parts if child.casefold() == name.casefold())


def without(of: Shares, removed: frozenset[str]) -> Shares:
    """Return the shares without those of some children, by case-folded name.

    If all requests are distributed, the remaining children take over in proportion.
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
    """Whether two fields mean the same; names compare without case."""
    folded = ({name.casefold(): part for name, part in of.items()} for of in (first, second))
    return next(folded) == next(folded)
