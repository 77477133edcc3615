"""The lease of an apply: acquired before its first write, renewed by a thread, released at its end.

Plans need none. A killed process releases nothing; its lease expires after a minute.
"""

from __future__ import annotations

import os
import pwd
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import (
    LEASE_S,
    Holder,
    Lease,
    LeaseHeld,
    LeaseLost,
    Leases,
    SupportsLeases,
)
from mlctl.dataclasses import dataclass
from mlctl.service_errors import ServiceError, Transient

_POLL_S = 2.0  # between two attempts at a lease that another process holds
_ATTEMPTS = 5  # to reach the service that keeps the leases
_RENEW_S = LEASE_S / 3
_RENEW_AGAIN_S = LEASE_S / 12  # after a failed renewal
_LONGEST = 200  # characters of a command


def _ignore(_: Lease) -> None: ...


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A request for a project's lease, which waits `timeout` seconds if another process has it.

    `waiting` is called once, with that holder's lease. `now` counts seconds from any moment, and
    `pause` (see `keep_renewed`) waits.
    """

    project: str
    holder: Holder
    timeout: float = 0.0
    waiting: Callable[[Lease], object] = _ignore
    now: Callable[[], float] = time.monotonic
    pause: Callable[[threading.Event, float], bool] = threading.Event.wait


@contextmanager
def under_lease(
    backend: Backend, request: LeaseRequest | None, stop: threading.Event
) -> Iterator[Backend]:
    """Yield the backend writing under a lease, which is renewed until the block ends.

    Yields the backend itself if no lease is needed, if it has no leases, or if `stop` was set while
    waiting for the lease: nothing starts then.

    Raises:
        LeaseHeld: another process still has the lease after the timeout.
        ServiceError: the service that keeps the leases cannot be reached, or refuses.
    """
    if request is None or not isinstance(backend, SupportsLeases):
        yield backend
        return
    leases = backend.leases
    lease = _acquired(leases, request, stop)
    if lease is None:
        yield backend
        return
    ended = threading.Event()
    renewing = threading.Thread(
        target=keep_renewed, args=(leases, lease, ended), name="lease", daemon=True
    )
    renewing.start()
    try:
        yield backend.under(lease)
    finally:
        ended.set()
        renewing.join()
        with suppress(ServiceError):  # it expires in a minute
            leases.release(lease)


def _acquired(leases: Leases, request: LeaseRequest, stop: threading.Event) -> Lease | None:
    """Acquire the lease; None if `stop` was set first."""
    deadline: float | None = (
        None  # end of the timeout, which starts when another process has the lease
    )
    failures = 0
    while True:
        wait = _POLL_S
        try:
            return leases.acquire(request.project, request.holder)
        except LeaseHeld as error:
            if deadline is None and request.timeout > 0:
                request.waiting(error.lease)
            deadline = request.now() + request.timeout if deadline is None else deadline
            wait = min(wait, deadline - request.now())
            if wait <= 0:
                raise
            failures = 0
        except Transient:
            failures += 1
            if failures >= _ATTEMPTS:
                raise
        if request.pause(stop, wait):
            return None


def keep_renewed(
    leases: Leases,
    lease: Lease,
    ended: threading.Event,
    pause: Callable[[threading.Event, float], bool] = threading.Event.wait,
) -> None:
    """Renew a lease until `ended` is set or the lease is lost, which the next write reports.

    `pause` waits for an event, for seconds at most, and returns whether it was set.
    """
    wait = _RENEW_S
    while not pause(ended, wait):
        try:
            leases.renew(lease)
        except LeaseLost:
            return
        except ServiceError:
            wait = _RENEW_AGAIN_S
        else:
            wait = _RENEW_S


def holder(command: str, environment: Mapping[str, str]) -> Holder:
    """Describe this process to others; `command` must have no secrets."""
    import socket  # noqa: PLC0415 - a plan imports this module, and has no lease

    user = next(filter(None, map(environment.get, _USERS)), "") or _user()
    run = _run_url(environment)
    return Holder(f"{user}@{socket.gethostname()}", os.getpid(), command[:_LONGEST], run)


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may have users without names
        return str(os.getuid())


# In a pipeline, who started it; else the user of the machine.
_USERS = ("GITHUB_ACTOR", "BUILD_REQUESTEDFOR", "GITLAB_USER_LOGIN", "USER", "LOGNAME")


def _run_url(environment: Mapping[str, str]) -> str:
    """Return the URL of the pipeline run on GitHub, Azure DevOps or GitLab; "" elsewhere."""
    get = environment.get
    if get("GITHUB_RUN_ID"):
        at = f"{get('GITHUB_SERVER_URL', 'https://github.com')}/{get('GITHUB_REPOSITORY')}"
        return f"{at}/actions/runs/{get('GITHUB_RUN_ID')}"
    if get("BUILD_BUILDID"):
        at = f"{get('SYSTEM_COLLECTIONURI', '')}{get('SYSTEM_TEAMPROJECT')}"
        return f"{at}/_build/results?buildId={get('BUILD_BUILDID')}"
    return get("CI_JOB_URL", "")
