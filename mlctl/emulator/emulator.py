"""The emulator: a function from a request to a response, over the simulated cloud."""

from __future__ import annotations

from threading import Lock

from mlctl.dataclasses import replace
from mlctl.emulator import routes
from mlctl.emulator.arm import authorization, faults
from mlctl.emulator.http.messages import Request, Response, error_response
from mlctl.emulator.identity import tokens
from mlctl.emulator.requests.call import Call
from mlctl.emulator.requests.settings import VIRTUAL, EmulatorSettings
from mlctl.emulator.routes import Needs
from mlctl.emulator.shapes import errors
from mlctl.emulator.shapes.protocols import is_of_service, service_headers
from mlctl.service_errors import CONFLICT, Permanent, ServiceError, Transient
from mlctl.simulator.control_plane import control, integrity, schedules
from mlctl.simulator.control_plane.faults import HttpFault, OperationStyle
from mlctl.simulator.control_plane.state.blob_store import BlobStore
from mlctl.simulator.control_plane.state.store import LocalStateBusyError, LocalStateError, Store
from mlctl.simulator.control_plane.state.workspace import DEFAULT_LOCATION, WorkspaceHandle

_OWN, _MFE = "/mlctl/", "/mferp/managementfrontend/"
_BUSY_RETRY = 1.0  # seconds after which to ask again while another process holds the state file
_TICK = 0.02  # seconds of the wall clock between two advances of the virtual one


class Emulator:
    """Answers requests from a state file; safe to call from several threads and processes.

    What a request changes is stored before its response is returned. An unexpected exception
    becomes a 500 with an error body, and is given to `EmulatorSettings.bug`.
    """

    def __init__(self, store: Store, settings: EmulatorSettings | None = None) -> None:
        """The cloud in `store`.

        Raises:
            LocalStateError: the state file cannot be used.
        """
        self._store = store
        store.start_due = schedules.start_due
        self._blob_store = BlobStore(store)
        self._settings = settings or EmulatorSettings()
        self._ticked = self._settings.now()
        self._ticking = Lock()

    def __call__(self, request: Request) -> Response:
        """Answer a request; nothing is raised."""
        number = self._settings.new_id()
        struck: list[HttpFault] = []  # known as soon as the request has been counted
        try:
            response = self._answer(_without_front_end(request), number, struck)
        except LocalStateBusyError as error:
            busy = Transient("ServerBusy", error.message, retry_after=_BUSY_RETRY)
            response = error_response(busy)
        except LocalStateError as error:
            response = error_response(_internal_error(error.message))
        except ServiceError as error:
            response = error_response(self._error_to_answer(error))
        except Exception as error:  # noqa: BLE001 - one bad request must not end the server
            response = error_response(_internal_error(self._explain(error)))
        headers = {**_common_headers(request, number), **service_headers(request, response)}
        return faults.apply_to(response, struck).with_headers(headers)

    def _answer(self, request: Request, number: str, struck: list[HttpFault]) -> Response:
        self._tick()
        if not request.path.casefold().startswith(_OWN):
            struck += faults.match_request(self._store, request)
            faults.raise_refusal(struck, self._settings.now())
        route, names = routes.find(request.method, request.path)
        if route.needs is not Needs.NOTHING:
            tokens.authenticate(request, self._settings)
        if route.needs is Needs.VERSION and not request.query_value("api-version"):
            text = "The api-version query parameter (?api-version=) is required for all requests."
            raise Permanent("MissingApiVersionParameter", text)
        style = faults.operation_style(struck, _operation_style(request, self._settings.style))
        call = Call(
            request, route.kind, names, self._store, self._blob_store, self._settings, style
        )
        if route.needs is Needs.VERSION:
            authorization.check_locks(call, request.path)
        try:
            return route.handler(call)
        except Permanent as error:
            if isinstance(error, LocalStateError) or not is_of_service(request):
                raise
            return errors.response(call, error, number)

    def _tick(self) -> None:
        """Advance the virtual clock by the wall time since the last call, times the pace."""
        pace = self._settings.pace
        if pace is VIRTUAL:
            return
        with self._ticking:
            now = self._settings.now()
            passed = now - self._ticked
            if 0 <= passed < _TICK:
                return
            self._ticked = now
        if passed > 0:  # the system's clock may be set back
            control.wait(self._home, passed * pace)

    def _error_to_answer(self, error: ServiceError) -> ServiceError:
        """Return the error to answer with; in virtual time a transient conflict ends with it."""
        virtual = self._settings.pace is VIRTUAL
        if not (virtual and isinstance(error, Transient) and error.status == CONFLICT):
            return error
        if error.retry_after is None:
            return error
        control.wait(self._home, error.retry_after)
        return Transient(error.code, error.message, status=error.status, retry_after=_TICK)

    def _explain(self, error: Exception) -> str:
        """Explain an unexpected error: damage of the state file, or a bug of the emulator."""
        try:
            integrity.check(self._store)
        except LocalStateError as damage:
            return damage.message
        self._settings.bug(error)
        return f"The emulator has a bug ({type(error).__name__}); it says more on its console."

    @property
    def _home(self) -> WorkspaceHandle:
        return WorkspaceHandle(self._store, self._settings.home, DEFAULT_LOCATION)


def _internal_error(message: str) -> ServiceError:
    return Permanent("InternalServerError", message, status=500)


def _without_front_end(request: Request) -> Request:
    """Strip the prefix of the data plane's management front end from the request."""
    if request.path.casefold().startswith(_MFE):
        return replace(request, path=request.path[len(_MFE) - 1 :])
    return request


def _operation_style(request: Request, usual: OperationStyle) -> OperationStyle:
    """The style of long-running operations that the caller may choose, with `x-mlctl-lro`."""
    text = request.header("x-mlctl-lro")
    if not text:
        return usual
    try:
        return OperationStyle(text.casefold())
    except ValueError:
        styles = ", ".join(style.value for style in OperationStyle)
        raise Permanent("InvalidHeader", f"`{text}` is no style: {styles}.") from None


def _common_headers(request: Request, number: str) -> dict[str, str]:
    """The headers of every response."""
    correlation = request.header("x-ms-correlation-request-id") or number
    headers = {
        "x-ms-request-id": number,
        "x-ms-correlation-request-id": correlation,
        "x-ms-routing-request-id": f"LOCAL:{number}",
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
    }
    client = request.header("x-ms-client-request-id")
    return {**headers, "x-ms-client-request-id": client} if client else headers
