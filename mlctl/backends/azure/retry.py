"""Retries, pace and time limits: reads are retried, nothing exceeds its deadline.

Writes are never retried here: apply does that, once, after reading back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from random import Random
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from mlctl.backends.azure import errors
from mlctl.dataclasses import dataclass, field
from mlctl.service_errors import TIMED_OUT, TRANSIENT_STATUSES, Permanent

_WRITES_LEFT = "x-ms-ratelimit-remaining-subscription-resource-requests"
_FEW, _PACE = 5, 5.0  # remaining writes at which to slow down; seconds for each one fewer
_CONNECTING, _READING, _LEAST = 10.0, 60.0, 0.1  # seconds that one attempt may take


def elapsed() -> float:
    """Return seconds from any moment, including the machine's sleep if the system counts it."""
    return time.clock_gettime(_AWAKE_OR_NOT)


_AWAKE_OR_NOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS counts them in both


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a backend and the source of its jitter; `limit`: the seconds that one operation
    may take. `elapsed` counts on while the machine sleeps; `wall` gives Unix seconds."""

    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    rng: Random = field(default_factory=Random)
    limit: float = 1800.0
    elapsed: Callable[[], float] = elapsed
    wall: Callable[[], float] = time.time

    def deadline(self) -> float:
        """Return the deadline of an operation that starts now."""
        return self.now() + self.limit

    def overdue(self, subject: str) -> Permanent:
        """Build the error of an operation that took too long."""
        message = (
            f"{subject} has not ended within {self.limit:g} seconds; it may still be running"
            " in the service. `--timeout SECONDS` waits longer"
        )
        return Permanent(TIMED_OUT, message, status=408)

    def pause(self, seconds: float) -> None:
        """Sleep for `seconds` plus up to 20 % jitter, so that callers do not retry in step."""
        self.sleep(seconds * (1.0 + 0.2 * self.rng.random()))


class PacePolicy:
    """A policy that slows writes down when the service reports that few more are allowed.

    Deployments have their own limit (recorded: 25, card batch-deployment-put-create); the service
    does not report when more are allowed.
    """

    next: Any

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: dict[str, int] = {}  # by collection: writes that are still allowed
        self._counting = Lock()

    def send(self, request: Any) -> Any:
        """Send a request; a write when few more are allowed, after a pause."""
        http_request = request.http_request
        if http_request.method not in ("PUT", "PATCH"):
            return self.next.send(request)
        collection = urlsplit(http_request.url).path.split("/")[-2].casefold()
        with self._counting:
            writes_left = self._left.get(collection, _FEW)
            if collection in self._left:
                self._left[collection] = max(writes_left - 1, 0)
        if writes_left < _FEW:
            self._clock.pause(_PACE * (_FEW - writes_left))
        response = self.next.send(request)
        header = response.http_response.headers.get(_WRITES_LEFT, "")
        if header.isdecimal():
            with self._counting:
                self._left[collection] = int(header)
        return response


class RetryPolicy:
    """A policy of the SDK's pipeline.

    Options of a request: `deadline`, in the time of `Clock.now`; `again`, whether it may be retried
    (by default, a GET may).
    """

    next: Any

    def __init__(self, clock: Clock, *, attempts: int = 4, base: float = 0.5) -> None:
        self._clock = clock
        self._attempts = attempts
        self._base = base

    def send(self, request: Any) -> Any:
        """Send a request, and retry it while the error is transient.

        Raises:
            Permanent: its deadline has passed.
        """
        options, method = request.context.options, request.http_request.method
        deadline = options.pop("deadline", math.inf)
        attempts = self._attempts if options.pop("again", method == "GET") else 1
        original_options = dict(options)  # later policies remove theirs
        for attempt in range(1, attempts + 1):
            if self._clock.now() > deadline:
                raise self._clock.overdue(_what(request))
            options.update(original_options, **self._within(deadline))
            wait = self._base * 2 ** (attempt - 1)
            try:
                response = self.next.send(request)
            except errors.CONNECTION_ERRORS as error:
                if self._clock.now() > deadline:
                    raise self._clock.overdue(_what(request)) from None
                if attempt == attempts or "CERTIFICATE_VERIFY_FAILED" in str(error):
                    raise
            else:
                if (
                    attempt == attempts
                    or response.http_response.status_code not in TRANSIENT_STATUSES
                ):
                    return response
                hint = errors.retry_after(response.http_response.headers)
                wait = wait if hint is None else hint
            self._clock.pause(min(wait, max(0.0, deadline - self._clock.now()) + 1.0))
        raise AssertionError("the last attempt returns or raises")

    def _within(self, deadline: float) -> dict[str, float]:
        """The transport's time-outs for one attempt, cut to the time left."""
        seconds_left = max(_LEAST, deadline - self._clock.now())
        return {
            "connection_timeout": min(_CONNECTING, seconds_left),
            "read_timeout": min(_READING, seconds_left),
        }


def _what(request: Any) -> str:
    """The request in an error message: method and path."""
    return f"{request.http_request.method} {urlsplit(request.http_request.url).path}"
