"""`mlctl workspace show | list`: workspaces are read; Bicep or Terraform makes them."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.backends.ports.backend import Backend, SupportsWorkspaces
from mlctl.cli.az.jobs import Output
from mlctl.cli.shell import Exit, Group, Session, flag
from mlctl.cli.shell.output import Query, print_data
from mlctl.kinds.facts import Columns
from mlctl.pointer import Data, get
from mlctl.service_errors import Permanent

_COLUMNS: Columns = {
    "Name": ("name",),
    "ResourceGroup": ("resource_group",),
    "Location": ("location",),
}
# What az prints of the properties of a workspace, in its words.
_PROPERTIES = {
    "description": "description",
    "discovery_url": "discoveryUrl",
    "display_name": "friendlyName",
    "hbi_workspace": "hbiWorkspace",
    "storage_account": "storageAccount",
    "key_vault": "keyVault",
    "application_insights": "applicationInsights",
    "container_registry": "containerRegistry",
    "mlflow_tracking_uri": "mlFlowTrackingUri",
    "public_network_access": "publicNetworkAccess",
    "provisioning_state": "provisioningState",
}


def show(
    session: Session,
    name: str | None = flag(
        "The workspace; the configured one unless given.", "-n", metavar="NAME"
    ),
    output: Output = None,
    query: Query = None,
) -> Exit:
    """Print a workspace. Exits with 3 when there is none."""
    with session.backend() as backend:
        body = _reader(backend).workspace(name or backend.scope.workspace)
        print_data(session, _printed(body), output, query, _COLUMNS)
    return Exit.OK


def list_(session: Session, output: Output = None, query: Query = None) -> Exit:
    """Print the workspaces of the subscription."""
    with session.backend() as backend:
        workspaces = [_printed(workspace) for workspace in _reader(backend).workspaces()]
        print_data(session, workspaces, output, query, _COLUMNS)
    return Exit.OK


def _reader(backend: Backend) -> SupportsWorkspaces:
    if not isinstance(backend, SupportsWorkspaces):
        raise Permanent("NoWorkspaces", f"the {backend.name} backend cannot read workspaces")
    return backend


def _group(body: Mapping[str, Data]) -> str:
    return str(body.get("id")).partition("/resourceGroups/")[2].partition("/")[0]


def _printed(body: Mapping[str, Data]) -> dict[str, Data]:
    """The workspace as `az ml` prints it."""
    values = {ours: get(body, ("properties", wire)) for ours, wire in _PROPERTIES.items()}
    return {
        "id": body.get("id"),
        "name": body.get("name"),
        "location": body.get("location"),
        "resource_group": _group(body),
        "resourceGroup": _group(body),
        "tags": body.get("tags") or {},
        **{key: value for key, value in values.items() if value is not None},
    }


COMMANDS = {"workspace": Group("Show workspaces.", {"show": show, "list": list_})}
