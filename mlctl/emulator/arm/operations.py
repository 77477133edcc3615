"""Long-running operations: the four styles in which ARM answers them, and their polling."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.dataclasses import replace
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.emulator.requests.settings import VIRTUAL
from mlctl.emulator.shapes import views
from mlctl.emulator.shapes.errors import NoSuchData
from mlctl.emulator.shapes.protocols import TIMEOUT, operation_url, protocol_of
from mlctl.emulator.shapes.shape import dotnet_time
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.faults import OperationStyle
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.resources.operations import (
    FAILED,
    RUNNING,
    SUCCEEDED,
    LongRunningOperation,
    OperationFailure,
    OperationKind,
)
from mlctl.simulator.control_plane.state import clock

_OK, _CREATED, _ACCEPTED, _NO_CONTENT = 200, 201, 202, 204
_WORKSPACE = "workspace"  # a query parameter of ours, of URLs that lead to the resource itself
_YEAR_ONE = "0001-01-01T00:00:00+00:00"  # .NET's first moment: it has not ended
_SOON, _LATE = 0.02, 5.0  # seconds between two polls, at least and at most


def write_response(
    call: Call, number: int | None, *, created: bool, patched: bool = False
) -> Response:
    """The answer to a PUT or PATCH that began operation `number` (None: all is done).

    201 to a new resource, with its URL, and for some kinds to a PUT over an existing one;
    202 to a PATCH whose operation still runs: of some kinds without a body.
    """
    running = _find_begun(call, number)
    protocol = protocol_of(call.kind)
    if running and patched and protocol.status_as_result and call.style is OperationStyle.ASYNC:
        location = {"location": _url(call, running, located=True)}
        return Response(_ACCEPTED, {**retry_headers(call, running.number), **location, **TIMEOUT})
    resource = call.peek(call.address)
    if resource is None:  # somebody else deleted it in this very moment
        text = f"The resource `{call.address}` is gone."
        raise Permanent("Conflict", text, target=str(call.address), status=409)
    goes_on = running is not None and running.status == RUNNING
    if patched:
        status = _ACCEPTED if goes_on else _OK
    else:
        status = _CREATED if created else protocol.overwritten if running else _OK
    headers = _headers(call, running) if running else {}
    if status == _CREATED and protocol.locates and call.style is not OperationStyle.LOCATION:
        headers["location"] = call.url(resource.address.id(call.scope), call.request.query)
    return json_response(views.resource_body(call, resource), status, headers)


def action_response(call: Call, number: int | None) -> Response:
    """The answer to a POST that began operation `number`; it has no body."""
    running = _find_begun(call, number)
    return Response(_ACCEPTED, _headers(call, running) if running else {})


def delete_response(call: Call, number: int | None) -> Response:
    """The answer to a DELETE that began operation `number` (None: all is done)."""
    running = _find_begun(call, number)
    if running is None or running.status != RUNNING:
        return Response(_OK)
    headers = _headers(call, running)
    if call.style is OperationStyle.STATE:  # without any header, ARM's poller would not wait
        headers["location"] = _url(call, running, located=True)
    if not protocol_of(call.kind).locates:
        return Response(_ACCEPTED, headers)
    if call.style is OperationStyle.ASYNC:
        headers["location"] = _url(call, running, located=True)
    return json_response(None, _ACCEPTED, headers)


def status(call: Call) -> Response:
    """GET of an Azure-AsyncOperation URL: always 200, whatever the status."""
    call = call.at_home()
    running = _poll(call)
    headers = retry_headers(call, running.number) if running.status == RUNNING else {}
    return json_response(_status(call, running), _OK, headers)


def result(call: Call) -> Response:
    """GET of a Location URL: 202 while it runs, then its status, the resource or the error."""
    original, call = call, call.at_home()
    running = _poll(call)
    if running.status == RUNNING:
        return still_running(call, retry_headers(call, running.number))
    if not call.request.query_value(_WORKSPACE):
        if protocol_of(running.address.kind).status_as_result:
            return json_response(_status(call, running))
        raise NoSuchData(call.names["token"])
    group, _, workspace = original.request.query_value(_WORKSPACE).partition("/")
    call = replace(original, names={**original.names, "group": group, "workspace": workspace})
    if running.failure and running.status == FAILED:
        raise _error_of(running.failure)
    resource = None if running.verb is OperationKind.DELETE else call.peek(running.address)
    return json_response(views.resource_body(call, resource)) if resource else Response(_NO_CONTENT)


def still_running(call: Call, headers: Mapping[str, str]) -> Response:
    """Return 202 of a Location URL, which leads to itself."""
    location = {"location": call.url(call.request.path, call.request.query)}
    return json_response({}, _ACCEPTED, {**location, **headers})


def retry_headers(call: Call, number: int) -> dict[str, str]:
    """The header with the poll interval of an operation: without it, the SDK sleeps for 30 s."""
    wait = _SOON
    if call.settings.pace is not VIRTUAL:
        running = call.operation(number)
        remaining = running.due - call.state.now if running else 0.0
        wait = min(max(remaining / call.settings.pace, _SOON), _LATE)
    return {"x-ms-retry-after-ms": str(round(wait * 1000))}


def _find_begun(call: Call, number: int | None) -> LongRunningOperation | None:
    if number is None or call.style is not OperationStyle.SYNC:
        return call.operation(number)
    ended = service.finish(call.handle, number)
    if ended and ended.status == FAILED and ended.failure:
        raise _error_of(ended.failure)
    return ended


def _headers(call: Call, running: LongRunningOperation) -> dict[str, str]:
    """The headers of an operation; that with the poll interval is for the SDK, not recorded."""
    if running.status != RUNNING:
        return {}
    headers = {**retry_headers(call, running.number), **protocol_of(call.kind).headers}
    match call.style:
        case OperationStyle.ASYNC:
            headers["azure-asyncoperation"] = _url(call, running, located=False)
        case OperationStyle.LOCATION:
            headers["location"] = _url(call, running, located=True)
        case OperationStyle.STATE | OperationStyle.SYNC:
            pass
    return headers


def _url(call: Call, running: LongRunningOperation, *, located: bool) -> str:
    """The URL of an operation; in a style of ours it names the workspace, too."""
    scope = call.state.scope
    ours = (
        {}
        if call.style is OperationStyle.ASYNC
        else {_WORKSPACE: f"{scope.resource_group}/{scope.workspace}"}
    )
    return operation_url(call, running.address.kind, running.number, located=located, query=ours)


def _poll(call: Call) -> LongRunningOperation:
    """The operation. In virtual time the first poll waits for half of it, the next for its end."""
    token = call.names["token"]
    running = call.operation(operations.number_of(call.state.seed, token.rpartition(":")[2]))
    if running is None:
        raise NoSuchData(token)
    if call.settings.pace is not VIRTUAL or running.status != RUNNING:
        return running
    half = (running.started + running.due) / 2
    if call.state.now < half:
        service.advance(call.handle, half)
        return running
    return service.finish(call.handle, running.number) or running


def _status(call: Call, running: LongRunningOperation) -> Data:
    protocol, goes_on = protocol_of(running.address.kind), running.status == RUNNING
    deleted = running.verb is OperationKind.DELETE
    path = call.request.path
    fields: dict[str, Data] = {
        "id": path.replace(protocol.status, protocol.result) if protocol.named_by_result else path,
        "name": call.names["token"],
        "startTime": dotnet_time(clock.iso(running.started)),
        "endTime": _YEAR_ONE if goes_on else dotnet_time(clock.iso(running.due)),
        "percentComplete": protocol.percent if running.status == SUCCEEDED else 0.0,
        "status": running.status,
    }
    if goes_on:
        fields["status"] = protocol.deleting if deleted else protocol.running
    keys = protocol.keys if goes_on else protocol.last_keys
    body = {key: fields[key] for key in keys}
    if running.failure and running.status == FAILED:
        body["error"] = {
            "code": running.failure.code,
            "message": running.failure.message,
            "target": str(running.address),
            "details": [],
        }
    return body


def _error_of(failure: OperationFailure) -> Permanent:
    return Permanent(failure.code, failure.message)
