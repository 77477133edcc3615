"""What the service computes in answers about endpoints and their deployments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.protocols import operation_url
from mlctl.emulator.shapes.shape import (
    OMITTED,
    Phase,
    ResponseField,
    computed,
    condition,
    named,
    section,
)
from mlctl.kinds.address import PROVIDER, Reference
from mlctl.pointer import Data

_BRIEF = "2024-04-01"  # from it on less is shown of an endpoint in motion
_LATER = "2023"  # before it a new deployment was Updating, without probes, timed out at once
_ENDPOINT_ID = "azureml.onlineendpointid"
_REQUESTS = {
    "maxQueueWait": "PT0S",
    "requestTimeout": "PT5S",
    "maxConcurrentRequestsPerInstance": 1,
}


@condition
def _whole(field: ResponseField) -> bool:
    """Whether all of an online endpoint is shown."""
    return field.occasion.phase is Phase.DONE or field.occasion.api_version < _BRIEF


@condition
def _ready(field: ResponseField) -> bool:
    """Whether a deployment is shown as it will be: the first api-versions waited for its end."""
    return field.occasion.phase is Phase.DONE or field.occasion.api_version >= _LATER


@computed
def _batch_scoring_uri(field: ResponseField) -> Data:
    # The service has a host for every endpoint. The SDK takes what stands before "/subscriptions/"
    # for the service's base URL, and an emulator has one host: a path at it stands for the host.
    occasion = field.occasion
    if occasion.address is None:
        return None
    return f"{occasion.call.request.base}{occasion.address.id(occasion.call.scope)}/jobs"


@computed
def _batch_identity(field: ResponseField) -> Data:
    """Where there are only identities of users, the principal of the endpoint's own is zeros."""
    if not isinstance(field.stored, Mapping) or field.stored.get("type") != "UserAssigned":
        return OMITTED if field.stored is None else field.stored
    nobody = {"principalId": str(UUID(int=0)), "tenantId": field.occasion.call.guid("tenant")}
    return {**field.stored, **nobody}


@computed
def _configuration(field: ResponseField) -> Data:
    # The SDK breaks on a pipeline's configuration without `settings` (KeyError).
    return {**field.stored, "settings": field.stored.get("settings", {})} if field.stored else None


@computed
def _with_operation(field: ResponseField) -> dict[str, Data]:
    """Free properties, with the address of the operation that wrote the resource last."""
    address, call, number = field.occasion.address, field.occasion.call, field.occasion.operation
    properties = dict(field.stored or {})
    if address is not None and number is not None:
        properties["AzureAsyncOperationUri"] = operation_url(call, address.kind, number)
    return properties


@computed
def _online_endpoint_properties(field: ResponseField) -> Data:
    address, scope = field.occasion.address, field.occasion.call.scope
    properties = {key: text for key, text in (field.stored or {}).items() if key != _ENDPOINT_ID}
    if _whole(field):
        properties[_ENDPOINT_ID] = (
            f"/subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
            f"/providers/{PROVIDER.lower()}/workspaces/{scope.workspace}"
            f"/onlineendpoints/{address.name if address else ''}"
        )
    return _with_operation(field._replace(stored=properties))


@computed
def _request_settings(field: ResponseField) -> Data:
    settings = {**_REQUESTS, **(field.stored or {})}
    if not _ready(field):
        settings["requestTimeout"] = (field.sent or {}).get("requestTimeout", "PT0S")
    return settings


@computed
def _online_uri(field: ResponseField) -> Data:
    """A URL of an endpoint: a path here, where Azure has a host."""
    address, call = field.occasion.address, field.occasion.call
    scope, path = call.scope, "score" if field.key == "scoringUri" else "swagger.json"
    place = f"{scope.subscription}/{scope.resource_group}/{scope.workspace}"
    return f"{call.request.base}/online/{place}/{address.name if address else ''}/{path}"


@computed
def _with_variables(field: ResponseField) -> Data:
    """The properties of a deployment, with the variables of a script once it is there.

    What a request has said of them stays (recorded: online-deployment-get).
    """
    properties = section(named("online-deployment-properties"))(field)
    code = properties.get("codeConfiguration") or {}
    if field.occasion.phase is not Phase.CREATING and code:
        variables = dict(_variables(field.occasion.call, properties.get("model"), code))
        properties["environmentVariables"] = variables | properties["environmentVariables"]
    return properties


def _variables(call: Call, model: Data, code: Mapping[str, Data]) -> Iterator[tuple[str, Data]]:
    root = "/var/azureml-app"
    if model:
        yield "AZUREML_MODEL_DIR", "/".join((root, "azureml-models", *str(model).split("/")[-3::2]))
    yield "AZUREML_ENTRY_SCRIPT", code.get("scoringScript")
    reference = Reference.parse(f"azureml:{code.get('codeId')}", "code")
    stored_code = call.peek(reference.address) if reference and reference.address else None
    uri = stored_code.body["properties"]["codeUri"] if stored_code else ""
    yield "AML_APP_ROOT", f"{root}/{uri.rstrip('/').rpartition('/')[2]}".rstrip("/")
