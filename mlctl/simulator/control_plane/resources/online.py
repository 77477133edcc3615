"""Rules for managed online endpoints and their deployments."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.dataclasses import replace
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources import arm_body, by_schema, compute
from mlctl.simulator.control_plane.state.context import PutRequest
from mlctl.simulator.control_plane.state.errors import bad

_ALL, _MOST_MIRRORED = 100, 50  # percent of the requests
_ACCESS = ("Enabled", "Disabled")
_PROBES = ("livenessProbe", "readinessProbe")
_TIMES = ("initialDelay", "period", "timeout")
_COUNTS = ("successThreshold", "failureThreshold")


def accept_endpoint(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of an online endpoint over `old`."""
    address, old = request.address, request.old
    arm_body.check_endpoint_name(request)
    top, properties = arm_body.read_body(request, "scoringUri", "swaggerUri")
    keys = properties.pop("keys", None) or (old.body["properties"].get("keys") if old else None)
    arm_body.set_enum(properties, "authMode", ("Key", "AMLToken", "AADToken"), "Key")
    arm_body.set_enum(properties, "publicNetworkAccess", _ACCESS, "Enabled")
    properties["traffic"] = _shares(request, properties, "traffic")
    properties["mirrorTraffic"] = _shares(request, properties, "mirrorTraffic")
    _check_sums(properties["traffic"], properties["mirrorTraffic"])
    endpoint_id = {"azureml.onlineendpointid": address.id(request.scope)}
    arm_body.merge_properties(request, properties, endpoint_id)
    region = arm_body.region_name(top.get("location") or request.location)
    host = (
        f"https://{address.name}.{old.body['location'] if old else region}.inference.ml.azure.com"
    )
    stored = by_schema.accept(replace(request, body={**top, "properties": properties}))
    uris = {"scoringUri": f"{host}/score", "swaggerUri": f"{host}/swagger.json"}
    secret = {"keys": keys} if keys else {}  # no answer shows them
    stored["properties"] = dict(sorted({**stored["properties"], **uris, **secret}.items()))
    return {**stored, "kind": "Managed"}


def accept_deployment(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of an online deployment over `old`."""
    arm_body.check_endpoint_name(request)
    arm_body.check_parent(request)
    top, properties = arm_body.read_body(request)
    arm_body.set_enum(properties, "endpointComputeType", ("Managed",), "Managed")
    size = properties.get("instanceType")
    if request.old is None and isinstance(size, str):
        compute.check_size(request, size)
    arm_body.set_enum(properties, "egressPublicNetworkAccess", _ACCESS, "Enabled")
    _normalize_times(properties)
    _normalize_collector(properties)
    if "environmentVariables" in properties:
        properties["environmentVariables"] = arm_body.text_map(properties, "environmentVariables")
    arm_body.merge_properties(request, properties, {})
    sku = arm_body.section(top, "sku")
    capacity = arm_body.whole_number(sku.get("capacity", 1), 1, "sku.capacity")
    sku = {"name": "Default", "tier": "Standard", **sku, "capacity": capacity}
    body = {**top, "properties": properties, "sku": sku}
    stored = by_schema.accept(replace(request, body=body))
    stored["properties"] = dict(sorted(stored["properties"].items()))
    return {**stored, "kind": "Managed"}


def _normalize_collector(properties: dict[str, Data]) -> None:
    collector = arm_body.section(properties, "dataCollector")
    if not collector:
        properties.pop("dataCollector", None)
        return
    properties["dataCollector"] = collector
    collections = arm_body.section(collector, "collections")
    if not collections:
        raise bad("`dataCollector.collections` must not be empty.")
    collector["collections"] = {name: arm_body.section(collections, name) for name in collections}
    for collection in collector["collections"].values():
        arm_body.set_enum(collection, "dataCollectionMode", _ACCESS, "Disabled")


def _shares(
    request: PutRequest, properties: Mapping[str, Data], property_name: str
) -> dict[str, int]:
    """Return the shares of deployments, under their own names; all must exist.

    The error codes are unverified.
    """
    endpoint, shares = request.address.name, dict[str, int]()
    for name, share in arm_body.section(properties, property_name).items():
        part_of = arm_body.whole_number(share, 0, f"{property_name}.{name}", _ALL)
        deployment = request.find(Address("online-deployment", name, endpoint), None)
        if deployment is None or deployment.state in ("Creating", "Deleting", "Failed"):
            if not part_of:
                continue
            state = deployment.state.lower() if deployment else "not there"
            text = f"The deployment `{name}` of endpoint `{endpoint}` is {state}"
            raise bad(f"{text}: it can get no {property_name}.", "DeploymentNotFound")
        shares[deployment.address.name] = part_of
    return {name: share for name, share in shares.items() if share}


def _check_sums(traffic: Mapping[str, int], mirrored: Mapping[str, int]) -> None:
    if sum(traffic.values()) not in (0, _ALL):
        raise bad(f"The traffic must sum to 0 or {_ALL}, not {sum(traffic.values())}.")
    if len(mirrored) > 1 or sum(mirrored.values()) > _MOST_MIRRORED:
        raise bad(f"mirrorTraffic is of one deployment, and at most {_MOST_MIRRORED}.")
    for name in mirrored.keys() & traffic.keys():
        raise bad(f"The deployment `{name}` cannot get traffic and mirrorTraffic.")


def _normalize_times(properties: dict[str, Data]) -> None:
    for name in (probe for probe in _PROBES if probe in properties):
        probe = properties[name] = arm_body.section(properties, name)
        for key in (time for time in _TIMES if time in probe):
            probe[key] = arm_body.duration(probe[key], f"{name}.{key}")
        for key in (count for count in _COUNTS if count in probe):
            probe[key] = arm_body.whole_number(probe[key], 1, f"{name}.{key}")
    if "requestSettings" in properties:
        settings = properties["requestSettings"] = arm_body.section(properties, "requestSettings")
        for key in (time for time in ("requestTimeout", "maxQueueWait") if time in settings):
            settings[key] = arm_body.duration(settings[key], f"requestSettings.{key}")
