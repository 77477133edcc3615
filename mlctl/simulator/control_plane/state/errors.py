"""What the service says when it does not do what it was asked."""

from __future__ import annotations

from mlctl.kinds.address import Address

NOT_FOUND, CONFLICT = 404, 409
_TIMED_OUT, _THROTTLED, _SERVERS_FAULT = 408, 429, 500


class Refusal(Exception):
    """A request that was not carried out, with the code, message and HTTP status of the answer.

    `retry_after` (seconds) is set when asking again may help; `lost` says that the request may
    have been carried out although its answer never came.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 400,
        retry_after: float | None = None,
        lost: bool = False,
    ) -> None:
        super().__init__(f"({code}) {message}")
        self.code = code
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.lost = lost

    @property
    def passing(self) -> bool:
        """Whether asking again may help."""
        if self.lost or self.retry_after is not None:
            return True
        return self.status in (_TIMED_OUT, _THROTTLED) or self.status >= _SERVERS_FAULT


def bad(message: str, code: str = "BadArgument") -> Refusal:
    """400: the request itself is wrong."""
    return Refusal(code, message)


def conflict(message: str, code: str = "Conflict") -> Refusal:
    """409: the request is fine, the state of the world is not."""
    return Refusal(code, message, status=CONFLICT)


def missing(address: Address) -> Refusal:
    """404: there is no such resource; its code is unverified, so callers go by the status."""
    return Refusal("ResourceNotFound", f"The resource `{address}` was not found.", status=NOT_FOUND)


def busy(address: Address, state: str, seconds: float) -> Refusal:
    """409 while another operation on the resource runs, for `seconds` more."""
    text = f"The resource `{address}` is {state.lower()}; try again when that has ended."
    return Refusal("OperationInProgress", text, status=CONFLICT, retry_after=max(seconds, 0.0))
