"""`show`, `list` and `share` of assets of a registry."""

from __future__ import annotations

from itertools import islice

from mlctl.backends.ports.backend import Live
from mlctl.cli.az.args import ListArgs, NameArgs, ShareArgs
from mlctl.cli.shell import Exit, Session
from mlctl.cli.shell.output import print_data
from mlctl.kinds import Address, Kind, Scope
from mlctl.pointer import Data, get
from mlctl.render.cloud import resources

_NOWHERE = Scope("", "", "")  # a registry is in no workspace


def show(session: Session, kind: Kind, address: Address, args: NameArgs) -> Exit:
    """Print an asset of a registry."""
    with session.registry(str(args.registry_name)) as registry:
        data = resources.printed(registry.read(address), _NOWHERE)
    print_data(session, data, args.output, args.query, kind.az.columns)
    return Exit.OK


def list_(session: Session, kind: Kind, args: ListArgs) -> Exit:
    """Print the versions of an asset, or every asset once with its latest version."""
    with session.registry(str(args.registry_name)) as registry:
        every = args.include_archived and not args.archived_only
        assets = (
            asset
            for asset in registry.list(kind.name, args.name)
            if every
            or args.archived_only is bool(get(asset.body, ("properties", "isArchived"), False))
        )
        data = [_listed(asset) for asset in islice(assets, args.max_results)]
    print_data(session, data, args.output, args.query, kind.az.columns)
    return Exit.OK


def share(session: Session, kind: Kind, args: ShareArgs) -> Exit:
    """Copy a version of an asset of the workspace to a registry, and print it."""
    name, version = str(args.name), str(args.version)
    target = Address(
        kind.name, args.share_with_name or name, None, args.share_with_version or version
    )
    with session.registries() as backend:
        backend.share(Address(kind.name, name, None, version), str(args.registry_name), target)
    return show(session, kind, target, args)


def _listed(live: Live) -> dict[str, Data]:
    data = resources.printed(live, _NOWHERE)
    if live.address.version is not None:
        return data
    return {**data, "latest_version": get(live.body, ("properties", "latestVersion"))}
