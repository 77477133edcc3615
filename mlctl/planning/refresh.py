"""Read the live state that a plan is computed from, in batches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from mlctl.backends.ports.backend import (
    Backend,
    Live,
    SupportsCode,
    SupportsNames,
    SupportsRegistries,
    SupportsUsage,
    Usage,
)
from mlctl.catalog import limits
from mlctl.config.graph import Graph
from mlctl.kinds import KINDS, Address, Resource, children
from mlctl.kinds.facts import QuotaRefusal, UploadTarget
from mlctl.kinds.values import claims, complete, effective, moving, state
from mlctl.planning.diff import differences
from mlctl.planning.live_state import DecodedBodies, LiveState, names_in, region, users_of
from mlctl.planning.model import Unfinished
from mlctl.planning.ownership.owner import owner
from mlctl.pointer import Data, Pointer
from mlctl.service_errors import ServiceError

_OF_REGISTRY = (
    r"azureml://registries/(?P<registry>[^/]+)/(?P<collection>[^/]+)/(?P<name>[^/]+)/labels/latest"
)
_REGION: Pointer = ("location",)


def refresh(
    graph: Graph,
    backend: Backend,
    *,
    destroying: bool = False,
    of: str | None = None,
    superseded: Collection[Address] = (),
    unfinished: Collection[Unfinished] = (),
) -> LiveState:
    """Read every declared resource, what it refers to, quotas, and taken names.

    `used_by` is read only if something may be deleted: it means listing every endpoint. Resources
    owned by the project `of` mean listing everything. `superseded` resources are read, too. Of
    `unfinished`, only what resources still lack is kept.

    Raises:
        ServiceError: the backend cannot be read.
    """
    listed = _listed_kinds(destroying=destroying, of=of)
    every = {live.address: live for live in backend.list_all(listed)} if listed else {}
    asked = {address for entry in unfinished for address in (entry.address, *entry.children)}
    resources = _read(graph, backend, every if listed else None, asked.union(superseded))
    deleting_now = {
        address: live for address, live in resources.items() if state(live.body) == "deleting"
    }
    live = {
        address: resource for address, resource in resources.items() if address not in deleting_now
    }
    project_owned = owned(every.values(), of)
    undeclared = [resource for resource in project_owned if resource.address not in resources]
    decoded = DecodedBodies(backend.scope)
    deleting = destroying or bool(undeclared or superseded) or _will_replace(graph, live, decoded)
    beneath = find_children(backend, every.values() if listed else None) if deleting else {}
    above = {resource.address.up for resource in undeclared if resource.address.up in every}
    around = {
        **beneath,
        **{address: every[address] for address in above},
        **{resource.address: resource for resource in undeclared},
    }
    return LiveState(
        backend.scope,
        backend.location,
        {**around, **live},
        {} if destroying else _read_usage(graph, live, backend, decoded),
        {} if destroying else _read_taken(graph, live, backend),
        users_of(beneath.values(), backend.scope),
        deleting_now,
        backend.quota_refuses() if isinstance(backend, SupportsUsage) else QuotaRefusal.MIN,
        project_owned,
        _remaining(unfinished, live),
        decoded,
        {} if destroying else _resolve_labels(graph, live, backend, decoded),
    )


def _listed_kinds(*, destroying: bool, of: str | None) -> Collection[str]:
    """Return the kinds that are listed completely."""
    if of:
        return KINDS
    if not destroying:
        return ()
    # endpoints and deployments; otherwise no kind is loaded for this
    return [name for name, kind in KINDS.items() if kind.parent or children(name)]


def _read(
    graph: Graph, backend: Backend, every: Mapping[Address, Live] | None, asked: Collection[Address]
) -> dict[Address, Live]:
    """Read what is declared, referred to or requested; `every` is what was listed, if anything."""
    addresses = {*graph.resources, *(edge.target for edge in graph.edges), *asked}
    known = every or {}
    resources = {address: known[address] for address in addresses if address in known}
    unread = addresses - known.keys()
    if every is not None:  # all deployments are in the lists
        unread = {address for address in unread if not address.parent}
    resources |= backend.read(unread)
    resources |= _assets_in_use(graph, resources, backend)
    return resources | _find_code(graph, resources, backend)


def _resolve_labels(
    graph: Graph, live: Mapping[Address, Live], backend: Backend, decoded: DecodedBodies
) -> dict[Address, dict[Pointer, Data]]:
    """Resolve each `azureml://registries/R/models/M/labels/latest` in the files.

    It is the version that the live resource has; else the registry's newest; else the label, which
    the service resolves. Components are sent with their labels, as azure-ai-ml does, since their
    hashes cover that text.
    """
    labels = [
        (resource, at, resource.values[at])
        for resource in graph.resources.values()
        if not resource.kind.steps
        for at in resource.values
        if resource.values[at].__class__ is str and "/labels/" in resource.values[at]
    ]  # no function call here: there are many values
    newest: dict[str, str] = {}
    versions = defaultdict[Address, dict[Pointer, Data]](dict)
    for resource, at, text in labels:
        version = decoded.version_of_label(live.get(resource.address), resource, at)
        if version is None and text not in newest:
            newest[text] = _resolve_label(text, backend)
        versions[resource.address][at] = version or newest[text]
    return versions


def _resolve_label(label: str, backend: Backend) -> str:
    """Return the URI of a label's version; the label itself if the registry does not say."""
    match = re.fullmatch(_OF_REGISTRY, label)
    if match is None or not isinstance(backend, SupportsRegistries):
        return label
    kind = next((kind for kind in KINDS.values() if kind.collection == match["collection"]), None)
    try:
        live = (
            backend.registry(match["registry"]).read(Address(kind.name, match["name"]))
            if kind
            else None
        )
    except ServiceError:
        return label
    return f"{label.partition('/labels/')[0]}/versions/{live.address.version}" if live else label


