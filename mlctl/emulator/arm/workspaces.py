"""Tenants, subscriptions, resource groups, providers, workspaces and their connections.

Connections are stored as they are sent, without their credentials.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.dataclasses import dataclass, replace
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.call import Call, is_same_workspace
from mlctl.emulator.requests.settings import TENANT
from mlctl.emulator.shapes import views
from mlctl.kinds.address import PROVIDER, Scope
from mlctl.kinds.registry import ALL, arm_type
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import workspaces as stored_workspaces
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.blob_store import ItemKind, StoredItem
from mlctl.simulator.control_plane.state.workspace import DEFAULT_LOCATION

# The versions that azure-ai-ml 1.35.2 and mlctl ask for; any other is answered as well.
VERSIONS = (
    "2024-10-01",
    "2024-10-01-preview",
    "2024-04-01",
    "2024-01-01-preview",
    "2023-10-01",
    "2023-08-01-preview",
    "2023-04-01",
    "2023-04-01-preview",
    "2023-02-01-preview",
)
_DIAGNOSED = (
    "userDefinedRoute",
    "networkSecurityRule",
    "resourceLock",
    "dnsResolution",
    "keyVault",
    "storageAccount",
    "containerRegistry",
    "applicationInsights",
    "other",
)
# What a workspace stands on, and takes along where it is deleted so.
BESIDE = (
    "Storage/storageAccounts",
    "KeyVault/vaults",
    "ContainerRegistry/registries",
    "Insights/components",
    "OperationalInsights/workspaces",
)
_OWN = ("id", "name", "type", "systemData", "location", "identity", "etag")  # of a workspace
_HOSTED = [kind for kind in ALL.values() if kind.arm.hosted and not kind.arm.within]
_TYPES = {
    PROVIDER: (
        "workspaces",
        *(f"workspaces/{arm_type(kind.name)}" for kind in _HOSTED),
        *(f"workspaces/{arm_type(kind.name)}/versions" for kind in _HOSTED if kind.versioned),
        *(f"locations/{name}" for name in ("usages", "quotas", "updateQuotas", "vmSizes")),
    ),
    "Microsoft.Authorization": ("locks", "permissions"),
    "Microsoft.Insights": ("metrics",),
}


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace and its region."""

    scope: Scope
    location: str


def show(call: Call) -> Response:
    """GET of a workspace: any name exists, unless the emulator is strict."""
    return json_response(_workspace(call, Workspace(call.scope, call.state.location)))


def show_all(call: Call) -> Response:
    """GET of the workspaces of a subscription, or of a resource group of it."""
    workspaces = sorted(_select_workspaces(call), key=_key)
    page = listing.paginate(call, workspaces, _key)
    return listing.page_response(
        call, page, (_workspace(call, workspace) for workspace in page.items)
    )


def create(call: Call) -> Response:
    """PUT of a workspace; its region stays what it was."""
    names = call.names
    scope = Scope(names["subscription"], names["group"], names["workspace"])
    location = arm_body.region_name(call.data.get("location") or DEFAULT_LOCATION)
    note = {key: value for key, value in call.data.items() if key not in _OWN}
    scope, location, is_new = stored_workspaces.create(call.store, scope, location, note)
    body = _workspace(call, Workspace(scope, location))
    return json_response(body, 201 if is_new else 200)


def change(call: Call) -> Response:
    """PATCH of a workspace."""
    note = {key: value for key, value in call.data.items() if key not in _OWN}
    store, scope = call.store, call.scope
    stored_workspaces.create(
        store, scope, call.state.location, stored_workspaces.note(store, scope)
    )
    stored_workspaces.change(store, scope, note)
    return show(call)


def keys(call: Call) -> Response:
    """POST listKeys: the key of the storage account, as `listSecrets` of a datastore has it."""
    properties = _workspace(call, Workspace(call.scope, call.state.location))["properties"]
    return json_response(
        {
            "userStorageKey": None,
            "userStorageResourceId": properties["storageAccount"],
            "appInsightsInstrumentationKey": call.guid("telemetry"),
        }
    )


def diagnose(_call: Call) -> Response:
    """POST diagnose: no problems are ever found."""
    return json_response({"value": {f"{of}Results": [] for of in _DIAGNOSED}})


def accept_needless(_call: Call) -> Response:
    """POST of what changes nothing here, such as rotating keys."""
    return Response(200)


def show_companion(call: Call) -> Response:
    """Answer for a resource that a workspace stands on, which always exists and keeps nothing."""
    if call.request.method == "DELETE":
        return Response(204)
    path = call.request.path
    name = {"id": path, "name": path.rpartition("/")[2], "location": DEFAULT_LOCATION}
    return json_response({**name, "properties": {}})


