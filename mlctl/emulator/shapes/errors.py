"""Errors of the service as recorded: codes by kind, what they are about, the chain of codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlctl.dataclasses import dataclass, field
from mlctl.emulator.http.messages import Response, detail_bodies, with_error_body
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.shape import dotnet_time
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, ServiceError
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.errors import Missing

_NEWER = "2023-10-01"  # an api-version that says otherwise than those before it
_SPAN = 16  # digits of the id of a request
_NOT_FOUND = "The specified resource was not found."


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """An error in the service's words: a detail is a code and a message, `inner` are codes.

    `format` is the message with names in braces, where the service has one, and `parameters` what
    stands for them.
    """

    code: str
    message: str
    detail: tuple[str, str] | None = None
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


def _no_model(address: Address, scope: Scope, _version: str) -> ErrorForm:
    place = f"Account Subscription: {scope.subscription}, ResourceGroup: {scope.resource_group}"
    full_name = f"{address.name}:{address.version}" if address.version else address.name
    text = (
        f"There is no registered model in {place}, Workspace: {scope.workspace} with id {full_name}"
    )
    return ErrorForm("UserError", _NOT_FOUND, ("NoSuchModelRegistered", text))


def _no_endpoint(address: Address, scope: Scope, version: str) -> ErrorForm:
    if version >= _NEWER:
        text = (
            f"An endpoint with the name '{address.name}' does not exist in the workspace"
            f" '{scope.workspace}'. Please check the endpoint name and also ensure the current user"
            " has access to it."
        )
        return ErrorForm("UserError", text, inner=("NotFound", "EndpointNotFound"))
    text = f"There is no endpoint with name: {address.name} in {scope.workspace}"
    return ErrorForm("NotFound", _NOT_FOUND, ("NoSuchEndpoint", text))


def _no_component(address: Address, _scope: Scope, _version: str) -> ErrorForm:
    full_name = f"{address.name}:{address.version}" if address.version else address.name
    inner = ("NotFound", "ComponentNotFound")
    return ErrorForm("UserError", f"Not found component {full_name}.", inner=inner)


def _no_schedule(address: Address, _scope: Scope, _version: str) -> ErrorForm:
    return ErrorForm("UserError", f"Resource Trigger {address.name} not found", inner=("NotFound",))


def _no_datastore(address: Address, _scope: Scope, _version: str) -> ErrorForm:
    why = f"Could not find datastore: {address.name}."
    return ErrorForm("UserError", why, inner=("NotFoundError",))


# 404s by kind, as recorded (model-get-404, batch-endpoint-get-404, batch-endpoint-get-404-2023-10,
# component-container-get-404, schedule-get-404,
# datastore-get-404); of other kinds none is known.
_MISSING: Mapping[str, Callable[[Address, Scope, str], ErrorForm]] = {
    "model": _no_model,
    "batch-endpoint": _no_endpoint,
    "component": _no_component,
    "datastore": _no_datastore,
    "schedule": _no_schedule,
}
_BODILESS = ("compute", "compute-instance")  # a 404 without a body (compute-get-404)


def response(call: Call, error: ServiceError, request_id: str) -> Response:
    """The answer of the provider of the service to a call that it refuses."""
    if isinstance(error, Missing) and error.address.kind in _BODILESS:
        return Response(error.status)
    form = ErrorForm(error.code, error.message, inner=error.inner)
    if isinstance(error, Missing) and error.address.kind in _MISSING:
        version = call.request.query_value("api-version")
        form = _MISSING[error.address.kind](error.address, call.scope, version)
        if error.as_container and form.detail is not None:
            text = f"Model container with name: {error.address.name} not found."
            form = ErrorForm(form.code, form.message, ("ModelNotFound", text))
    if isinstance(error, NoSuchData):
        form = error.form
    details = detail_bodies(error.details)
    if form.detail is not None:
        code, text = form.detail
        details += detail_bodies([text], code)
    body = {"code": form.code, "message": form.message, "target": error.target, "details": details}
    body["additionalInfo"] = list(_additional_info(call, request_id, form))
    return with_error_body(error, body, {})


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
