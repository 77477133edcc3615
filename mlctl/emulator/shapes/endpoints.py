"""Endpoints and their deployments.

Online ones as recorded in 2022, 2024 and 2026; batch endpoints from 2023-12 on (api-versions
2023-10-01 and 2024-04-01), batch deployments in July 2024 (api-version 2024-04-01).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.protocols import operation_url
from mlctl.emulator.shapes.shape import (
    Phase,
    ResponseField,
    Rule,
    Shape,
    if_set,
    keys,
    null,
    omitted,
    once_created,
    or_null,
    otherwise,
    section,
    state,
    stored,
    time,
    versions,
    when_done,
)
from mlctl.kinds.address import PROVIDER, Reference
from mlctl.pointer import Data

SYSTEM_DATA: Shape = {  # of endpoints and deployments: by whom they were changed is not shown
    "createdAt": time,
    "createdBy": stored,
    "lastModifiedAt": time,
    **keys(omitted, "createdByType", "lastModifiedBy", "lastModifiedByType"),
}


def _scoring_uri(field: ResponseField) -> Data:
    # The service has a host for every endpoint. The SDK takes what stands before "/subscriptions/"
    # for the service's base URL, and an emulator has one host: a path at it stands for the host.
    occasion = field.occasion
    if occasion.address is None:
        return None
    return f"{occasion.call.request.base}{occasion.address.id(occasion.call.scope)}/jobs"


def batch_identity(field: ResponseField) -> Data:
    """Where there are only identities of users, the principal of the endpoint's own is zeros."""
    if not isinstance(field.stored, Mapping) or field.stored.get("type") != "UserAssigned":
        return if_set(field)
    nobody = {"principalId": str(UUID(int=0)), "tenantId": field.occasion.call.guid("tenant")}
    return {**field.stored, **nobody}


BATCH_ENDPOINT: Shape = {
    **keys(stored, "id", "name", "type"),
    "properties": section(
        {
            "description": stored,
            "properties": otherwise({}),
            "scoringUri": once_created(_scoring_uri),
            "swaggerUri": null,
            "authMode": stored,
            "defaults": section({"deploymentName": stored}),
            "provisioningState": state,
        }
    ),
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": stored,
    "identity": batch_identity,
}


def _configuration(field: ResponseField) -> Data:
    # The SDK breaks on a pipeline's configuration without `settings` (KeyError).
    return {**field.stored, "settings": field.stored.get("settings", {})} if field.stored else None


def _batch_deployment_state(field: ResponseField) -> Data:
    """A deployment that is being made is `Updating`, too."""
    return "Updating" if field.occasion.phase is Phase.CREATING else state(field)


BATCH_DEPLOYMENT: Shape = {
    **keys(stored, "id", "name", "type"),
    "properties": section(
        {
            "description": stored,
            "properties": otherwise({}),
            "codeConfiguration": stored,
            "environmentId": stored,
            "environmentVariables": otherwise({}),
            "compute": stored,
            "deploymentConfiguration": versions(
                _configuration, stable="2024-04-01", preview="2022-10-01"
            ),
            **keys(stored, "errorThreshold", "retrySettings", "miniBatchSize", "loggingLevel"),
            **keys(stored, "model", "maxConcurrencyPerInstance", "outputAction", "outputFileName"),
            "resources": section(
                {"instanceCount": stored, "instanceType": stored, "properties": or_null}
            ),
            "provisioningState": _batch_deployment_state,
        }
    ),
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": stored,
    "identity": if_set,
}


_BRIEF = "2024-04-01"
_LATER = "2023"  # before it a new deployment was Updating, without probes, timed out at once


def _operation(field: ResponseField) -> dict[str, Data]:
    """The property with the address of the operation that wrote it last."""
    occasion = field.occasion
    address, call = occasion.address, occasion.call
    if address is None or occasion.operation is None:
        return {}
    url = operation_url(call, address.kind, occasion.operation)
    return {"AzureAsyncOperationUri": url}


def _is_brief(field: ResponseField) -> bool:
    """Whether less is shown: of an endpoint in motion, from the api-version of 2024 on."""
    in_motion = field.occasion.phase is not Phase.DONE
    return in_motion and field.occasion.api_version >= _BRIEF


def _unless_brief(rule: Rule) -> Rule:
    return lambda field: (omitted if _is_brief(field) else rule)(field)


def _system_data(field: ResponseField) -> Data:
    return {} if _is_brief(field) else section(SYSTEM_DATA)(field)


