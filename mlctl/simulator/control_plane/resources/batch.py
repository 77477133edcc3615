"""Rules for batch endpoints and batch deployments."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mlctl import pointer
from mlctl.kinds.address import Address, kind_of
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.resources import arm_body, references
from mlctl.simulator.control_plane.state.context import PutRequest
from mlctl.simulator.control_plane.state.errors import bad

_ENDPOINT_READ_ONLY = ("provisioningState", "scoringUri", "swaggerUri", "keys")
# REST: visibility read and create only. `codeConfiguration` is, too, by its words; a PUT over a
# deployment is what Microsoft's pages change the code by, and it is taken (docs/azure.md).
_CREATE_ONLY = [
    ("location",),
    ("properties", "deploymentConfiguration", "deploymentConfigurationType"),
]


def accept_endpoint(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of a batch endpoint over `old`."""
    address = request.address
    arm_body.check_endpoint_name(request)
    top, properties = arm_body.read_body(request, *_ENDPOINT_READ_ONLY)
    arm_body.normalize_location(request, top)
    arm_body.normalize_tags(top, empty=False)
    arm_body.normalize_identity(request, top)
    arm_body.keep_immutable(request, top, [("location",)])
    arm_body.set_enum(properties, "authMode", ("AADToken", "Key", "AMLToken"), "AADToken")
    _check_default(request, properties)
    service_properties = {
        "BatchEndpointCreationApiVersion": request.api_version,
        "azureml.onlineendpointid": address.id(request.scope),
    }
    arm_body.merge_properties(request, properties, service_properties)
    host = f"https://{address.name}.{top['location']}.inference.ml.azure.com"
    properties["scoringUri"] = f"{host}/jobs"
    return arm_body.stored_body(request, top)


def _check_default(request: PutRequest, properties: dict[str, Data]) -> None:
    """Check that the default deployment exists, if one is named."""
    endpoint = request.address.name
    defaults = arm_body.section(properties, "defaults")
    deployment = defaults.get("deploymentName")
    if not deployment:
        properties.pop("defaults", None)
        return
    resource = request.find(Address("batch-deployment", str(deployment), endpoint), None)
    if resource is None or resource.state == "Deleting":
        raise bad(
            f"The default deployment `{deployment}` does not exist in endpoint `{endpoint}`: "
            "create it first, then make it the default.",
            "DeploymentNotFound",
        )
    properties["defaults"] = {**defaults, "deploymentName": resource.address.name}


def accept_deployment(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of a batch deployment over `old`."""
    arm_body.check_endpoint_name(request)
    arm_body.check_parent(request)
    top, properties = arm_body.read_body(request, "provisioningState")
    arm_body.normalize_location(request, top)
    arm_body.normalize_tags(top)
    arm_body.normalize_identity(request, top)
    _normalize(properties)
    _require_what_runs(properties)
    for at, kind in kind_of(request.address).references:
        text = pointer.get(top, at)
        if text:
            pointer.put(top, at, references.resolve(request, text, kind))
    arm_body.keep_immutable(request, top, _CREATE_ONLY)
    arm_body.merge_properties(request, properties, {})
    top["properties"] = dict(sorted(properties.items()))
    return arm_body.stored_body(request, top)


def _require_what_runs(properties: Mapping[str, Data]) -> None:
    """Check that a deployment has a model, or a configuration that names the component it runs."""
    configured = properties.get("deploymentConfiguration") or {}
    lacking = ("ModelConfiguration.ModelReference", "Model Reference")
    if configured.get("deploymentConfigurationType") == "PipelineComponent":
        if pointer.get(configured, ("componentId", "assetId")):
            return
        lacking = ("DeploymentConfiguration.ComponentId", "Component Id")
    elif properties.get("model") or configured:
        return
    reason = {
        "PropertyName": lacking[0],
        "ErrorMessage": f"'{lacking[1]}' must not be empty.",
        "ErrorCode": "ArgumentNullOrEmpty",
    }
    text = (
        "The Deployment request provided has the following validation errors."
        f" Please resolve them and try again.\nErrors:\n{json.dumps([reason], indent=2)}\n"
    )
    inner = ("BadArgument", "ArgumentInvalid", "InvalidInputArguments")
    raise Permanent("UserError", text, inner=inner)


def _normalize(properties: dict[str, Data]) -> None:
    """Normalize values and set defaults (REST reference; YAML reference for the defaults)."""
    properties["errorThreshold"] = arm_body.whole_number(
        properties.get("errorThreshold", -1), -1, "errorThreshold"
    )
    arm_body.set_enum(properties, "loggingLevel", ("Info", "Warning", "Debug"), "Info")
    for name, default in (("maxConcurrencyPerInstance", 1), ("miniBatchSize", 10)):
        properties[name] = arm_body.whole_number(
            properties.get(name, default), 1, name, greatest=2**63 - 1
        )
    arm_body.set_enum(properties, "outputAction", ("AppendRow", "SummaryOnly"), "AppendRow")
    if properties["outputAction"] == "SummaryOnly":
        properties.pop("outputFileName", None)
    else:
        properties.setdefault("outputFileName", "predictions.csv")
    retry = properties["retrySettings"] = arm_body.section(properties, "retrySettings")
    retry["maxRetries"] = arm_body.whole_number(retry.get("maxRetries", 3), 0, "maxRetries")
    retry["timeout"] = arm_body.duration(retry.get("timeout", "PT30S"), "retrySettings.timeout")
    resources = properties["resources"] = arm_body.section(properties, "resources")
    resources["instanceCount"] = arm_body.whole_number(
        resources.get("instanceCount", 1), 1, "instanceCount"
    )
    resources.setdefault("properties", {})
    if "environmentVariables" in properties:
        properties["environmentVariables"] = arm_body.text_map(properties, "environmentVariables")
    _normalize_kinds(properties)


def _normalize_kinds(properties: dict[str, Data]) -> None:
    model = arm_body.section(properties, "model")
    if model:
        properties["model"] = model
        arm_body.set_enum(model, "referenceType", ("Id", "DataPath", "OutputPath"), "Id")
    configured = arm_body.section(properties, "deploymentConfiguration")
    if configured:
        properties["deploymentConfiguration"] = configured
        types = ("Model", "PipelineComponent")
        arm_body.set_enum(configured, "deploymentConfigurationType", types, None)
        if not configured.get("settings"):  # none and an empty object say the same
            configured.pop("settings", None)
