"""Clusters, batch endpoints and batch deployments: read, list, write, patch, delete."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable

from mlctl import pointer
from mlctl.dataclasses import replace
from mlctl.emulator.arm import operations
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import views
from mlctl.kinds.registry import ALL, sharing
from mlctl.pointer import Data, Pointer
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import control, scoring, service
from mlctl.simulator.control_plane import nodes as cluster_nodes

_OK, _NO_CONTENT = 200, 204
_TAIL = 5000  # lines of logs, unless asked for others; as azure-ai-ml asks
_INSTANCES = 50  # of a deployment, at most (recorded: online-deployment-skus)
_ENABLED = {"enabledonly": True, "disabledonly": False}  # values of listViewType, of schedules


def show(call: Call) -> Response:
    """GET of one resource. Showing one that changes lets time pass: the next GET sees it done."""
    call = _with_stored_kind(call)
    resource = service.require(call.handle, call.address)
    number = resource.operation
    headers = None if number is None else operations.retry_headers(call, number)
    response = json_response(views.resource_body(call, resource), headers=headers)
    call.finish(number)
    return response


def show_all(call: Call) -> Response:
    """GET of a collection, paged; kinds that share another's collection follow on its last page."""
    parent = call.names.get("parent")
    page = listing.resources(call, parent)
    stored = list(page.items)
    for kind in sharing(call.kind)[1:] if page.next_key is None else ():
        stored += service.list_resources(call.handle, kind.name, parent)
    enabled = _ENABLED.get(call.request.query_value("listViewType").casefold())
    if enabled is not None:
        at = ("properties", "isEnabled")
        stored = [item for item in stored if pointer.get(item.body, at, True) is enabled]
    return listing.page_response(
        call, page, (views.resource_body(call, resource) for resource in stored)
    )


def write(call: Call) -> Response:
    """PUT: create or overwrite."""
    call = _with_stored_kind(call)
    return _put(call, call.data)


def patch(call: Call) -> Response:
    """PATCH of the few properties that a patch may name; everything else is refused."""
    call = _with_stored_kind(call)
    resource = call.require(call.address)
    kind = ALL[call.kind]
    allowed = kind.arm.patchable
    extra = sorted(set(_leaves(call.data, allowed)))
    if extra:
        names = " and ".join(f"`{pointer.dotted(at)}`" for at in allowed)
        text = f"A PATCH cannot change `{extra[0]}`; it can change {names}. Use PUT."
        raise Permanent("BadArgument", text, target=extra[0])
    body: dict[str, Data] = json.loads(json.dumps(resource.body))
    for at in allowed:
        new = pointer.get(call.data, at)
        if new is not None:
            current = pointer.get(body, at)
            merge = isinstance(new, dict) and isinstance(current, dict) and kind.arm.patched
            pointer.put(body, at, {**current, **new} if merge else new)
    return _put(call, body, patched=True)


def delete(call: Call) -> Response:
    """DELETE, of a compute with `underlyingResourceAction`, which is required of Azure's callers.

    `Detach` leaves nothing behind here, as `Delete` does.
    """
    call = _with_stored_kind(call)
    action = call.request.query_value("underlyingResourceAction", "Delete")
    if action.casefold() not in ("delete", "detach"):
        text = f"`{action}` is no underlyingResourceAction: it is Delete or Detach."
        raise Permanent("BadArgument", text, target="underlyingResourceAction")
    if ALL[call.kind].arm.tracked and call.peek(call.address) is None:
        return Response(_NO_CONTENT)  # the resource manager knows that there is none
    return operations.delete_response(call, service.delete(call.handle, call.address))


def nodes(call: Call) -> Response:
    """POST listNodes: under `nodes`, not `value`, and all of them on one page."""
    listed = [
        {
            "nodeId": node.id,
            "privateIpAddress": node.private_ip,
            "publicIpAddress": node.public_ip,
            "port": node.port,
            "nodeState": node.state,
            "runId": node.job,
        }
        for node in cluster_nodes.list_nodes(call.handle, call.address)
    ]
    return json_response({"computeType": "AmlCompute", "nodes": listed})


