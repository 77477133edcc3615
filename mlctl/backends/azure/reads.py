"""Reading resources in few requests: a few of a kind one by one, more by a list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from mlctl.backends.azure.arm import WORKERS, ArmClient, path_of
from mlctl.backends.ports.backend import Live
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data, get
from mlctl.service_errors import OTHER_TYPE, NotFound, Permanent

FEW = 2  # up to so many of a kind are read one by one; of one endpoint's deployments, one
_ALL = {"listViewType": "All"}  # archived or disabled ones too

Body = Mapping[str, Data]
LiveResources = dict[Address, Live]
T = TypeVar("T")


def resource_path(address: Address, scope: Scope) -> str:
    """The ARM path of a resource; without a version, that of all versions."""
    collection = ALL[address.kind].collection
    above = resource_path(address.up, scope) if address.up else workspace_path(scope)
    version = ("versions", address.version) if address.version is not None else ()
    return above + path_of(collection, address.name, *version)


def workspace_path(scope: Scope) -> str:
    """The ARM path of the workspace."""
    names = scope.id.strip("/").split("/")
    return path_of(*names)


def run_concurrently(questions: Iterable[Callable[[], T]]) -> list[T]:
    """The results of independent requests, sent concurrently."""
    calls = list(questions)
    if len(calls) == 1:
        return [calls[0]()]
    with ThreadPoolExecutor(min(WORKERS, len(calls) or 1), thread_name_prefix="azure") as pool:
        return list(pool.map(lambda ask: ask(), calls))


class ResourceReader:
    """Reads the resources of one workspace."""

    def __init__(self, arm: ArmClient, scope: Scope) -> None:
        self._arm = arm
        self._scope = scope

    def questions(self, addresses: Collection[Address]) -> Iterator[Callable[[], LiveResources]]:
        """Independent requests whose results are the resources, of these addresses, that exist.

        Deployments are read by endpoint, versions by name: there is no list of all of them.
        """
        groups: dict[tuple[str, str], list[Address]] = defaultdict(list)
        for address in set(addresses):
            if _versioned(address.kind) and address.version is None:
                yield partial(self._newest, address)
                continue
            container = address.parent or (address.name if _versioned(address.kind) else "")
            groups[address.kind, container.casefold()].append(address)
        for (kind, _), group in groups.items():
            if len(group) > (1 if ALL[kind].parent else FEW):
                yield partial(self._select, group)
            else:
                yield from (partial(self._read_one, address) for address in group)

    def every(self, kind: str, parent: str | None = None) -> list[Live]:
        """All of a kind (of one parent), by parent and name; versions oldest first."""
        collection, holder = ALL[kind].collection, ALL[kind].parent
        version, query = ALL[kind].arm.api_version, _ALL if ALL[kind].content.job else {}
        if holder and parent is None:
            return self.all_of([kind])
        above = resource_path(Address(holder, parent), self._scope) if holder and parent else None
        root = (above or workspace_path(self._scope)) + path_of(collection)
        if _versioned(kind):
            names = [str(entry["name"]) for entry in self._arm.pages(root, version, **_ALL)]
            queries = [partial(self._versions, Address(kind, name)) for name in names]
            resources = [live for versions in run_concurrently(queries) for live in versions]
        else:
            return _by_name(kind, self._arm.pages(root, version, **query))
        return sorted(resources, key=lambda live: live.address.name.casefold())

    def _of_collection(self, *kinds: str) -> dict[str, list[Live]]:
        """All of each of the kinds of one collection, which is listed once."""
        if len(kinds) == 1:
            return {kinds[0]: self.every(kinds[0])}
        root = workspace_path(self._scope) + path_of(ALL[kinds[0]].collection)
        bodies = [*self._arm.pages(root, ALL[kinds[0]].arm.api_version)]
        return {kind: _by_name(kind, bodies) for kind in kinds}

    def all_of(self, kinds: Sequence[str]) -> list[Live]:
        """All of these kinds; there is no one list beneath all parents, which are listed once."""

        def of(kind: str, parent: str) -> list[Live]:
            try:
                return self.every(kind, parent)
            except NotFound:  # it was deleted just now
                return []

        lists: dict[str, list[Live]] = {}
        for kind in kinds:
            holder = ALL[kind].parent
            above = holder or kind
            if above not in lists:
                sharing = [name for name in ALL[above].arm.shared_with if name in kinds]
                lists |= self._of_collection(above, *sharing)
            if holder:
                queries = [partial(of, kind, live.address.name) for live in lists[holder]]
                lists[kind] = [live for lives in run_concurrently(queries) for live in lives]
        return [live for kind in kinds for live in lists[kind]]

    def _read_one(self, address: Address) -> LiveResources:
        version = ALL[address.kind].arm.api_version
        body = self._arm.find(resource_path(address, self._scope), version)
        if body is None:
            return {}
        if not _is_of_kind(address.kind, body):
            compute_type = get(body, ("properties", "computeType"))
            message = f"the name of {address} is taken by a compute of another type: {compute_type}"
            raise Permanent(OTHER_TYPE, message, status=409)
        return {address: _live(address.kind, body)}

    def _newest(self, address: Address) -> LiveResources:
        """The version created last, as the SDK asks for `@latest`."""
        query = {"$orderBy": "createdtime desc", "$top": "1"}
        versions = resource_path(address, self._scope) + path_of("versions")
        entries = (self._arm.find(versions, **query) or {}).get("value")
        return {address: _live(address.kind, entries[0])} if entries else {}

    def _select(self, addresses: list[Address]) -> LiveResources:
        first = addresses[0]
        try:
            if _versioned(first.kind):
                every = self._versions(first.at(None))
            else:
                every = self.every(first.kind, first.parent)
        except NotFound:  # of the parent, or of all versions
            return {}
        live_by_address = {live.address: live for live in every}
        return {
            address: live_by_address[address] for address in addresses if address in live_by_address
        }

    def _versions(self, address: Address) -> list[Live]:
        versions = resource_path(address, self._scope) + path_of("versions")
        versions_found = [_live(address.kind, body) for body in self._arm.pages(versions, **_ALL)]
        versions_found.reverse()  # the service lists the newest one first
        return sorted(
            versions_found, key=lambda live: str(get(live.body, ("systemData", "createdAt"), ""))
        )


def _versioned(kind: str) -> bool:
    return ALL[kind].versioned


def _is_of_kind(kind: str, body: Body) -> bool:
    """Whether a body is of the kind: computes are of many types, and a cluster is one."""
    live_type = ALL[kind].arm.live_type
    if live_type is None:
        return True
    at, type_name = live_type
    return str(get(body, at)).casefold() == type_name.casefold()


def _by_name(kind: str, bodies: Iterable[Body]) -> list[Live]:
    """What is of the kind, by name."""
    resources = [_live(kind, body) for body in bodies if _is_of_kind(kind, body)]
    return sorted(resources, key=lambda live: live.address.name.casefold())


def _live(kind: str, body: Body) -> Live:
    """A body with the address that its id says: nested names are spelt in more than one way."""
    parts = str(body.get("id") or body.get("name")).strip("/").split("/")  # schedule-list-enabled
    if _versioned(kind):
        return Live(Address(kind, parts[-3], None, parts[-1]), body)
    return Live(Address(kind, parts[-1], parts[-3] if ALL[kind].parent else None), body)
