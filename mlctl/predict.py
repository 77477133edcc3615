"""What the backend would reject, found in the plan before anything is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mlctl import catalog, pointer, predict_pools
from mlctl.backends.base import Usage
from mlctl.changes import Action, Change
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.graph import Edge
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address
from mlctl.kinds.kind import decode
from mlctl.kinds.resource import Resource
from mlctl.localize import JOB_DEFINITION
from mlctl.pointer import Data, Pointer
from mlctl.survey import Survey

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
QUOTA = Rule(
    "MLC405",
    "quota-exceeded",
    Severity.ERROR,
    "the clusters would need more cores than the quota has",
    "Every cluster counts with `max_instances` times the cores of its size, whether its nodes run"
    " or not. Dedicated cores are limited per VM family and in total, low-priority cores by one"
    " number for all families.",
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
    *(MISSING, VERSION_TAKEN, ALTERED, QUOTA, NAME_TAKEN, IN_USE, DEFAULT_DELETED),
    predict_pools.POOL_LIMIT,
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


def refusals(changes: Sequence[Change], world: Survey) -> Iterator[Diagnostic]:
    """Names, quotas, and what others still use."""
    yield from _names(changes, world)
    yield from _quotas(changes, world)
    yield from predict_pools.too_large(changes, world)
    yield from _in_use(changes, world)


def removals(changes: Sequence[Change], world: Survey) -> Iterator[Diagnostic]:
    """What others still use, and default deployments whose endpoint stays."""
    yield from _in_use(changes, world)
    gone = {change.address for change in changes}
    for change in changes:
        endpoint = world.live.get(change.address.up) if change.address.up else None
        if endpoint is not None and endpoint.address not in gone:
            default = pointer.get(endpoint.body, ("properties", "defaults", "deploymentName"))
            if default and str(default).casefold() == change.address.name.casefold():
                what = f"{change.address} is the default deployment of its endpoint"
                yield _removal(DEFAULT_DELETED, change, what)


def waits(changes: Sequence[Change], world: Survey) -> dict[Address, tuple[Address, ...]]:
    """What must not grow before others have shrunk or gone, because a quota is tight."""
    found: dict[Address, tuple[Address, ...]] = {}
    for pool, moves in _moves(changes, world).items():
        limit = _limit(pool, world)
        if limit is None or limit.limit is None:
            continue
        growth = sum(move.more for move in moves if move.more > 0)
        asking = [move.change.address for move in moves if move.asks]
        freed = [move.change.address for move in moves if move.more < 0]
        if limit.used + growth > limit.limit:
            for address in asking:
                others = (one for one in freed if one != address)
                found[address] = (*found.get(address, ()), *others)
    return {address: freed for address, freed in found.items() if freed}


def _in_use(changes: Sequence[Change], world: Survey) -> Iterator[Diagnostic]:
    """What is deleted while something that stays stands on it.

    A cluster that is made anew comes back under its name, and its deployments stay as they are; an
    endpoint that is made anew takes those with it that no file declares.
    """
    gone = {one.address for one in changes if "delete" in one.action.value}
    for change in changes:
        used_by = world.users.get(change.address, []) if change.address in gone else []
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


def _names(changes: Iterable[Change], world: Survey) -> Iterator[Diagnostic]:
    for change in changes:
        who = world.taken.get(change.address)
        if who is not None and "create" in change.action.value and change.resource:
            yield Diagnostic(
                NAME_TAKEN,
                f"the name `{change.address.name}` is taken in its region: {who}",
                change.resource.label(("name",)),
                hint="choose another name",
                address=str(change.address),
            )


# A quota: its region, and the VM family or other name that `Usage` has for it.
_Pool: TypeAlias = tuple[str, str]


def _quotas(changes: Sequence[Change], world: Survey) -> Iterator[Diagnostic]:
    """Each quota that the plan as a whole would exceed, at everything that asks for more."""
    for pool, moves in _moves(changes, world).items():
        limit, more = _limit(pool, world), sum(move.more for move in moves)
        if limit is None or limit.limit is None or limit.used + more <= limit.limit:
            continue
        for change in (move.change for move in moves if move.asks):
            if change.resource is not None:
                if pool == predict_pools.POOLS:
                    yield predict_pools.too_many(change, change.resource, limit, more)
                else:
                    yield _over(change, change.resource, pool, limit, more)


def _over(change: Change, resource: Resource, pool: _Pool, limit: Usage, more: int) -> Diagnostic:
    region, family = pool
    what = {
        "computes": "computes",
        "total": "dedicated cores",
        "low_priority": "low-priority cores",
    }.get(family, f"{family} cores")
    asked = (
        f"{limit.used} are taken and this plan asks for {more} more"
        if more > 0
        else f"{limit.used + more} would be taken once this is made"
    )
    return Diagnostic(
        QUOTA,
        f"{region} allows {limit.limit} {what}; {asked}",
        resource.label(("max_instances",)),
        hint="lower `max_instances`, delete clusters that nobody uses, or ask for more quota",
        address=str(change.address),
    )


def _limit(pool: _Pool, world: Survey) -> Usage | None:
    region, family = pool
    return next((one for one in world.usage.get(region, ()) if one.family == family), None)


@dataclass(frozen=True, slots=True)
class _Move:
    """How much `more`, or less, of a quota a change takes.

    It `asks` for it where it grows, and where it is made anew: what was given back is not kept.
    """

    change: Change
    more: int
    asks: bool


def _moves(changes: Sequence[Change], world: Survey) -> dict[_Pool, list[_Move]]:
    """What every change of a cluster or a Batch Pool means for each quota."""
    found: dict[_Pool, list[_Move]] = defaultdict(list)
    for change in changes:
        if change.action is not Action.NO_OP and change.address.kind in ("compute", "batch-pool"):
            had, wanted = _claims(change, world)
            for pool in sorted(had.keys() | wanted.keys()):
                more = wanted.get(pool, 0) - had.get(pool, 0)
                made = change.action in (Action.CREATE, Action.REPLACE)
                anew = made and wanted.get(pool, 0) > 0
                if more or anew:
                    found[pool].append(_Move(change, more, more > 0 or anew))
    return found


def _claims(change: Change, world: Survey) -> tuple[dict[_Pool, int], dict[_Pool, int]]:
    """What a resource holds of the quotas, and what it would hold after the change."""
    live = change.live or world.leaving.get(change.address)
    if change.address.kind == "batch-pool":
        return (
            {predict_pools.POOLS: 1} if live else {},
            {predict_pools.POOLS: 1} if change.action is not Action.DELETE else {},
        )
    form = kind_of(change.address).forms[0]
    had = decode(live.body, form, world.scope, own=False) if live else {}
    held = _cores(had, world.location) if live else {}
    if change.action is Action.DELETE:
        return held, {}
    kept = had if change.live else {}
    return held, _cores({**kept, **change.values}, world.location)


def _cores(values: Mapping[Pointer, Data], location: str) -> dict[_Pool, int]:
    """Cores by quota: one number for low priority, family and total for dedicated; one compute."""
    region = str(values.get(("location",), location)).replace(" ", "").lower()
    known, nodes = catalog.find_size(str(values.get(("size",)))), values.get(("max_instances",))
    cores = known.vcpus * nodes if known and isinstance(nodes, int) else 0
    if str(values.get(("tier",))).replace("_", "").casefold() == "lowpriority":
        return {(region, "computes"): 1, (region, "low_priority"): cores}
    family = {(region, known.family): cores} if known else {}
    return {(region, "computes"): 1, (region, "total"): cores, **family}
