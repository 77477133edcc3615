"""The az-style verbs that read a workspace or a registry, and those that share and wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from mlctl import catalog, files, pointer
from mlctl.backends.ports.backend import (
    Backend,
    Live,
    SupportsModelFiles,
    SupportsNodes,
    SupportsSizes,
    SupportsUsage,
)
from mlctl.cli.az.args import DownloadArgs, ListArgs, NameArgs, RegionArgs, ShareArgs, WaitArgs
from mlctl.cli.shell import Exit, Session, UsageError
from mlctl.cli.shell.command import option, switch
from mlctl.cli.shell.output import compile_query
from mlctl.cli.shell.scope import LOCATION
from mlctl.dataclasses import replace
from mlctl.kinds import Address, Kind, Scope, kind_of
from mlctl.kinds.address import LATEST, PROVIDER
from mlctl.kinds.values import moving, state
from mlctl.pointer import Data, get
from mlctl.render.cloud import resources
from mlctl.service_errors import OTHER_TYPE, TIMED_OUT, NotFound, Permanent

_NOWHERE = Scope("", "", "")  # a registry is in no workspace


def show_of_registry(session: Session, kind: Kind, address: Address, args: NameArgs) -> None:
    """Print an asset of a registry."""
    with session.registry(str(args.registry_name)) as registry:
        data = resources.printed(registry.read(address), _NOWHERE)
    args.print(session, data, kind.az.columns)


def list_of_registry(session: Session, kind: Kind, args: ListArgs) -> None:
    """Print the versions of an asset, or every asset once with its latest version."""
    with session.registry(str(args.registry_name)) as registry:
        every = args.include_archived and not args.archived_only
        assets = (
            asset
            for asset in registry.list(kind.name, args.name)
            if every
            or args.archived_only is bool(get(asset.body, ("properties", "isArchived"), False))
        )
        data = [_list_row(asset) for asset in islice(assets, args.max_results)]
    args.print(session, data, kind.az.columns)


def share(session: Session, kind: Kind, args: ShareArgs) -> None:
    """Copy a version of an asset of the workspace to a registry, and print it."""
    name, version = str(args.name), str(args.version)
    target = Address(
        kind.name, args.share_with_name or name, None, args.share_with_version or version
    )
    with session.registries() as backend:
        backend.share(Address(kind.name, name, None, version), str(args.registry_name), target)
    show_of_registry(session, kind, target, args)


def download(session: Session, kind: Kind, args: DownloadArgs) -> None:
    """Download the files of a version from the workspace, or from a registry."""
    model = Address(kind.name, str(args.name), None, args.version)
    folder = files.expanded(args.download_path)
    with session.backend() if args.registry_name is None else session.registries() as backend:
        if not isinstance(backend, SupportsModelFiles):
            text = f"the {session.backend_name} backend cannot read files of models"
            raise Permanent("NotSupported", text)
        backend.download_model(model, folder, args.registry_name)
    session.note(f"{args.download_path / model.name}")


def _list_row(live: Live) -> dict[str, Data]:
    data = resources.printed(live, _NOWHERE)
    if live.address.version is not None:
        return data
    return {**data, "latest_version": get(live.body, ("properties", "latestVersion"))}


def show(session: Session, kind: Kind, args: NameArgs) -> None:
    """Print one resource."""
    if args.registry_name is not None:
        show_of_registry(session, kind, address_of(kind, args), args)
        return
    with session.backend() as backend:
        live = read_live(backend, address_of(kind, args))
        data = resources.printed(live, backend.scope)
    if moving(live.body):
        above = f" -e {live.address.parent}" if live.address.parent else ""
        hint = "--deleted" if state(live.body) == "deleting" else "--updated"
        session.note(f"wait for it: mlctl {kind.name} wait -n {live.address.name}{above} {hint}")
    args.print(session, data, kind.az.columns)


def list_(session: Session, kind: Kind, args: ListArgs) -> None:
    """Print all resources of a kind, filtered by parent, type and name; archived ones on request.

    Assets without a name are listed once a name, by their newest version, as az lists them.
    """
    if args.archived_only and args.include_archived:
        raise UsageError("--archived-only and --include-archived exclude each other.")
    if args.registry_name is not None:
        list_of_registry(session, kind, args)
        return
    with session.backend() as backend:
        live = backend.list(kind.name, args.endpoint_name)
        for name in kind.arm.shared_with:
            live += backend.list(name)
        data = [resources.printed(resource, backend.scope) for resource in live]
    for flag in kind.az.list_flags:
        value = args.fields[flag.parameter]
        if value is not None:
            data = [
                row for row in data if _normalize(pointer.get(row, flag.at)) == _normalize(value)
            ]
    if kind.content.job and not args.include_disabled:
        data = [row for row in data if row.get("is_enabled", True) != args.disabled_only]
    if kind.versioned:
        data = list(_assets(data, args))
    args.print(session, data[: args.max_results], kind.az.columns)


def list_sizes(session: Session, _kind: Kind, args: RegionArgs) -> None:
    """Print the VM sizes that a region has, in the shape of ARM's `vmSizes`.

    If a backend cannot list them, the catalog does.
    """
    of_type = args.type_
    with session.backend() as backend:
        place = _region(session, backend, args.location)
        if isinstance(backend, SupportsSizes):
            read_live = backend.sizes(place)
        else:
            read_live = list(catalog.sizes().values())
    data = [_size(size) for size in read_live]
    args.print(session, data if of_type in (None, "AmlCompute") else [], resources.SIZES)


def list_usage(session: Session, _kind: Kind, args: RegionArgs) -> None:
    """Print used and allowed quotas of a region, in the shape of ARM's `usages`."""
    with session.backend() as backend:
        place = _region(session, backend, args.location)
        used = backend.usage(place) if isinstance(backend, SupportsUsage) else []
        scope = (
            f"/subscriptions/{backend.scope.subscription}/providers/{PROVIDER}/locations/{place}"
        )
    data = [
        {
            "id": f"{scope}/usages/{usage.family}",
            "type": f"{PROVIDER}/usages",
            "unit": "Count",
            "currentValue": usage.used,
            "limit": -1 if usage.limit is None else usage.limit,
            "name": {"value": usage.family, "localizedValue": usage.family.replace("_", " ")},
        }
        for usage in used
    ]
    args.print(session, data, resources.USAGE)


