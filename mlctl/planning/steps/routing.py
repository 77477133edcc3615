"""Decide where an endpoint's requests go while a plan is applied. Pure.

The service sends none to a deployment that does not exist, and deletes none that gets some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlctl.dataclasses import dataclass
from mlctl.kinds import Address, children, kind_of, routes
from mlctl.kinds.routes import Routes
from mlctl.planning.model import Action, Change, FieldChange


@dataclass(frozen=True, slots=True)
class Routing:
    """The requests of an endpoint during a plan.

    - `was`, `planned`: where they go before and after it. - `early`: where they go until the
    `pending` deployments exist. - `pending`: deployments that the plan creates, or changes before
    they get more requests. - `last`: deployments that are deleted once others have taken over for
    good.
    """

    was: Routes
    planned: Routes
    early: Routes
    pending: frozenset[Address]
    last: frozenset[Address]

    @property
    def moves_early(self) -> bool:
        """Whether requests must move before the deployments are created."""
        return not all(routes.same(self.early[at], self.was[at]) for at in self.was)


def routing(
    change: Change,
    changes: Mapping[Address, Change],
    deleted: Mapping[Address, Change],
    may_wait: Callable[[Address, frozenset[Address]], bool],
) -> Routing:
    """Compute the routing of an endpoint.

    `changes` are the plan's, by address; `deleted` are those that delete or replace. `may_wait`
    says whether a delete may wait for writes of some addresses.
    """
    planned, was = _planned_and_live(change)
    if change.action is Action.REPLACE:  # the others are deleted with the old endpoint
        planned = _without_deployments(
            change,
            planned,
            lambda deployment: deployment in deleted and not _creates(changes, deployment),
        )
    pending = frozenset(_pending(change, planned, was, changes))
    if not pending:
        return Routing(was, planned, planned, pending, frozenset())
    last = frozenset(
        deployment
        for deployment in _deployments_of(change, was)
        if deployment in deleted
        and change.action is not Action.REPLACE
        and may_wait(deployment, pending)
    )
    early = _without_deployments(
        change, was, lambda deployment: deployment in deleted and deployment not in last
    )
    return Routing(was, planned, early, pending, last)


def is_route(change: Change, field: FieldChange) -> bool:
    """Whether a field's change is about where requests go."""
    return any(field.at[: len(at)] == at for at in kind_of(change.address).plan.routes)


def routed_by(endpoint: Address, field: FieldChange) -> list[Address]:
    """Return the deployments that get requests by a new value of a field."""
    deployments: list[Address] = []
    for at in kind_of(endpoint).plan.routes:
        if field.at[: len(at)] == at:
            key = {str(field.at[-1]): field.after} if field.at != at else field.after
            deployments += [child(endpoint, name) for name in routes.shares(key)]
    return deployments


def _planned_and_live(change: Change) -> tuple[Routes, Routes]:
    """Return where requests will go, and where they go now."""
    kind = kind_of(change.address)
    live = routes.routes(kind, change.live.body if change.live else {})
    if change.in_motion:
        return live, live
    declared = {
        at: routes.shares(change.values[at]) for at in kind.plan.routes if at in change.values
    }
    return {**live, **declared}, live


def _pending(
    change: Change, planned: Routes, was: Routes, changes: Mapping[Address, Change]
) -> set[Address]:
    deployments = set[Address]()
    for at, shares in planned.items():
        for name, part in shares.items():
            deployment_change = changes.get(child(change.address, name))
            grows = part > routes.share({at: was[at]}, name)
            if deployment_change and (
                deployment_change.action.creates
                or (deployment_change.action is Action.UPDATE and grows)
            ):
                deployments.add(deployment_change.address)
    return deployments


def _deployments_of(change: Change, of: Routes) -> set[Address]:
    return {child(change.address, name) for shares in of.values() for name in shares}


def _creates(changes: Mapping[Address, Change], deployment: Address) -> bool:
    return deployment in changes and changes[deployment].action.creates


def _without_deployments(
    change: Change, of: Routes, is_deleted: Callable[[Address], bool]
) -> Routes:
    lost = frozenset(
        deployment.name.casefold()
        for deployment in _deployments_of(change, of)
        if is_deleted(deployment)
    )
    return {at: routes.without(shares, lost) for at, shares in of.items()}


def child(endpoint: Address, name: str) -> Address:
    """Return the address of a deployment of an endpoint."""
    (kind,) = children(endpoint.kind)
    return Address(kind.name, name, endpoint.name)
