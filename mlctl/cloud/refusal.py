"""What the service says when it does not do what it was asked: one exception and its usual forms."""

from __future__ import annotations

from mlctl.kinds.address import Address


class Refusal(Exception):
    """A request that was not carried out, with the code, message and HTTP status of the answer.

    `retry_after` (seconds) is set when asking again may help; `lost` says that the request may have
    been carried out although its answer never came.
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
        return self.lost or self.retry_after is not None or self.status in (408, 429) or self.status >= 500


def bad(message: str, code: str = "BadArgument") -> Refusal:
    """400: the request itself is wrong."""
    return Refusal(code, message)


def conflict(message: str, code: str = "Conflict") -> Refusal:
    """409: the request is fine, the state of the world is not."""
    return Refusal(code, message, status=409)


def missing(address: Address, why: str = "") -> Refusal:
    """404: there is no such resource; the code is unverified, callers go by the status."""
    tail = f" {why}" if why else ""
    return Refusal("ResourceNotFound", f"The resource `{address}` was not found.{tail}", status=404)


def busy(address: Address, state: str, seconds: float) -> Refusal:
    """409 while another operation on the resource runs, for `seconds` more."""
    text = f"The resource `{address}` is {state.lower()}; try again when that operation has ended."
    return Refusal("OperationInProgress", text, status=409, retry_after=max(seconds, 0.0))