def _region(session: Session, backend: Backend, location: str | None) -> str:
    """Return the region to list: the flag's, else the configured one, else the workspace's."""
    region = location or session.settings.configured(LOCATION)
    return catalog.region(region or backend.location)


def list_nodes(session: Session, kind: Kind, args: NameArgs) -> None:
    """Print the nodes of a cluster."""
    with session.backend() as backend:
        live = read_live(backend, address_of(kind, args))
        nodes = backend.nodes(live.address) if isinstance(backend, SupportsNodes) else []
    data = [
        {
            "node_id": node.id,
            "node_state": node.state,
            "private_ip_address": node.private_ip,
            "public_ip_address": node.public_ip,
            "port": node.port,
            "current_job_name": node.job,
        }
        for node in nodes
    ]
    args.print(session, data, resources.NODES)


def address_of(kind: Kind, args: NameArgs) -> Address:
    """Return the address that the arguments name; without version: the newest."""
    label = args.label
    if label is not None and args.version is not None:
        raise UsageError("--version and --label exclude each other.")
    if label not in (None, LATEST):
        raise NotFound(
            "ResourceNotFound",
            f"There is no label `{label}`; the service knows `{LATEST}` only.",
            status=404,
        )
    assert args.name is not None  # required, or taken from the file
    return Address(kind.name, args.name, args.endpoint_name, args.version)


def read_live(backend: Backend, address: Address) -> Live:
    """Return the live resource."""
    live = read_any(backend, address)
    if live is None:
        raise not_found(backend, address)
    return live


def read_any(backend: Backend, address: Address) -> Live | None:
    """Return the live resource of a name, of any kind that shares the collection; None if none."""
    others = kind_of(address).arm.shared_with
    try:
        live = backend.read([address]).get(address)
    except Permanent as error:
        if error.code != OTHER_TYPE or not others:
            raise
        live = None
    if live is not None or not others:
        return live
    read = backend.read([replace(address, kind=name) for name in others])
    return next(iter(read.values()), None)


