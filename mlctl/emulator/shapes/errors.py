"""Errors of the service as recorded: codes by kind, what they are about, the chain of codes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mlctl import source
from mlctl.dataclasses import dataclass, field
from mlctl.emulator.http.messages import Response, detail_bodies, with_error_body
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.shape import dotnet_time
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, ServiceError
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.errors import Missing

_NEWER = "2023-10-01"  # an api-version that says otherwise than those before it
_SPAN = 16  # digits of the id of a request


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """An error in the service's words: a detail is a code and a message, `inner` are codes.

    `format` is the message with names in braces, where the service has one, and `parameters` what
    stands for them.
    """

    code: str
    message: str
    detail: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    format: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


class NoSuchData(NotFound):
    """404: nothing has this name, such as an operation that has ended."""

    def __init__(self, name: str) -> None:
        super().__init__("UserError", f"Resource {name} not found")
        self.form = ErrorForm(
            self.code,
            self.message,
            inner=("NotFound",),
            format="Resource {dataName} not found",
            parameters={"dataName": name},
        )


_BODILESS = ("compute", "compute-instance")  # a 404 without a body (compute-get-404)


def response(call: Call, error: ServiceError, request_id: str) -> Response:
    """The answer of the provider of the service to a call that it refuses."""
    if isinstance(error, Missing) and error.address.kind in _BODILESS:
        return Response(error.status)
    form = ErrorForm(error.code, error.message, inner=error.inner)
    if isinstance(error, Missing):
        form = _form_of(call, error) or form
    if isinstance(error, NoSuchData):
        form = error.form
    details = detail_bodies(error.details)
    if form.detail:
        code, text = form.detail
        details += detail_bodies([text], code)
    body = {"code": form.code, "message": form.message, "target": error.target, "details": details}
    body["additionalInfo"] = list(_additional_info(call, request_id, form))
    return with_error_body(error, body, {})


@cache
def _texts() -> Mapping[str, Data]:
    texts: dict[str, Data] = source.plain(Path(__file__).with_suffix(".yml").read_text("utf-8"))
    return texts


def _form_of(call: Call, error: Missing) -> ErrorForm | None:
    """What the service says of a resource that is not there; None if that is not known."""
    address, texts = error.address, _texts()
    is_former = call.request.query_value("api-version") < _NEWER
    names = [f"former-{address.kind}"] if is_former else []
    names += [f"container-of-{address.kind}"] if error.as_container else []
    form = next((texts[name] for name in (*names, address.kind) if name in texts), None)
    if form is None:
        return None
    full_name = f"{address.name}:{address.version}" if address.version else address.name
    message, *detail = (
        text.format(name=address.name, id=full_name, scope=call.scope)
        for text in (form["message"], *form.get("detail", ()))
    )
    return ErrorForm(form["code"], message, tuple(detail), tuple(form.get("inner", ())))


def _additional_info(call: Call, request_id: str, form: ErrorForm) -> list[Data]:
    region = call.names.get("location") or call.state.location
    correlation = call.request.header("x-ms-correlation-request-id") or request_id
    values: dict[str, Data] = {
        "ComponentName": "managementfrontend",
        "Correlation": {
            "operation": correlation.replace("-", ""),
            "request": request_id.replace("-", "")[-_SPAN:],
        },
        "Environment": region,
        "Location": region,
        "Time": dotnet_time(clock.iso(control.now(call.home))),
    }
    if form.inner:
        values["InnerError"] = _chain(form.inner)
    if form.format:
        values |= {"MessageFormat": form.format, "MessageParameters": dict(form.parameters)}
    return [{"type": kind, "info": {"value": value}} for kind, value in values.items()]


def _chain(codes: tuple[str, ...]) -> Data:
    """The codes, each inside the one before."""
    first, *inner = codes
    return {"code": first, "innerError": _chain(tuple(inner)) if inner else None}
