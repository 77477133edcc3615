"""Checks of a write against the state of other resources."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection

from mlctl.kinds import children, routes
from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.facts import NOTHING, Claims
from mlctl.kinds.values import claims, effective_in_body
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.resources import operations, quota
from mlctl.simulator.control_plane.resources.quota import Excess
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.errors import busy, conflict
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.settings import BusyPolicy, InUsePolicy

_NAMED = 3  # at most as many users are named in a message


def refuse_busy(db: Connection, old: StoredResource | None, now: float) -> None:
    """Check that no operation runs on a resource.

    Raises:
        ServiceError: one is running; says in how many seconds to retry.
    """
    if old is not None and old.operation is not None:
        running = operations.find(db, old.operation)
        raise busy(old.address, old.state, running.due - now if running else 0.0)


def refuse_busy_endpoint(db: Connection, state: WorkspaceState, address: Address) -> None:
    """Check that no operation runs on the endpoint that a write is at or under.

    Raises:
        ServiceError: one runs on it, or on anything under it.
    """
    policy = state.settings.busy_endpoints
    if policy is not BusyPolicy.ALL and not address.kind.startswith(policy.value):
        return
    endpoint = address.up or address
    beneath = (
        resource
        for kind in children(endpoint.kind)
        for resource in rows.list_resources(db, state.id, kind.name, endpoint.name)
    )
    for resource in (rows.find(db, state.id, endpoint), *beneath):
        if resource is not None and resource.operation is not None:
            running = operations.find(db, resource.operation)
            seconds = running.due - state.now if running else 0.0
            raise busy(resource.address, resource.state, seconds, "Conflict")


def refuse_taken(db: Connection, state: WorkspaceState, address: Address, region: str) -> None:
    """Check that the name is free in its region, and that the parent has room.

    The error codes are unverified.

    Raises:
        ServiceError: another workspace of the subscription has the name, or the parent is full.
    """
    kind = kind_of(address)
    if kind.arm.unique_in_region:
        owner = rows.name_owners(db, state, {address: region}).get(address)
        if owner:
            text = f"The name `{address.name}` is taken in region {region} by workspace `{owner}`."
            raise conflict(text, "NameAlreadyTaken")
    limit = kind.quota.limit_per_parent
    if limit is not None and rows.count_siblings(db, state.id, address) >= limit:
        children = kind.collection.lower()
        text = f"The endpoint `{address.parent}` has reached its limit of {limit} {children}."
        raise Permanent("QuotaExceeded", text)


def claims_of(state: WorkspaceState, address: Address, body: Mapping[str, Data]) -> Claims:
    """Return what a resource with this body claims of the quotas."""
    kind = kind_of(address)
    value = effective_in_body(kind, body, state.scope)
    return claims(kind, value, str(body.get("location", state.location)))


def excess_of(
    db: Connection, state: WorkspaceState, new_claims: Claims, old_claims: Claims
) -> Excess | None:
    """Return the first quota that the claims exceed; claims that do not grow always pass."""
    subscription, limits = state.scope.subscription, _limits(db, state, new_claims)
    regions = {region for region, _ in new_claims}
    used = {region: rows.quotas_used(db, subscription, region) for region in regions}
    for (region, name), claim in new_claims.items():
        mine = old_claims.get((region, name), NOTHING)
        limit = limits[region, name]
        if limit is None:
            continue
        used_by_others = used[region].get(name, 0) - mine.most
        if claim.is_counted(state.settings.quota_refuses):
            if claim.most > mine.most and used_by_others + claim.most > limit:
                return Excess(name, region, limit, used_by_others, claim)
        elif claim.exceeds(mine, limit):
            return Excess(name, region, limit, 0, claim)
    return None


def core_quotas(db: Connection, state: WorkspaceState, new_claims: Claims) -> list[list[Data]]:
    """Return the core quotas of the claims, with limits: the engine holds nodes to them."""
    limits = _limits(db, state, new_claims)
    return [
        [quota.engine_name(state.scope.subscription, region, name), limits[region, name]]
        for (region, name), claim in new_claims.items()
        if claim.least is not None and limits[region, name] is not None
    ]


def _limits(
    db: Connection, state: WorkspaceState, claims: Claims
) -> dict[tuple[str, str], int | None]:
    """Return the limits of the claims' quotas: as set, else the default."""
    regions = {region for region, _ in claims}
    as_set = {region: rows.quota_limits(db, state.scope.subscription, region) for region in regions}
    return {
        (region, name): as_set[region][name]
        if name in as_set[region]
        else quota.default(name, state.settings)
        for region, name in claims
    }


def refuse_used(db: Connection, state: WorkspaceState, old: StoredResource) -> None:
    """Check that a resource may be deleted: a default deployment never, one in use by setting.

    Raises:
        ServiceError: it is in use.
    """
    address = old.address
    above = rows.find(db, state.id, address.up) if address.up else None
    routed = routes.routes(kind_of(above.address), above.body) if above else {}
    if above and routes.share(routed, address.name):
        routing = kind_of(above.address).plan.routing
        text = (
            f"The deployment `{address.name}` is in the {routing} of endpoint `{address.parent}`."
        )
        raise conflict(text, "DeploymentInUse")
    users = rows.referrers(db, state.id, address)
    if users and state.settings.in_use is InUsePolicy.REFUSE:
        further = f" and {len(users) - _NAMED} more" if len(users) > _NAMED else ""
        user_names = ", ".join(f"`{user}`" for user in users[:_NAMED])
        text = f"`{address}` is still used by {user_names}{further}."
        raise conflict(text, f"{address.kind.capitalize()}InUse")