def switch_power(call: Call) -> Response:
    """POST start, stop and restart of a compute instance."""
    call = _with_stored_kind(call)
    call.require(call.address)
    on = not call.request.path.casefold().endswith("/stop")
    return operations.action_response(call, control.switch_power(call.handle, call.address, on=on))


def set_idle(call: Call) -> Response:
    """POST updateIdleShutdownSetting of a compute instance."""
    call = _with_stored_kind(call)
    body = copy.deepcopy(dict(call.require(call.address).body))
    if not ALL[call.kind].arm.posted:
        raise Permanent("BadArgument", "A cluster has no idle shutdown.", target="computeName")
    setting = "idleTimeBeforeShutdown"
    body["properties"]["properties"][setting] = call.data.get(setting)
    running = service.put(call.handle, call.address, body).operation
    if running is not None:
        call.finish(running)  # the service is done when it answers
    return Response(_OK)


def _with_stored_kind(call: Call) -> Call:
    """Return the call with the kind that is stored, or that the body names."""
    kinds = sharing(call.kind)
    if not kinds[1:]:
        return call
    for kind in kinds:
        candidate = replace(call, kind=kind.name)
        if candidate.peek(candidate.address) is not None:
            return candidate
    for kind in kinds if call.request.method == "PUT" else ():
        at, word = kind.arm.live_type or ((), "")
        if pointer.get(call.data, at) == word:
            return replace(call, kind=kind.name)
    return call


def keys(call: Call) -> Response:
    """POST listKeys: none for an endpoint that uses tokens."""
    endpoint = call.require(call.address)
    return json_response(scoring.keys(call.state, call.address, endpoint.body))


def regenerate_keys(call: Call) -> Response:
    """POST regenerateKeys: 202 with a Location alone, as recorded."""
    call.require(call.address)
    key_type = str(call.data.get("keyType") or "")
    number = scoring.regenerate(call.handle, call.address, key_type)
    return operations.write_response(call, number, created=False, patched=True)


def token(call: Call) -> Response:
    """POST token: one for a day; after half of it callers shall ask for another."""
    return json_response(scoring.token(call.state, call.require(call.address).address))


def logs(call: Call) -> Response:
    """POST getLogs: the last `tail` events of a deployment stand for lines of its containers."""
    tail = call.data.get("tail") or _TAIL
    return json_response({"content": scoring.logs(call.handle, call.address, int(tail))})


def skus(call: Call) -> Response:
    """GET of the SKUs of an online deployment: how far it can scale."""
    sku = call.require(call.address).body["sku"]
    capacity = {"minimum": 1, "maximum": _INSTANCES, "default": sku["capacity"]}
    row = {
        "resourceType": "Microsoft.MachineLearning.Services/endpoints/deployments",
        "sku": {"name": str(sku["name"]).lower(), "tier": sku["tier"]},
        "capacity": {**capacity, "scaleType": "Automatic"},
    }
    return json_response({"value": [row]})


def _put(call: Call, body: dict[str, Data], *, patched: bool = False) -> Response:
    version = call.request.query_value("api-version")
    accepted = service.put(call.handle, call.address, body, version)
    return operations.write_response(
        call, accepted.operation, created=accepted.created, patched=patched
    )


def _leaves(data: Data, allowed: Iterable[Pointer], at: Pointer = ()) -> Iterable[str]:
    """Yield the properties of a body that are not allowed."""
    if at in allowed or data is None:
        return
    inside = any(allowed_pointer[: len(at)] == at for allowed_pointer in allowed)
    if inside and isinstance(data, dict):
        for key, value in data.items():
            yield from _leaves(value, allowed, (*at, key))
    else:
        yield pointer.dotted(at)