def owned(every: Iterable[Live], project: str | None) -> tuple[Live, ...]:
    """Return what has the project's tag and is not being deleted."""
    return tuple(
        resource for resource in every if owner(resource) == project and _is_kept(resource)
    )


def find_children(backend: Backend, every: Iterable[Live] | None = None) -> dict[Address, Live]:
    """Find all children: the deployments of all endpoints.

    They are listed, unless `every` resource of the workspace is given.
    """
    if every is None:
        every = backend.list_all(kind.name for kind in KINDS.values() if kind.parent)
    return {child.address: child for child in every if child.address.parent and _is_kept(child)}


def _is_kept(live: Live) -> bool:
    return state(live.body) != "deleting"


def _remaining(
    unfinished: Iterable[Unfinished], live: Mapping[Address, Live]
) -> dict[Address, Unfinished]:
    remaining = ((entry.address, entry.remaining(live.get(entry.address))) for entry in unfinished)
    return {address: entry for address, entry in remaining if entry is not None}


def _assets_in_use(
    graph: Graph, live: Mapping[Address, Live], backend: Backend
) -> dict[Address, Live]:
    """Return the assets that live owners of inline assets use, also by way of components."""
    owners = {resource.owner for resource in graph.resources.values() if resource.owner is not None}
    assets: dict[Address, Live] = {}
    new = [live[owner] for owner in owners if owner in live]
    while new:
        used = {address for owner in new for address in names_in(owner, backend.scope)}
        read = backend.read(used - live.keys() - assets.keys())
        assets |= read
        new = list(read.values())
    return assets


def _find_code(graph: Graph, live: Mapping[Address, Live], backend: Backend) -> dict[Address, Live]:
    """Find uploaded code with the same content under another name, to avoid uploading it again."""
    if not isinstance(backend, SupportsCode):
        return {}
    live_addresses: dict[Address, Address] = {}
    for address, resource in graph.resources.items():
        if resource.kind.content.target is UploadTarget.CODE and address not in live:
            live_address = backend.find_code(str(resource.values["hash",]))
            if live_address is not None:
                live_addresses[address] = live_address
    live_code = backend.read(live_addresses.values()) if live_addresses else {}
    return {
        address: live_code[live_address]
        for address, live_address in live_addresses.items()
        if live_address in live_code
    }


def _will_replace(graph: Graph, live: Mapping[Address, Live], decoded: DecodedBodies) -> bool:
    """Whether something will be replaced, which deletes its children and affects others."""
    for address, resource in graph.resources.items():
        live_resource = None if resource.kind.versioned else live.get(address)
        if live_resource is None or moving(live_resource.body):
            continue  # a resource with a running operation is not compared
        form = resource.form
        live_values = decoded.values(live_resource.body, form)
        desired = complete(resource.values, form)
        if differences(form.fixed, desired, live_values, decoded.scope):
            return True
    return False


def _read_usage(
    graph: Graph, live: Mapping[Address, Live], backend: Backend, decoded: DecodedBodies
) -> dict[str, list[Usage]]:
    if not isinstance(backend, SupportsUsage):
        return {}
    quotas: dict[str, set[str]] = defaultdict(set)
    home = backend.location
    for resource in graph.resources.values():
        live_resource = live.get(resource.address)
        if live_resource is not None and not _asks_for_more(resource, live_resource, decoded):
            continue
        location = str(live_resource.body.get("location") or "") if live_resource else ""
        value = effective(resource.values, resource.form)
        for place, quota in claims(resource.kind, value, location or home):
            if quota not in limits.UNPUBLISHED:
                quotas[place].add(quota)
    return {place: backend.usage(place, quotas[place]) for place in sorted(quotas)}


def _asks_for_more(resource: Resource, live: Live, decoded: DecodedBodies) -> bool:
    """Whether a file asks for other machines than the live ones."""
    values, quota = decoded.values(live.body, resource.form), resource.kind.quota
    if resource.kind.retired_service:
        return True
    for at in (quota.scaled_by, quota.vm_size, ("min_instances",), ("tier",), _REGION):
        if at not in resource.values or at not in values:
            continue  # a missing value keeps what is live, or is the default on both sides
        desired, present = resource.values[at], values[at]
        if desired != present and str(desired).casefold() != str(present).casefold():
            return True
    return False


def _read_taken(graph: Graph, live: Mapping[Address, Live], backend: Backend) -> dict[Address, str]:
    if not isinstance(backend, SupportsNames):
        return {}
    regions = {}
    location = backend.location
    for resource in graph.resources.values():
        if not resource.kind.arm.unique_in_region:
            continue
        live_resource = live.get(resource.address)
        if live_resource is None or region(resource, None, location) != live_resource.body.get(
            "location"
        ):
            regions[resource.address] = region(resource, live_resource, location)
    return backend.taken(regions)
