"""`mlctl registry create | show | list | delete`: the registries of a resource group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mlctl import source
from mlctl.cli.shell import Exit, Group, Session, UsageError, flag
from mlctl.cli.shell.output import OutputArgs
from mlctl.diagnostics import Report
from mlctl.kinds.facts import Columns
from mlctl.pointer import Data, get
from mlctl.service_errors import NotFound

_PLACE = ("subscription", "resource_group")  # what of a workspace's name registries need
_STORAGE = {"storage_account_hns": False, "storage_account_type": "standard_lrs"}  # as azure-ai-ml
_COLUMNS: Columns = {"Name": ("name",), "Location": ("location",)}


def create(
    session: Session,
    printing: OutputArgs,
    file: str | None = flag("-f", metavar="FILE"),
    name: str | None = flag("-n", metavar="NAME"),
    location: str | None = flag("-l", metavar="REGION"),
) -> None:
    """Create a registry, or update it from the file, and print it."""
    data = read_document(session, file, "registry") if file else {}
    named, region = name or data.get("name"), location or data.get("location")
    if not (isinstance(named, str) and isinstance(region, str)):
        raise UsageError("a registry has a name and a location: in the file, or by flags")
    with session.registries(_PLACE) as backend:
        backend.create_registry(named, region, _body(data, region))
    show(session, printing, named)


def _body(data: Mapping[str, Data], location: str) -> dict[str, Data]:
    """Build the body of ARM for a document, with the defaults of azure-ai-ml 1.35.2."""
    tags, regions = data.get("tags") or {}, data.get("replication_locations")
    regions = [{"location": location}] if regions is None else regions
    if not isinstance(tags, dict):
        raise UsageError("tags: they must be pairs of a key and a value")
    if not (isinstance(regions, list) and all(isinstance(region, dict) for region in regions)):
        raise UsageError("replication_locations: they must be a list of objects with a location")
    tags = {str(key): str(value) for key, value in tags.items()}
    images = _images(data.get("container_registry") or {})
    properties: dict[str, Data] = {
        "regionDetails": [
            {
                "acrDetails": [images],
                "location": region.get("location"),
                "storageAccountDetails": [*_storage(region.get("storage_config") or {})],
            }
            for region in regions
        ],
        "managedResourceGroupTags": tags,
    }
    if data.get("public_network_access"):
        properties["publicNetworkAccess"] = str(data["public_network_access"]).capitalize()
    publisher = get(data, ("intellectual_property", "publisher"))
    if publisher:
        properties["intellectualPropertyPublisher"] = publisher
    return {"tags": tags, "properties": properties}


def _images(section: Data) -> dict[str, Data]:
    """Return the container registry of a registry: an existing one, or a new one."""
    if isinstance(section, str):
        return {"userCreatedAcrAccount": {"armResourceId": {"resourceId": section}}}
    if not isinstance(section, dict):
        raise UsageError(
            "container_registry: it must be an ARM id, or an object with acr_account_sku"
        )
    sku = str(section.get("acr_account_sku", "premium")).capitalize()
    return {"systemCreatedAcrAccount": {"acrAccountSku": sku}}


def _storage(section: Data) -> Iterator[dict[str, Data]]:
    """Return the storage accounts of a region: existing ones, or new ones."""
    if isinstance(section, list):
        for account in section:
            yield {"userCreatedStorageAccount": {"armResourceId": {"resourceId": account}}}
        return
    if not isinstance(section, dict) or not isinstance(section.get("replication_count", 1), int):
        raise UsageError("storage_config: it must be a list of ARM ids, or an object")
    settings = {**_STORAGE, **section}
    account = {
        "storageAccountHnsEnabled": settings["storage_account_hns"],
        "storageAccountType": str(settings["storage_account_type"]).lower(),
    }
    for _ in range(section.get("replication_count", 1)):
        yield {"systemCreatedStorageAccount": account}


def read_document(session: Session, path: str, title: str) -> Mapping[str, Data]:
    """Read the document of a file that describes a registry or a workspace."""
    report = Report()
    documents = source.read(Path(path), report)
    if report.failed or len(documents) != 1:
        session.show(report)
        raise UsageError(f"`{path}` must have one document, of a {title}")
    return documents[0].data


def show(session: Session, printing: OutputArgs, name: str = flag("-n", metavar="NAME")) -> None:
    """Print a registry. Exits with 3 if it does not exist."""
    if not name:
        raise UsageError("the following arguments are required: --name/-n")
    with session.registries(_PLACE) as backend:
        registries = {str(body["name"]).casefold(): body for body in backend.registries()}
    if name.casefold() not in registries:
        text = f"There is no registry {name}.\nTo list them: mlctl registry list"
        raise NotFound("ResourceNotFound", text, status=404)
    printing.print(session, _printed(registries[name.casefold()]), _COLUMNS)


def list_(session: Session, printing: OutputArgs) -> None:
    """Print the registries of the resource group."""
    with session.registries(_PLACE) as backend:
        data = [_printed(body) for body in backend.registries()]
    printing.print(session, data, _COLUMNS)


def delete(
    session: Session,
    name: str = flag("-n", metavar="NAME"),
    *,
    yes: bool = flag("-y", default=False),
    no_wait: bool = flag(default=False),
) -> Exit:
    """Delete a registry and everything in it. Exits with 3 if it does not exist."""
    del no_wait
    if not name:
        raise UsageError("the following arguments are required: --name/-n")
    agreed = yes or session.settings.truth("disable_confirm_prompt")
    if not agreed and not session.confirmed(f"Delete registry {name} and all in it?"):
        return Exit.ERROR
    with session.registries(_PLACE) as backend:
        backend.delete_registry(name)
    return Exit.OK


def _printed(body: Mapping[str, Data]) -> dict[str, Data]:
    """Return a registry as `az ml` prints it."""
    regions = get(body, ("properties", "regionDetails")) or ()
    optional = {
        "discovery_url": get(body, ("properties", "discoveryUrl")),
        "mlflow_registry_uri": get(body, ("properties", "mlFlowRegistryUri")),
        "public_network_access": get(body, ("properties", "publicNetworkAccess")),
    }
    return {
        "id": body.get("id"),
        "name": body.get("name"),
        "location": body.get("location"),
        "replication_locations": [{"location": region.get("location")} for region in regions],
        "tags": body.get("tags") or {},
        **{key: value for key, value in optional.items() if value is not None},
    }


COMMANDS = {
    "registry": Group(
        "Manage registries, from which workspaces share assets.",
        {"create": create, "show": show, "list": list_, "delete": delete},
    )
}
