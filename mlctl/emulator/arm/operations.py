"""Long-running operations: the four styles in which ARM answers them, and their polling."""

from __future__ import annotations

from dataclasses import replace

from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.emulator.requests.settings import VIRTUAL
from mlctl.emulator.shapes import views
from mlctl.kinds.address import PROVIDER, kind_of
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.http_faults import OperationStyle
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

_ACCEPTED, _NO_CONTENT = 202, 204
_SOON, _LATE = 0.02, 5.0  # seconds between two polls, at least and at most


def write_response(call: Call, number: int | None, *, created: bool) -> Response:
    """The answer to a PUT or PATCH that began operation `number` (None: all is done)."""
    running = _begun(call, number)
    found = call.peek(call.address)
    if found is None:  # somebody else deleted it in this very moment
        text = f"The resource `{call.address}` is gone."
        raise Permanent("Conflict", text, target=str(call.address), status=409)
    headers = _headers(call, running) if running else {}
    return json_response(views.resource_body(call, found), 201 if created else 200, headers)


def delete_response(call: Call, number: int | None) -> Response:
    """The answer to a DELETE that began operation `number` (None: all is done)."""
    running = _begun(call, number)
    if running is None or running.status != RUNNING:
        return Response(_NO_CONTENT if running else 200)
    headers = _headers(call, running)
    headers["location"] = _url(call, running, 1)  # without any header, ARM's poller would not wait
    return Response(_ACCEPTED, headers)


def status(call: Call) -> Response:
    """GET of an Azure-AsyncOperation URL: always 200, whatever the status."""
    call = _there(call)
    running = _polled(call)
    headers = retry_headers(call, running.number) if running.status == RUNNING else {}
    return json_response(_status(call, running), 200, headers)


def result(call: Call) -> Response:
    """GET of a Location URL: 202 while it runs, then the resource (a delete: 204) or error."""
    call = _there(call)
    running = _polled(call)
    if running.status == RUNNING:
        here = call.url(call.request.path, call.request.query)
        return Response(_ACCEPTED, {"location": here, **retry_headers(call, running.number)})
    if running.failure and running.status == FAILED:
        raise _failed(running.failure)
    found = None if running.verb is OperationKind.DELETE else call.peek(running.address)
    return json_response(views.resource_body(call, found)) if found else Response(_NO_CONTENT)


def retry_headers(call: Call, number: int) -> dict[str, str]:
    """The header with the poll interval of an operation: without it, the SDK sleeps for 30 s."""
    wait = _SOON
    if call.settings.pace is not VIRTUAL:
        with call.store.read() as db:
            running = operations.find(db, number)
        left = running.due - call.state.now if running else 0.0
        wait = min(max(left / call.settings.pace, _SOON), _LATE)
    return {"x-ms-retry-after-ms": str(round(wait * 1000))}


def _begun(call: Call, number: int | None) -> LongRunningOperation | None:
    if number is None:
        return None
    if call.style is not OperationStyle.SYNC:
        with call.store.read() as db:
            return operations.find(db, number)
    ended = service.finish(call.handle, number)
    if ended and ended.status == FAILED and ended.failure:
        raise _failed(ended.failure)
    return ended


def _headers(call: Call, running: LongRunningOperation) -> dict[str, str]:
    if running.status != RUNNING:
        return {}
    headers = retry_headers(call, running.number)
    match call.style:
        case OperationStyle.ASYNC:
            headers["azure-asyncoperation"] = _url(call, running, 0)
        case OperationStyle.LOCATION:
            headers["location"] = _url(call, running, 1)
        case OperationStyle.STATE | OperationStyle.SYNC:
            pass
    return headers


def _url(call: Call, running: LongRunningOperation, which: int) -> str:
    world = call.state
    segment = kind_of(running.address).operations[which]
    token = operations.token(world.seed, running.number)
    path = (
        f"/subscriptions/{world.scope.subscription}/providers/{PROVIDER}"
        f"/locations/{world.location}/{segment}/{token}"
    )
    return call.url(path, {"workspace": f"{world.scope.resource_group}/{world.scope.workspace}"})


def _there(call: Call) -> Call:
    """The call, in the workspace that the query of the polling URL names."""
    group, _, workspace = call.request.query_value("workspace").partition("/")
    home = call.settings.home
    named = {"group": group or home.resource_group, "workspace": workspace or home.workspace}
    return replace(call, names={**call.names, **named})


def _polled(call: Call) -> LongRunningOperation:
    """The operation; in virtual time, polling advances the clock to its end."""
    token = call.names["token"]
    with call.store.read() as db:
        number = operations.number_of(call.state.seed, token)
        running = operations.find(db, number) if number is not None else None
    if running is None:
        text = f"The operation '{token}' was not found."
        raise NotFound("OperationNotFound", text, target=token)
    if call.settings.pace is not VIRTUAL:
        return running
    return service.finish(call.handle, running.number) or running


def _status(call: Call, running: LongRunningOperation) -> Data:
    body: dict[str, Data] = {
        "id": call.request.path,
        "name": call.names["token"],
        "status": running.status,
        "startTime": clock.iso(running.started),
        "percentComplete": 100.0 if running.status == SUCCEEDED else 0.0,
    }
    if running.status != RUNNING:
        body["endTime"] = clock.iso(running.due)
    if running.failure and running.status == FAILED:
        body["error"] = {
            "code": running.failure.code,
            "message": running.failure.message,
            "target": str(running.address),
            "details": [],
        }
    return body


def _failed(failure: OperationFailure) -> Permanent:
    return Permanent(failure.code, failure.message)