def show_none(_call: Call) -> Response:
    """GET of what the simulated cloud never has."""
    return json_response({"value": []})


def show_services(_call: Call) -> Response:
    """GET of what a node of a job serves: no program runs there, so nothing is."""
    return json_response({"instances": {}})


def refuse(call: Call) -> Response:
    """Refuse a request for what the simulated cloud never has."""
    collection = call.request.path.rstrip("/").rpartition("/")[0].rpartition("/")[2]
    if call.request.method == "PUT":
        raise Permanent(
            "NotSimulated", f"mlctl simulates no {collection}: make them on Azure, by az."
        )
    raise NotFound(
        "ResourceNotFound", f"There are no {collection} in the simulated cloud.", status=404
    )


def provision_network(call: Call) -> Response:
    """POST provisionManagedNetwork: it exists at once."""
    return json_response(stored_workspaces.provision_network(call.store, call.scope))


def delete(call: Call) -> Response:
    """DELETE of a workspace with all that is in it."""
    stored_workspaces.delete(call.handle)
    return Response(200)


def discovery(call: Call) -> Response:
    """GET of a workspace's discoveryUrl: the base URLs of its data plane, all the emulator's."""
    names = ("api", "experimentation", "history", "modelmanagement", "pipelines", "studio")
    return json_response(dict.fromkeys(names, call.request.base))


def tenants(_: Call) -> Response:
    """GET of the tenants: one."""
    tenant = {"id": f"/tenants/{TENANT}", "tenantId": TENANT, "displayName": "mlctl emulator"}
    return json_response({"value": [{**tenant, "tenantCategory": "Home", "countryCode": "US"}]})


def subscriptions(call: Call) -> Response:
    """GET of the subscriptions in use."""
    spellings = sorted(_spellings(call).items())
    return json_response({"value": [_subscription(call, name) for _, name in spellings]})


def subscription(call: Call) -> Response:
    """GET of one subscription."""
    subscription_id = call.names["subscription"]
    spellings = _spellings(call)
    if call.settings.strict and subscription_id.casefold() not in spellings:
        text = f"The subscription '{subscription_id}' could not be found."
        raise NotFound("SubscriptionNotFound", text)
    return json_response(
        _subscription(call, spellings.get(subscription_id.casefold(), subscription_id))
    )


def _spellings(call: Call) -> dict[str, str]:
    """Return the subscriptions in use, as first spelt, by their names in lower case."""
    names = (workspace.scope.subscription for workspace in _all_workspaces(call))
    return {name.casefold(): name for name in names}


def groups(call: Call) -> Response:
    """GET of the resource groups in use."""
    by_group = {
        workspace.scope.resource_group.casefold(): workspace
        for workspace in reversed([*_select_workspaces(call)])
    }
    return json_response({"value": [_group(call, by_group[name]) for name in sorted(by_group)]})


def group(call: Call) -> Response:
    """GET of one resource group."""
    workspace = next(_select_workspaces(call), None)
    if workspace is None and call.settings.strict:
        text = f"Resource group '{call.names['group']}' could not be found."
        raise NotFound("ResourceGroupNotFound", text)
    names = call.names
    unused = Workspace(Scope(names["subscription"], names["group"], ""), DEFAULT_LOCATION)
    return json_response(_group(call, workspace or unused))


def providers(call: Call) -> Response:
    """GET of the resource providers: `az resource` reads api-versions off them."""
    return json_response({"value": [_provider(call, name) for name in _TYPES]})


def provider(call: Call) -> Response:
    """GET of one resource provider, or POST to register it, as it always is."""
    namespace = call.names["namespace"].casefold()
    name = next((name for name in _TYPES if name.casefold() == namespace), None)
    if name is None:
        text = f"The resource namespace '{call.names['namespace']}' is invalid."
        raise NotFound("InvalidResourceNamespace", text)
    return json_response(_provider(call, name))


def _all_workspaces(call: Call) -> Iterator[Workspace]:
    """Return the workspaces that were created, and the default one."""
    home = call.settings.home
    with call.store.read() as db:
        workspaces = [Workspace(scope, location) for scope, location, _ in rows.workspaces(db)]
    if not any(is_same_workspace(workspace.scope, home) for workspace in workspaces):
        yield Workspace(home, DEFAULT_LOCATION)
    yield from workspaces