def _own_properties(field: ResponseField) -> Data:
    occasion = field.occasion
    address, scope = occasion.address, occasion.call.scope
    endpoint_id = (
        f"/subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
        f"/providers/{PROVIDER.lower()}/workspaces/{scope.workspace}"
        f"/onlineendpoints/{address.name if address else ''}"
    )
    properties = {**(field.stored or {}), "azureml.onlineendpointid": endpoint_id}
    if _is_brief(field):
        del properties["azureml.onlineendpointid"]
    return {**properties, **_operation(field)}


def _endpoint_state(field: ResponseField) -> Data:
    """An endpoint that is written over is shown as `Creating`, too."""
    return "Creating" if field.occasion.phase is not Phase.DONE else state(field)


def _is_early(field: ResponseField) -> bool:
    """Whether a deployment is in motion, as it was shown with the first api-versions."""
    return field.occasion.phase is not Phase.DONE and field.occasion.api_version < _LATER


def _deployment_state(field: ResponseField) -> Data:
    return "Updating" if _is_early(field) else state(field)


def _probe(field: ResponseField) -> Data:
    return field.sent if _is_early(field) else otherwise(_PROBE)(field)


def _request_settings(field: ResponseField) -> Data:
    settings = {**_REQUESTS, **(field.stored or {})}
    if _is_early(field):
        settings["requestTimeout"] = (field.sent or {}).get("requestTimeout", "PT0S")
    return settings


def _host_url(path: str) -> Rule:
    """A URL that an endpoint has once nothing goes on: a path here, where Azure has a host."""

    def value(field: ResponseField) -> Data:
        address, call = field.occasion.address, field.occasion.call
        scope = call.scope
        place = f"{scope.subscription}/{scope.resource_group}/{scope.workspace}"
        return f"{call.request.base}/online/{place}/{address.name if address else ''}/{path}"

    return when_done(value)


ONLINE_ENDPOINT: Shape = {
    **keys(stored, "id", "name", "type"),
    "properties": section(
        {
            "description": stored,
            "properties": _own_properties,
            "scoringUri": _host_url("score"),
            "swaggerUri": _host_url("swagger.json"),
            "authMode": otherwise("Key"),
            "keys": omitted,
            "provisioningState": _endpoint_state,
            "compute": stored,
            "traffic": otherwise({}),
            "mirrorTraffic": versions(otherwise({}), stable="2023-04-01", preview="2022-02-01"),
            "publicNetworkAccess": versions(
                otherwise("Enabled"), stable="2022-10-01", preview="2022-02-01"
            ),
        }
    ),
    "systemData": _system_data,
    "tags": otherwise({}),
    "location": _unless_brief(stored),
    "kind": otherwise("Managed"),
    "identity": _unless_brief(if_set),
}
_REQUESTS = {
    "maxQueueWait": "PT0S",
    "requestTimeout": "PT5S",
    "maxConcurrentRequestsPerInstance": 1,
}
_PROBE = {
    "failureThreshold": 30,
    "successThreshold": 1,
    "timeout": "PT2S",
    "period": "PT10S",
    "initialDelay": "PT10S",
}
_DEPLOYMENT_PROPERTIES: Shape = {
    "description": stored,
    "properties": lambda field: {**(field.stored or {}), **_operation(field)},
    "codeConfiguration": stored,
    "environmentId": stored,
    "environmentVariables": otherwise({}),
    "scaleSettings": otherwise({"scaleType": "Default"}),
    "requestSettings": _request_settings,
    "modelMountPath": stored,
    "appInsightsEnabled": otherwise(default=False),
    "livenessProbe": _probe,
    "readinessProbe": _probe,
    "provisioningState": _deployment_state,
    "instanceType": stored,
    "model": stored,
    "egressPublicNetworkAccess": versions(
        otherwise("Enabled"), stable="2022-10-01", preview="2022-02-01"
    ),
    "privateNetworkConnection": versions(
        otherwise(default=False), preview="2022-02-01", end="2022-10"
    ),
    "dataCollector": versions(stored, stable="2024-04-01", preview="2023-04-01"),
    "endpointComputeType": otherwise("Managed"),
}


def _with_variables(field: ResponseField) -> Data:
    """The properties of a deployment, with the variables of a script once it is there.

    What a request has said of them stays (recorded: online-deployment-get).
    """
    properties = section(_DEPLOYMENT_PROPERTIES)(field)
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


ONLINE_DEPLOYMENT: Shape = {
    **keys(stored, "id", "name", "type"),
    "properties": _with_variables,
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": stored,
    "kind": otherwise("Managed"),
    "sku": section(
        {"name": otherwise("Default"), "tier": otherwise("Standard"), "capacity": stored}
    ),
}
