"""Find references to what does not exist, or will be deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from mlctl.config.graph import Edge
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Address, Kind, Resource, Scope, kind_of, routes
from mlctl.kinds.address import LATEST
from mlctl.kinds.routes import Routes
from mlctl.planning.live_state import LiveState, names_in
from mlctl.planning.model import Action, ActionReason, Change

MISSING = Rule("MLC402", "missing-reference", Severity.ERROR)
NO_DATASTORE = Rule("MLC421", "no-such-datastore", Severity.WARNING)
IN_USE = Rule("MLC407", "still-in-use", Severity.ERROR)
DEFAULT_DELETED = Rule("MLC408", "default-deployment-deleted", Severity.ERROR)


_LEAVES = (ActionReason.PRUNED, ActionReason.SUPERSEDED)  # what follows the name is something else


def missing(resource: Resource, edge: Edge) -> Diagnostic:
    """Report a reference to something that is neither declared nor in the workspace.

    Of a path the service takes what it is told, and only jobs find that nothing is there.
    """
    target = edge.target
    noun = target.kind.replace("-", " ")
    name = str(target).partition("/")[2]
    label = edge.reference.label if edge.reference else None
    hint = "correct the name, or name its file: `./FILE.yml`"
    if target.version == LATEST:
        hint = f"`latest` is a label: write `azureml:{target.name}@{LATEST}`"
    elif kind_of(target).declared:
        creation = f"mlctl {target.kind} create -f FILE"
        hint = f"declare it in one of these files, or create it first: {creation}"
    rule = NO_DATASTORE if kind_of(target).arm.own_names else MISSING
    whole = f"{name}@{label}" if label else name
    message = f"there is no {noun} `{whole}` in these files or in the workspace"
    address = str(resource.address)
    return Diagnostic(rule, message, resource.label(edge.at), hint, address=address)


def default_deleted(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield deployments that would be deleted although their endpoint still sends them requests."""
    planned = {change.address: change for change in changes}
    for change in changes:
        above = change.address.up
        endpoint = live_state.live.get(above) if above else None
        if change.action is not Action.DELETE or endpoint is None:
            continue
        parent = planned.get(endpoint.address)
        if parent is None or not parent.action.deletes:
            kind = kind_of(endpoint.address)
            routed = dict(routes.routes(kind, endpoint.body))
            if parent is not None:
                default_for = {
                    at: parent.values[at]
                    for at in kind.plan.routes
                    if parent.values.get(at) is not None
                }
                routed |= {at: routes.shares(value) for at, value in default_for.items()}
            if routes.share(routed, change.address.name):
                message = f"{change.address} is {_describe_use(kind, routed, change.address.name)}"
                yield _report_deleted(DEFAULT_DELETED, change, message)


def _describe_use(kind: Kind, routed: Routes, name: str) -> str:
    if any(field.codec == "shares" for field in kind.route_fields):
        return f"to get {routes.share(routed, name):g} % of the requests to its endpoint"
    return f"the {kind.plan.routing} of its endpoint"


def in_use(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield resources that would be deleted although something that stays refers to them.

    Replacing a cluster does not harm its deployments, since the new one has the same name.
    Replacing an endpoint deletes its deployments, so all of them must be declared. Pruned or
    superseded resources may be in use by what the same plan points elsewhere.
    """
    deleted = {item.address for item in changes if item.action.deletes}
    declared = {item.address for item in changes if item.resource is not None}
    leaves = any(item.reason in _LEAVES for item in changes)
    users = _declared_users(changes) if leaves else {}
    for change in changes:
        used_by = live_state.used_by.get(change.address, []) if change.address in deleted else []
        if change.action is Action.REPLACE:
            used_by = [user for user in used_by if user.up == change.address]
        if change.reason in _LEAVES:
            declared_users = {
                address
                for at in (change.address, change.address.at(None))
                for address in users.get(at, ())
            }
            used_by = [user for user in used_by if user not in declared] + sorted(declared_users)
        remaining = [user for user in used_by if user not in deleted]
        if remaining:
            again = " and cannot be created again" if change.action is Action.REPLACE else ""
            message = f"{change.address} is still used by {_list_some(remaining)}{again}"
            yield _report_deleted(IN_USE, change, message)


def leaving(changes: Sequence[Change], scope: Scope) -> dict[Address, list[Address]]:
    """Return what refers to each address in the workspace and is updated by the plan.

    Pruned resources are deleted afterwards, when nothing refers to them any more.
    """
    users: dict[Address, list[Address]] = defaultdict(list)
    for change in changes:
        if change.action is Action.UPDATE and change.live is not None:
            for used in names_in(change.live, scope):
                users[used].append(change.address)
    return dict(users)


def _declared_users(changes: Sequence[Change]) -> dict[Address, list[Address]]:
    """Return the declared resources that will refer to each address, or be beneath it."""
    users: dict[Address, list[Address]] = defaultdict(list)
    for change in changes:
        if change.resource is not None:
            addresses = {reference.address for _, reference in change.resource.references()}
            for address in addresses | {change.resource.address.up}:
                if address is not None:
                    users[address].append(change.address)
    return users


def _report_deleted(rule: Rule, change: Change, message: str) -> Diagnostic:
    return change.finding(rule, message, change.label, rule.documented().fix)


def _list_some(addresses: Sequence[Address], limit: int = 3) -> str:
    names = ", ".join(map(str, sorted(addresses)[:limit]))
    return names + (f" and {len(addresses) - limit} more" if len(addresses) > limit else "")
