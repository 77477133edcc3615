"""What the backend would reject, found in the plan before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mlctl import pointer
from mlctl.assets.local_files import JOB_DEFINITION
from mlctl.config.graph import Edge
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning.model import Action, Change
from mlctl.planning.preflight import pools, quota
from mlctl.planning.refresh import LiveState

MISSING = Rule(
    "MLC402",
    "missing-reference",
    Severity.ERROR,
    "a document names something that is neither declared nor in the workspace",
    "The service refuses a deployment whose model, environment, cluster or endpoint does not exist,"
    " and an endpoint whose default deployment does not exist. Planning asks the workspace for"
    " every name that the files do not declare.",
    "Declare it in the files that you pass, create it first, or correct the name.",
)
VERSION_TAKEN = Rule(
    "MLC403",
    "immutable-version",
    Severity.ERROR,
    "a version that exists already has other content",
    "The content of a version of a model or an environment never changes; only its description and"
    " tags do.",
    "Give the new content a new `version`, or leave `version` out to have the next one made.",
)
ALTERED = Rule(
    "MLC404",
    "altered-property",
    Severity.ERROR,
    "a property that the service does not let change",
    "The `properties` of endpoints and deployments can be added, but not removed or altered.",
    "Keep the value that is there, or use another key.",
    "Azure REST API: EndpointPropertiesBase.properties",
)
NAME_TAKEN = Rule(
    "MLC406",
    "name-taken",
    Severity.ERROR,
    "a name that must be unique in its region belongs to somebody else",
    "Names of computes and endpoints are unique within an Azure region, across workspaces.",
    "Choose another name.",
    "Create an Azure Machine Learning compute cluster: Compute name",
)
IN_USE = Rule(
    "MLC407",
    "still-in-use",
    Severity.ERROR,
    "something would be deleted that others still use",
    "A deployment whose cluster, model or environment is gone fails at its next job, and one whose"
    " endpoint is gone is lost. Making an endpoint anew deletes it first.",
    "Declare the deployments that use it in the files too, delete them, or point them elsewhere"
    " first.",
)
DEFAULT_DELETED = Rule(
    "MLC408",
    "default-deployment-deleted",
    Severity.ERROR,
    "the default deployment of an endpoint would be deleted",
    "The service refuses to delete the deployment that an endpoint sends its jobs to.",
    "Set another default first (`defaults.deployment_name`), or delete the endpoint with it.",
)
PLAN_RULES = (
    *(MISSING, VERSION_TAKEN, ALTERED, quota.QUOTA, NAME_TAKEN, IN_USE, DEFAULT_DELETED),
    pools.POOL_LIMIT,
    JOB_DEFINITION,
)


def missing(resource: Resource, edge: Edge) -> Diagnostic:
    """A reference that leads nowhere."""
    target = edge.target
    what = target.kind.replace("-", " ")
    name = str(target).partition("/")[2]
    label = edge.reference.label if edge.reference else None
    return Diagnostic(
        MISSING,
        f"there is no {what} `{name}{f'@{label}' if label else ''}`,"
        " neither in these files nor in the workspace",
        resource.label(edge.at),
        hint="declare it in a file that you pass, or create it first:"
        f" mlctl {target.kind} create -f FILE",
        address=str(resource.address),
    )


def immutable_version(change: Change, resource: Resource) -> Diagnostic:
    """New content for a version that exists."""
    fixed = [one for one in change.fields if one.forces_replacement]
    names = ", ".join(f"`{pointer.dotted(one.at)}`" for one in fixed)
    return Diagnostic(
        VERSION_TAKEN,
        f"{change.address} exists with another {names}; the content of a version never changes",
        resource.label(("version",)),
        hint="give the new content a new `version`",
        address=str(change.address),
    )


def altered(change: Change, resource: Resource) -> Iterator[Diagnostic]:
    """Add-only properties with another value than the one that is there."""
    for one in change.fields:
        field = resource.form.field(one.at[:-1])
        if field is not None and field.additive and one.before is not None:
            yield Diagnostic(
                ALTERED,
                f"`{pointer.dotted(one.at)}` is {one.before!r} and cannot be altered",
                resource.label(one.at),
                hint=f"write {one.before!r}, or use another key",
                address=str(change.address),
            )


def refusals(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Names, quotas, and what others still use."""
    yield from _names(changes, live_state)
    yield from quota.exceeded(changes, live_state)
    yield from pools.too_large(changes, live_state)
    yield from _in_use(changes, live_state)


def removals(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """What others still use, and default deployments whose endpoint stays."""
    yield from _in_use(changes, live_state)
    gone = {change.address for change in changes}
    for change in changes:
        endpoint = live_state.live.get(change.address.up) if change.address.up else None
        if endpoint is not None and endpoint.address not in gone:
            default = pointer.get(endpoint.body, ("properties", "defaults", "deploymentName"))
            if default and str(default).casefold() == change.address.name.casefold():
                what = f"{change.address} is the default deployment of its endpoint"
                yield _removal(DEFAULT_DELETED, change, what)


def _in_use(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """What is deleted while something that stays stands on it.

    A cluster that is made anew comes back under its name, and its deployments stay as they are; an
    endpoint that is made anew takes those with it that no file declares.
    """
    gone = {one.address for one in changes if "delete" in one.action.value}
    for change in changes:
        used_by = live_state.used_by.get(change.address, []) if change.address in gone else []
        if change.action is Action.REPLACE:
            used_by = [one for one in used_by if one.up == change.address]
        left = [one for one in used_by if one not in gone]
        if left:
            again = " and cannot be made anew" if change.action is Action.REPLACE else ""
            what = f"{change.address} is still used by {_some(left)}{again}"
            yield _removal(IN_USE, change, what)


def _removal(rule: Rule, change: Change, message: str) -> Diagnostic:
    return Diagnostic(rule, message, change.label, hint=rule.fix, address=str(change.address))


def _some(addresses: Sequence[Address], shown: int = 3) -> str:
    named = ", ".join(map(str, sorted(addresses)[:shown]))
    return named + (f" and {len(addresses) - shown} more" if len(addresses) > shown else "")


def _names(changes: Iterable[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    for change in changes:
        who = live_state.taken.get(change.address)
        if who is not None and "create" in change.action.value and change.resource:
            yield Diagnostic(
                NAME_TAKEN,
                f"the name `{change.address.name}` is taken in its region: {who}",
                change.resource.label(("name",)),
                hint="choose another name",
                address=str(change.address),
            )


# A quota: its region, and the VM family or other name that `Usage` has for it.