def _select_workspaces(call: Call) -> Iterator[Workspace]:
    """Select those in the subscription, and the resource group, that the path names."""
    names = {key: value.casefold() for key, value in call.names.items()}
    for workspace in _all_workspaces(call):
        in_group = names.get("group") in (None, workspace.scope.resource_group.casefold())
        if in_group and workspace.scope.subscription.casefold() == names["subscription"]:
            yield workspace


def _key(workspace: Workspace) -> str:
    return str(workspace.scope).casefold()


def _workspace(call: Call, workspace: Workspace) -> dict[str, Data]:
    scope = workspace.scope
    names = {"group": scope.resource_group, "workspace": scope.workspace}
    call = replace(call, names={**call.names, **names})
    name, host = call.guid("workspace"), call.request.base.partition("://")[2]
    moment = clock.iso(0.0)
    note = stored_workspaces.note(call.store, scope)
    service_properties = {
        "workspaceId": name,
        "creationTime": moment,
        "discoveryUrl": f"{call.request.base}/discovery",
        "mlFlowTrackingUri": f"azureml://{host}/mlflow/v1.0{scope.id}",
    }
    stored = {
        **note,
        "id": scope.id,
        "name": scope.workspace,
        "type": f"{PROVIDER}/workspaces",
        "location": workspace.location,
        "identity": {"type": "SystemAssigned", "principalId": name, "tenantId": TENANT},
        "systemData": call.system_data(moment, moment),
        "properties": {**(note.get("properties") or {}), **service_properties},
    }
    return views.body(call, stored, "workspace")


def _subscription(call: Call, name: str) -> Data:
    names = {"id": f"/subscriptions/{name}", "subscriptionId": name}
    return views.body(call, names, "subscription")


def _group(call: Call, workspace: Workspace) -> Data:
    scope = workspace.scope
    stored = {"id": scope.group, "name": scope.resource_group, "location": workspace.location}
    return views.body(call, stored, "resource-group")


def _provider(call: Call, name: str) -> Data:
    types = [
        {"resourceType": resource_type, "locations": [], "apiVersions": list(VERSIONS)}
        for resource_type in _TYPES[name]
    ]
    return {
        "id": f"/subscriptions/{call.names['subscription']}/providers/{name}",
        "namespace": name,
        "registrationState": "Registered",
        "registrationPolicy": "RegistrationRequired",
        "resourceTypes": types,
    }


_NO_CONTENT = 204
_MADE, _CHANGED = "createdAt", "lastModifiedAt"  # in a note


def show_connection(call: Call) -> Response:
    """GET of one."""
    connection = _find_connection(call)
    if connection is None:
        text = f"The connection `{call.names['name']}` was not found."
        raise NotFound("ResourceNotFound", text)
    return json_response(_connection(call, connection))


def show_connections(call: Call) -> Response:
    """GET of all."""
    stored = call.blob_store.list(ItemKind.CONNECTION, _connection_id(call, ""))
    page = listing.paginate(call, stored, lambda item: item.name.casefold())
    return listing.page_response(
        call, page, (_connection(call, connection) for connection in page.items)
    )


def write_connection(call: Call) -> Response:
    """PUT: create or overwrite, done at once and 200 (recorded: connection-put)."""
    old, now = _find_connection(call), clock.iso(call.state.now)
    sent = call.data.get("properties")
    properties = dict(sent) if isinstance(sent, dict) else {}
    properties.pop("credentials", None)
    note = {"properties": properties, _CHANGED: now, _MADE: old.note[_MADE] if old else now}
    id_ = old.name if old else _connection_id(call, call.names["name"])
    call.blob_store.put(ItemKind.CONNECTION, id_, note)
    return json_response(_connection(call, StoredItem(id_, note)))


def delete_connection(call: Call) -> Response:
    """DELETE; 204 if there is none."""
    is_deleted = call.blob_store.delete(
        ItemKind.CONNECTION, _connection_id(call, call.names["name"])
    )
    return Response(200 if is_deleted else _NO_CONTENT)


def _find_connection(call: Call) -> StoredItem | None:
    return call.blob_store.find(ItemKind.CONNECTION, _connection_id(call, call.names["name"]))


def _connection(call: Call, connection: StoredItem) -> dict[str, Data]:
    stored = {
        "id": connection.name,
        "name": connection.name.rpartition("/")[2],
        "type": f"{PROVIDER}/workspaces/connections",
        "properties": connection.note["properties"],
        "systemData": call.system_data(connection.note[_MADE], connection.note[_CHANGED]),
    }
    return views.body(call, stored, "connection")


def _connection_id(call: Call, name: str) -> str:
    return f"{call.scope.id}/connections/{name}"
