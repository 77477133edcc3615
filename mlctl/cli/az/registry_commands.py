"""`mlctl registry create | show | list`: registries of the simulated cloud."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mlctl import source
from mlctl.cli.az.jobs import Output
from mlctl.cli.shell import Exit, Group, Session, UsageError, flag
from mlctl.cli.shell.output import Query, print_data
from mlctl.diagnostics import Report
from mlctl.kinds.facts import Columns
from mlctl.pointer import Data
from mlctl.service_errors import NotFound

_COLUMNS: Columns = {"Name": ("name",), "Location": ("location",)}


def create(
    session: Session,
    file: str | None = flag("The YAML file of the registry.", "-f", metavar="FILE"),
    name: str | None = flag("The registry; over what the file says.", "-n", metavar="NAME"),
    location: str | None = flag("Its region; over what the file says.", "-l", metavar="REGION"),
    output: Output = None,
    query: Query = None,
) -> Exit:
    """Make a registry of the simulated cloud, at once, and print it.

    One on Azure has storage and a container registry of its own: Bicep or Terraform makes it.
    """
    data = read_document(session, file, "registry") if file else {}
    named, region = name or data.get("name"), location or data.get("location")
    if not (isinstance(named, str) and isinstance(region, str)):
        raise UsageError("a registry has a name and a location: in the file, or by flags")
    with session.registries() as backend:
        backend.create_registry(named, region)
    return show(session, named, output, query)


def read_document(session: Session, path: str, title: str) -> Mapping[str, Data]:
    """The document of a file that describes a registry or a workspace.

    Raises:
        UsageError: it cannot be read, or has several documents.
    """
    report = Report()
    documents = source.read(Path(path), report)
    if report.failed or len(documents) != 1:
        session.show(report)
        raise UsageError(f"`{path}` is not the file of one {title}")
    return documents[0].data


def show(
    session: Session,
    name: str = flag("The registry.", "-n", metavar="NAME"),
    output: Output = None,
    query: Query = None,
) -> Exit:
    """Print a registry. Exits with 3 when there is none."""
    if not name:
        raise UsageError("the following arguments are required: --name/-n")
    with session.registries() as backend:
        registries = {spelt.casefold(): (spelt, at) for spelt, at in backend.registries().items()}
    if name.casefold() not in registries:
        text = f"There is no registry {name}.\nSee what there is: mlctl registry list"
        raise NotFound("ResourceNotFound", text, status=404)
    print_data(session, _printed(*registries[name.casefold()]), output, query, _COLUMNS)
    return Exit.OK


def list_(session: Session, output: Output = None, query: Query = None) -> Exit:
    """Print the registries of the simulated cloud."""
    with session.registries() as backend:
        data = [_printed(*row) for row in backend.registries().items()]
    print_data(session, data, output, query, _COLUMNS)
    return Exit.OK


def _printed(name: str, location: str) -> dict[str, Data]:
    """A registry as `az ml` prints it."""
    regions = [{"location": location}]
    return {"name": name, "location": location, "replication_locations": regions, "tags": {}}


COMMANDS = {
    "registry": Group(
        "Manage registries, from which workspaces share assets.",
        {"create": create, "show": show, "list": list_},
    )
}
