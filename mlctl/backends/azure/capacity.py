"""Read quotas and VM sizes of a region, and the names taken in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from threading import Lock

from mlctl import catalog
from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.reads import run_concurrently
from mlctl.backends.ports.backend import Usage
from mlctl.catalog import Size, limits
from mlctl.dataclasses import replace
from mlctl.kinds.address import PROVIDER, Address, Scope
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data, get
from mlctl.service_errors import ServiceError

_MOST_WORKSPACES = 32  # workspaces of a region that are read; names in others count as free
# Type of a usage -> the quota (recorded: api-version 2024-04-01, card usages-list).
_TOTALS = {
    "totalclusters": limits.COMPUTES_QUOTA,
    "totaldedicatedcores": limits.DEDICATED_QUOTA,
    "totallowprioritycores": limits.LOW_PRIORITY_QUOTA,
}
_DEDICATED, _LOW_PRIORITY = "vmfamily/dedicatedcores", "vmfamily/lowprioritycores"


def usage(arm: ArmClient, scope: Scope, location: str, names: Collection[str] = ()) -> list[Usage]:
    """Return cores and clusters in use in a region, and their limits.

    A workspace may have its own lower limit for a VM family (recorded: card quotas-list). It is
    read if one of the quotas `names` is a family's dedicated cores, or none is named.
    """
    of_families = [name for name in names if not _is_of_subscription(name)]
    collections = ("usages", "quotas") if of_families or not names else ("usages",)
    usages, *quota_lists = run_concurrently(
        partial(_rows, arm, scope, location, collection) for collection in collections
    )
    quotas = quota_lists[0] if quota_lists else []
    of_workspace = scope.id.casefold() + "/quotas/"
    lower = {
        catalog.family(str(get(body, ("name", "value")))): body["limit"]
        for body in quotas
        if str(body.get("id")).casefold().startswith(of_workspace)
        and isinstance(body.get("limit"), int)
        and body["limit"] >= 0
    }
    return [
        replace(quota, limit=min(lower.get(quota.family, limit), limit))
        if (limit := quota.limit) is not None
        else replace(quota, limit=lower.get(quota.family))
        for body in usages
        for quota in _usage(body)
    ]


def _is_of_subscription(name: str) -> bool:
    """Whether a quota is a total or low-priority: workspaces have none of their own."""
    return name in _TOTALS.values() or name.startswith(limits.low_priority_of(""))


def _rows(arm: ArmClient, scope: Scope, location: str, collection: str) -> list[dict[str, Data]]:
    try:
        return list(arm.pages(_place(scope, location, collection)))
    except ServiceError:
        if collection == "usages":
            raise
        return []  # without permission, the subscription's quotas count


def sizes(arm: ArmClient, scope: Scope, location: str) -> list[Size]:
    """Return the VM sizes of a region that clusters can have."""
    return [
        _size(body)
        for body in arm.pages(_place(scope, location, "vmSizes"))
        if "AmlCompute" in (body.get("supportedComputeTypes") or ["AmlCompute"])
    ]


class OtherWorkspaces:
    """The other visible workspaces of a subscription, each read at most once."""

    def __init__(self, arm: ArmClient, scope: Scope) -> None:
        self._arm = arm
        self._scope = scope
        self._names: dict[tuple[str, str], Mapping[str, str]] = {}
        self._workspaces: list[Mapping[str, Data]] | None = None
        self._looking = Lock()

    def owner(self, address: Address, location: str) -> str | None:
        """Return the workspace that has a name in a region; None if no visible one has it."""
        with self._looking:
            key = (address.kind, location)
            if key not in self._names:
                self._names[key] = self._taken(address.kind, location)
            return self._names[key].get(address.name.casefold())

    def _taken(self, kind: str, location: str) -> Mapping[str, str]:
        """Return name -> workspace for everything that other workspaces have in a region."""
        if self._workspaces is None:
            path = path_of(
                "subscriptions", self._scope.subscription, "providers", PROVIDER, "workspaces"
            )
            workspace_id = self._scope.id.casefold()
            listed = self._quietly(path)
            workspaces = [body for body in listed if str(body.get("id")).casefold() != workspace_id]
            self._workspaces = workspaces[:_MOST_WORKSPACES]
        queries = [
            partial(self._named, workspace, kind, location) for workspace in self._workspaces
        ]
        return (
            {name: owner for names in run_concurrently(queries) for name, owner in names}
            if queries
            else {}
        )

    def _named(
        self, workspace: Mapping[str, Data], kind: str, location: str
    ) -> list[tuple[str, str]]:
        path = str(workspace["id"]) + path_of(ALL[kind].collection)
        return [
            (str(resource["name"]).casefold(), str(workspace["name"]))
            for resource in self._quietly(path)
            if catalog.region(resource.get("location") or workspace.get("location")) == location
        ]

    def _quietly(self, path: str) -> Iterable[Mapping[str, Data]]:
        """Return the items of a list; none if the caller may not read it."""
        try:
            return list(self._arm.pages(path))
        except ServiceError:
            return ()


def _place(scope: Scope, location: str, collection: str) -> str:
    names = ("subscriptions", scope.subscription, "providers", PROVIDER)
    return path_of(*names, "locations", location, collection)


def _usage(body: Mapping[str, Data]) -> Iterator[Usage]:
    """Yield a total, or the cores of a VM family; a limit of -1 means no own limit."""
    sort = str(body.get("type")).partition("/")[2].casefold().removesuffix("/usages")
    limit, used = body.get("limit"), int(body.get("currentValue") or 0)
    allowed = limit if isinstance(limit, int) and limit >= 0 else None
    family = catalog.family(str(get(body, ("name", "value"))))
    if sort in _TOTALS:
        yield Usage(_TOTALS[sort], used, allowed)
    elif sort == _DEDICATED:
        yield Usage(family, used, allowed)
    elif sort == _LOW_PRIORITY:
        yield Usage(limits.low_priority_of(family), used, allowed)


def _size(body: Mapping[str, Data]) -> Size:
    name = str(body.get("name"))
    size = catalog.find_size(name)  # the service does not say which GPUs they have
    prices = get(body, ("estimatedVMPrices", "values"), []) or []
    usual = [
        float(price["retailPrice"])
        for price in prices
        if price.get("retailPrice") is not None
        and (price.get("osType"), price.get("vmTier")) == ("Linux", "Standard")
    ]
    return Size(
        name,
        str(body.get("family") or ""),
        int(body.get("vCPUs") or 0),
        float(body.get("memoryGB") or 0),
        int(body.get("gpus") or 0),
        size.gpu_type if size else "",
        body.get("lowPriorityCapable"),
        min(usual, default=None),  # a size may have several (recorded: card vmsizes-list)
    )
