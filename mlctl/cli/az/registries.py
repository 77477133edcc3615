"""`show`, `list` and `share` of assets of a registry, and `download` of models."""

from __future__ import annotations

from itertools import islice

from mlctl import files
from mlctl.backends.ports.backend import Live, SupportsModelFiles
from mlctl.cli.az.args import DownloadArgs, ListArgs, NameArgs, ShareArgs
from mlctl.cli.shell import Session
from mlctl.cli.shell.output import print_data
from mlctl.kinds import Address, Kind, Scope
from mlctl.pointer import Data, get
from mlctl.render.cloud import resources
from mlctl.service_errors import Permanent

_NOWHERE = Scope("", "", "")  # a registry is in no workspace


def show(session: Session, kind: Kind, address: Address, args: NameArgs) -> None:
    """Print an asset of a registry."""
    with session.registry(str(args.registry_name)) as registry:
        data = resources.printed(registry.read(address), _NOWHERE)
    print_data(session, data, args.output, args.query, kind.az.columns)


def list_(session: Session, kind: Kind, args: ListArgs) -> None:
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
    print_data(session, data, args.output, args.query, kind.az.columns)


def share(session: Session, kind: Kind, args: ShareArgs) -> None:
    """Copy a version of an asset of the workspace to a registry, and print it."""
    name, version = str(args.name), str(args.version)
    target = Address(
        kind.name, args.share_with_name or name, None, args.share_with_version or version
    )
    with session.registries() as backend:
        backend.share(Address(kind.name, name, None, version), str(args.registry_name), target)
    show(session, kind, target, args)


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
