"""What the backend would reject, found in the plan before anything is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from mlctl import catalog, pointer
from mlctl.changes import Action, Change
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.graph import Edge
from mlctl.kinds.address import Address
from mlctl.kinds.kind import decode
from mlctl.kinds.resource import Resource
from mlctl.survey import Survey, location_of

MISSING = Rule(
    "MLC402",
    "missing-reference",
    Severity.ERROR,
    "a document names something that is neither declared nor in the workspace",
    "The service refuses a deployment whose model, environment, cluster or endpoint does not exist, and an endpoint"
    " whose default deployment does not exist. Planning asks the workspace for every name that the files do not"
    " declare.",
    "Declare it in the files that you pass, create it first, or correct the name.",
)
VERSION_TAKEN = Rule(
    "MLC403",
    "immutable-version",
    Severity.ERROR,
    "a version that exists already has other content",
    "The content of a version of a model or an environment never changes; only its description and tags do.",
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
QUOTA = Rule(
    "MLC405",
    "quota-exceeded",
    Severity.ERROR,
    "the clusters would need more cores than the quota has",
    "Every cluster counts with `max_instances` times the cores of its size, whether its nodes run or not. Dedicated"
    " cores are limited per VM family and in total, low-priority cores by one number for all families.",
    "Lower `max_instances`, delete clusters that nobody uses, or ask for more quota.",
    "Manage and increase quotas; Create an Azure Machine Learning compute cluster, section Delete",
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
    "A deployment whose cluster, model or environment is gone fails at its next job.",
    "Delete the deployments that use it too, or point them at something else first.",
)
DEFAULT_DELETED = Rule(
    "MLC408",
    "default-deployment-deleted",
    Severity.ERROR,
    "the default deployment of an endpoint would be deleted",
    "The service refuses to delete the deployment that an endpoint sends its jobs to.",
    "Set another default first (`defaults.deployment_name`), or delete the endpoint with it.",
)
PLAN_RULES = (MISSING, VERSION_TAKEN, ALTERED, QUOTA, NAME_TAKEN, IN_USE, DEFAULT_DELETED)


def missing(resource: Resource, edge: Edge) -> Diagnostic:
    """A reference that leads nowhere."""
    target = edge.target
    what = target.kind.replace("-", " ")
    return Diagnostic(
        MISSING,
        f"there is no {what} `{str(target).partition('/')[2]}`, neither in these files nor in the workspace",
        resource.label(edge.at),
        hint=f"declare it in a file that you pass, or create it first: mlctl {target.kind} create -f FILE",
        address=str(resource.address),
    )


def immutable_version(change: Change) -> Diagnostic:
    """New content for a version that exists."""
    names = ", ".join(
        f"`{pointer.dotted(one.at)}`" for one in change.fields if one.forces_replacement
    )
    resource = change.resource
    assert resource is not None
    return Diagnostic(
        VERSION_TAKEN,
        f"{change.address} exists with another {names}; the content of a version never changes",
        resource.label(("version",)),
        hint="give the new content a new `version`",
        address=str(change.address),
    )


def altered(change: Change) -> Iterator[Diagnostic]:
    """Add-only properties with another value than the one that is there."""
    resource = change.resource
    assert resource is not None
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


def refusals(changes: Sequence[Change], world: Survey) -> Iterator[Diagnostic]:
    """Quotas and names."""
    yield from _names(changes, world)
    for location in world.usage:
        yield from _quotas(changes, world, location)


def removals(changes: Sequence[Change], world: Survey) -> Iterator[Diagnostic]:
    """What others still use, and default deployments whose endpoint stays."""
    gone = {change.address for change in changes}
    for change in changes:
        left = [
            one
            for one in world.users.get(change.address, [])
            if one not in gone and one.up not in gone
        ]
        if left:
            yield _removal(IN_USE, change, f"{change.address} is still used by {_some(left)}")
        endpoint = world.live.get(change.address.up) if change.address.up else None
        if endpoint is not None and endpoint.address not in gone:
            default = pointer.get(endpoint.body, ("properties", "defaults", "deploymentName"))
            if default and str(default).casefold() == change.address.name.casefold():
                yield _removal(
                    DEFAULT_DELETED,
                    change,
                    f"{change.address} is the default deployment of its endpoint",
                )


def _removal(rule: Rule, change: Change, message: str) -> Diagnostic:
    return Diagnostic(rule, message, change.label, hint=rule.fix, address=str(change.address))


def _some(addresses: Sequence[Address]) -> str:
    shown = ", ".join(map(str, sorted(addresses)[:3]))
    return shown + (f" and {len(addresses) - 3} more" if len(addresses) > 3 else "")


def _names(changes: Iterable[Change], world: Survey) -> Iterator[Diagnostic]:
    for change in changes:
        if change.action is Action.CREATE and change.address in world.taken and change.resource:
            yield Diagnostic(
                NAME_TAKEN,
                f"the name `{change.address.name}` is taken in its region: {world.taken[change.address]}",
                change.resource.label(("name",)),
                hint="choose another name",
                address=str(change.address),
            )


def _quotas(changes: Sequence[Change], world: Survey, location: str) -> Iterator[Diagnostic]:
    """Each quota that the plan as a whole would exceed, at every cluster that asks for more of it."""
    usage = {one.family: one for one in world.usage[location]}
    wanted: dict[str, int] = defaultdict(int)
    askers: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        if change.address.kind != "compute" or change.resource is None:
            continue
        if location_of(change.resource, world.location) != location:
            continue
        before, after = _held(change, world), _asked(change)
        for family in before.keys() | after.keys():
            more = after.get(family, 0) - before.get(family, 0)
            wanted[family] += more
            if more > 0:
                askers[family].append(change)
    for family, more in wanted.items():
        quota = usage.get(family)
        if quota is None or quota.limit is None or more <= 0 or quota.used + more <= quota.limit:
            continue
        for change in askers[family]:
            yield _over(change, family, location, quota.used, more, quota.limit)


def _over(
    change: Change, family: str, location: str, used: int, more: int, limit: int
) -> Diagnostic:
    resource = change.resource
    assert resource is not None
    unit = "computes" if family == "computes" else "cores"
    return Diagnostic(
        QUOTA,
        f"{location} allows {limit} {_WORDS.get(family, family)} {unit}; {used} are taken and this plan asks for"
        f" {more} more",
        resource.label(("max_instances",)),
        hint="lower `max_instances`, delete clusters that nobody uses, or ask for more quota",
        address=str(change.address),
    )


_WORDS = {"low_priority": "low-priority", "total": "dedicated", "computes": ""}


def _asked(change: Change) -> dict[str, int]:
    values = change.values
    return _cores(values.get(("size",)), values.get(("tier",)), values.get(("max_instances",)))


def _held(change: Change, world: Survey) -> dict[str, int]:
    if change.live is None or change.resource is None:
        return {}
    values = decode(change.live.body, change.resource.form, world.scope)
    return _cores(values.get(("size",)), values.get(("tier",)), values.get(("max_instances",)))


def _cores(size: object, tier: object, nodes: object) -> dict[str, int]:
    """Cores by quota: one number for low priority, family and total for dedicated; and one compute."""
    known = catalog.find_size(str(size))
    if known is None or not isinstance(nodes, int):
        return {"computes": 1}
    cores = known.vcpus * nodes
    if str(tier).replace("_", "").casefold() == "lowpriority":
        return {"computes": 1, "low_priority": cores}
    return {"computes": 1, "total": cores, known.family: cores}
