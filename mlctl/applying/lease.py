"""The lease of an apply: taken before its first write, renewed by a thread, given back at its end.

Plans take none. A process that is killed gives nothing back; its lease is over a minute later.
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

_POLL_S = 2.0  # between two looks at a lease that another holds
_ATTEMPTS = 5  # to reach what keeps the leases
_RENEW_S = LEASE_S / 3
_RENEW_AGAIN_S = LEASE_S / 12  # after a renewal that failed
_LONGEST = 200  # characters of a command


def _ignore(_: Lease) -> None: ...


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """The lease of a project, for a holder, who waits `timeout` seconds where another has it.

    `waiting` is called once, with that other's. `now` counts seconds from any moment, and by
    `pause` (see `keep_renewed`) it waits.
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
    """The backend as it writes under a lease, which is renewed until the block ends.

    The backend itself where none is wanted, where it has no leases, and once `stop` was set while
    another had the lease: nothing starts then.

    Raises:
        LeaseHeld: another has it, and still had it when the time to wait was over.
        ServiceError: what keeps the leases cannot be reached, or refuses.
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
        with suppress(ServiceError):  # it is over by itself in a minute
            leases.release(lease)


def _acquired(leases: Leases, request: LeaseRequest, stop: threading.Event) -> Lease | None:
    """The lease; None where `stop` was set before it was free."""
    deadline: float | None = None  # when the time to wait is over; it begins when another has it
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
    """Renew a lease until `ended` is set or the lease is lost, which the next write says.

    `pause` waits for an event, for seconds at most, and says whether it was set.
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
    """This process, as others see it; `command` must have no secrets."""
    import socket  # noqa: PLC0415 - a plan imports this module, and has no lease

    user = next(filter(None, map(environment.get, _USERS)), "") or _user()
    run = _run_url(environment)
    return Holder(f"{user}@{socket.gethostname()}", os.getpid(), command[:_LONGEST], run)


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may have users without names
        return str(os.getuid())


# In a pipeline: who started it; else the user of the machine.
_USERS = ("GITHUB_ACTOR", "BUILD_REQUESTEDFOR", "GITLAB_USER_LOGIN", "USER", "LOGNAME")


def _run_url(environment: Mapping[str, str]) -> str:
    """The page of the pipeline's run, on GitHub, Azure DevOps or GitLab; "" elsewhere."""
    get = environment.get
    if get("GITHUB_RUN_ID"):
        at = f"{get('GITHUB_SERVER_URL', 'https://github.com')}/{get('GITHUB_REPOSITORY')}"
        return f"{at}/actions/runs/{get('GITHUB_RUN_ID')}"
    if get("BUILD_BUILDID"):
        at = f"{get('SYSTEM_COLLECTIONURI', '')}{get('SYSTEM_TEAMPROJECT')}"
        return f"{at}/_build/results?buildId={get('BUILD_BUILDID')}"
    return get("CI_JOB_URL", "")
