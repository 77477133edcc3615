"""Where the requests of an endpoint go while a plan is carried out. Pure.

The service sends none to a deployment that does not exist, and deletes none that gets some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mlctl.kinds import children, kind_of, routes
from mlctl.kinds.address import Address
from mlctl.kinds.routes import Routes
from mlctl.planning.model import Action, Change, FieldChange


@dataclass(frozen=True, slots=True)
class Routing:
    """What the requests of an endpoint do in a plan.

    - `was`, `wanted`: where they go before and after it.
    - `early`: where they go until the `pending` deployments are there.
    - `pending`: deployments that the plan makes, or changes before they get more requests.
    - `last`: deployments that are deleted after the others have taken over from them for good.
    """

    was: Routes
    wanted: Routes
    early: Routes
    pending: frozenset[Address]
    last: frozenset[Address]

    @property
    def moves_early(self) -> bool:
        """Whether requests must go elsewhere before the deployments are made."""
        return not all(routes.same(self.early[at], self.was[at]) for at in self.was)


def routing(
    change: Change,
    made: Mapping[Address, Change],
    deleted: Mapping[Address, Change],
    may_wait: Callable[[Address, frozenset[Address]], bool],
) -> Routing:
    """The routing of an endpoint.

    `made` are the changes of a plan by address, `deleted` those that delete or replace. `may_wait`
    says whether a delete may wait for the writes of some addresses.
    """
    wanted, was = _said(change)
    if change.action is Action.REPLACE:  # what is not made anew goes with the old endpoint
        wanted = _without(change, wanted, lambda one: one in deleted and not _creates(made, one))
    pending = frozenset(_pending(change, wanted, was, made))
    if not pending:
        return Routing(was, wanted, wanted, pending, frozenset())
    last = frozenset(
        one
        for one in _routed(change, was)
        if one in deleted and change.action is not Action.REPLACE and may_wait(one, pending)
    )
    early = _without(change, was, lambda one: one in deleted and one not in last)
    return Routing(was, wanted, early, pending, last)


def is_said_by(change: Change, one: FieldChange) -> bool:
    """Whether the change of a field says where requests go."""
    return any(one.at[: len(at)] == at for at in kind_of(change.address).plan.routes)


def routed_by(endpoint: Address, one: FieldChange) -> list[Address]:
    """The deployments that get requests by a new value of a field."""
    found: list[Address] = []
    for at in kind_of(endpoint).plan.routes:
        if one.at[: len(at)] == at:
            key = {str(one.at[-1]): one.after} if one.at != at else one.after
            found += [child(endpoint, name) for name in routes.shares(key)]
    return found


def _said(change: Change) -> tuple[Routes, Routes]:
    """Where requests are to go, and where they go."""
    kind = kind_of(change.address)
    live = routes.routes(kind, change.live.body if change.live else {})
    if change.in_motion:
        return live, live
    said = {at: routes.shares(change.values[at]) for at in kind.plan.routes if at in change.values}
    return {**live, **said}, live


def _pending(
    change: Change, wanted: Routes, was: Routes, made: Mapping[Address, Change]
) -> set[Address]:
    found = set[Address]()
    for at, shares in wanted.items():
        for name, part in shares.items():
            one = made.get(child(change.address, name))
            grows = part > routes.share({at: was[at]}, name)
            if one and (one.action.creates or (one.action is Action.UPDATE and grows)):
                found.add(one.address)
    return found


def _routed(change: Change, of: Routes) -> set[Address]:
    return {child(change.address, name) for shares in of.values() for name in shares}


def _creates(made: Mapping[Address, Change], one: Address) -> bool:
    return one in made and made[one].action.creates


def _without(change: Change, of: Routes, gone: Callable[[Address], bool]) -> Routes:
    lost = frozenset(one.name.casefold() for one in _routed(change, of) if gone(one))
    return {at: routes.without(shares, lost) for at, shares in of.items()}


def child(endpoint: Address, name: str) -> Address:
    """The address of a deployment of an endpoint."""
    (kind,) = children(endpoint.kind)
    return Address(kind.name, name, endpoint.name)
