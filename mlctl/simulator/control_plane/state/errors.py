"""The refusals of the service that many of its rules share."""

from __future__ import annotations

from mlctl.kinds.address import Address
from mlctl.service_errors import CONFLICT, NotFound, Permanent, Transient


def bad(message: str, code: str = "BadArgument") -> Permanent:
    """Return 400: the request itself is wrong."""
    return Permanent(code, message)


def conflict(message: str, code: str = "Conflict") -> Permanent:
    """Return 409: the request is fine, but not in the resource's state."""
    return Permanent(code, message, status=CONFLICT)


class Missing(NotFound):
    """404: nothing is at `address`; the code differs by kind, callers go by the status."""

    def __init__(self, address: Address, *, as_container: bool) -> None:
        super().__init__("ResourceNotFound", f"The resource `{address}` was not found.")
        self.address = address
        self.as_container = as_container


def missing(address: Address, *, as_container: bool = False) -> Missing:
    """Return 404: there is no such resource, or (`as_container`) no asset of that name at all."""
    return Missing(address, as_container=as_container)


def busy(
    address: Address, state: str, seconds: float, code: str = "OperationInProgress"
) -> Transient:
    """Return 409 while another operation on the resource runs, for `seconds` more."""
    text = f"The resource `{address}` is {state.lower()}; try again when that has ended."
    return Transient(code, text, status=CONFLICT, retry_after=max(seconds, 0.0))