def not_found(backend: Backend, address: Address) -> NotFound:
    """Return the error for a resource that does not exist."""
    above = f" -e {address.parent}" if address.parent else ""
    return NotFound(
        "ResourceNotFound",
        f"There is no {address} in workspace {backend.scope.workspace}.\n"
        f"To list them: mlctl {address.kind} list{above}",
        status=404,
    )


def _assets(data: Iterable[dict[str, Data]], args: ListArgs) -> Iterator[dict[str, Data]]:
    """Return the versions of one name, or the newest version of each."""
    versions = [version for version in data if _is_listed(version, args)]
    if args.name is not None:
        yield from reversed(versions)
        return
    latest = {
        version["name"].casefold(): version for version in versions
    }  # oldest first: the last one stays
    for version in latest.values():
        yield {**version, "latest_version": version["version"]}


def _is_listed(asset: Mapping[str, Data], args: ListArgs) -> bool:
    archived = bool(asset.get("is_archived"))
    return (archived if args.archived_only else args.include_archived or not archived) and (
        args.name is None or asset["name"].casefold() == args.name.casefold()
    )


def _normalize(value: Data) -> str:
    """Normalize a value for comparisons: `AmlCompute` becomes `aml_compute`."""
    return str(value or "").replace("_", "").casefold()


def _size(size: catalog.Size) -> dict[str, Data]:
    prices = [{"retailPrice": size.usd_per_hour, "osType": "Linux", "vmTier": "Standard"}]
    return {
        "name": size.name,
        "family": size.family,
        "vCPUs": size.vcpus,
        "gpus": size.gpus,
        "memoryGB": size.memory_gib,
        "lowPriorityCapable": size.low_priority_capable,
        "supportedComputeTypes": ["AmlCompute"],
        "estimatedVMPrices": {
            "billingCurrency": "USD",
            "unitOfMeasure": "OneHour",
            "values": prices if size.usd_per_hour is not None else [],
        },
    }


_TIMEOUT = 3600.0  # seconds; az's default
_CONDITIONS = ("created", "updated", "deleted", "exists", "custom")
_PANEL = "Wait Condition Arguments"
FLAGS = (
    *(switch(condition, panel=_PANEL) for condition in _CONDITIONS[:-1]),
    option("custom", metavar="JMESPATH", panel=_PANEL),
    option("interval", type_=int, metavar="SECONDS", panel=_PANEL, default=30),
)


def wait(session: Session, kind: Kind, args: WaitArgs) -> Exit:
    """Return once one of the conditions holds; poll every `interval` seconds, for `--timeout`."""
    conditions = (args.created, args.updated, args.deleted, args.exists, args.custom)
    if not any(conditions):
        flags = " | ".join(f"--{name}" for name in _CONDITIONS)
        raise UsageError(f"say what to wait for: {flags}")
    if args.interval < 1:
        raise UsageError("--interval takes at least 1 second.")
    custom = compile_query(args.custom, "--custom") if args.custom else None
    address, longest = address_of(kind, args), session.options.timeout or _TIMEOUT
    with session.backend() as backend:
        waited = 0.0
        while True:
            live = read_any(backend, address)
            expected = args.created or args.deleted or args.exists or args.custom
            if live is None and not expected:
                raise not_found(backend, address)
            if _is_reached(address, live, backend.scope, args, custom):
                return Exit.OK
            if waited >= longest:
                raise Permanent(TIMED_OUT, f"{address} was waited for {waited:.0f} seconds")
            step = min(args.interval, longest - waited)
            backend.wait(step)
            waited += step


def _is_reached(
    address: Address, live: Live | None, scope: Scope, args: WaitArgs, custom: Any
) -> bool:
    """Whether one of the conditions holds."""
    if live is None:
        return args.deleted
    if args.exists:
        return True
    if state(live.body) == "failed":
        raise Permanent("OperationFailed", f"the last operation on {address} failed")
    if state(live.body) == "succeeded" and (args.created or args.updated):
        return True
    return bool(custom and custom.search(resources.printed(live, scope)))
