"""HTTP faults applied to requests and answers, and the handlers that set and list them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from mlctl.dataclasses import replace
from mlctl.emulator.http.messages import DROPPED, HttpError, Request, Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import control, faults
from mlctl.simulator.control_plane.faults import (
    HttpFault,
    HttpFaultKind,
    OperationStyle,
    RetryAfter,
)
from mlctl.simulator.control_plane.state.store import Store


def match_request(store: Store, request: Request) -> Sequence[HttpFault]:
    """Count a request for every fault that it matches; return the faults that apply."""
    with store.read() as db:
        if not faults.any_active(db):
            return ()
    with store.write() as db:
        return faults.match_request(db, request.method, request.path)


def raise_refusal(struck: Sequence[HttpFault], now: float) -> None:
    """Raise the error of a fault that refuses the request or drops the connection."""
    for fault in struck:
        if fault.kind is HttpFaultKind.REFUSE:
            raise HttpError(
                fault.reason, fault.message, status=fault.status, headers=_retry(fault, now)
            )
        if fault.kind is HttpFaultKind.HANG_UP:
            raise HttpError("ConnectionLost", fault.message, status=503, cut=DROPPED)


def operation_style(struck: Sequence[HttpFault], usual: OperationStyle) -> OperationStyle:
    """The style of long-running operations that this request gets."""
    return next((fault.style for fault in struck if fault.kind is HttpFaultKind.STYLE), usual)


def apply_to(response: Response, struck: Sequence[HttpFault]) -> Response:
    """Return the response with the faults of its transfer: delays and truncation."""
    for fault in struck:
        if fault.kind is HttpFaultKind.SLOW:
            response = replace(response, wait=response.wait + fault.seconds)
        if fault.kind is HttpFaultKind.TRUNCATE and len(response.body) > fault.bytes:
            response = replace(response, cut=fault.bytes)
    return response


def show(call: Call) -> Response:
    """GET /mlctl/faults: all faults, and how many calls each has matched."""
    return json_response({"value": [fault.to_json() for fault in control.status(call.home).faults]})


def add(call: Call) -> Response:
    """POST /mlctl/faults: the fields of an `HttpFault` or of a `CallFault`."""
    try:
        fault = faults.from_json(call.data)
    except ValueError as error:
        raise Permanent("InvalidFault", f"This is no fault: {error}.") from None
    return json_response({"number": control.add_fault(call.home, fault)}, 201)


def clear(call: Call) -> Response:
    """DELETE /mlctl/faults: all of them."""
    return json_response({"removed": control.clear_faults(call.home)})


def _retry(fault: HttpFault, now: float) -> dict[str, str]:
    match fault.retry_after:
        case RetryAfter.NONE:
            return {}
        case RetryAfter.SECONDS:
            return {"retry-after": f"{fault.seconds:g}"}
        case RetryAfter.MILLISECONDS:
            return {"x-ms-retry-after-ms": f"{fault.seconds * 1000:.0f}"}
        case RetryAfter.DATE:
            then = datetime.fromtimestamp(now, UTC) + timedelta(seconds=fault.seconds)
            return {"retry-after": format_datetime(then, usegmt=True)}
