"""Leases of projects, as leases of blobs in the workspace's own container, with journals.

The blob names the holder, its metadata has the fencing token, and Azure Storage enforces who may
write it. The resource manager knows of neither, so writers renew the lease just before each write.
What is on its way by then cannot be called back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, HttpResponseError, ResourceNotFoundError

from mlctl.backends.azure.datastore import Datastore
from mlctl.backends.azure.errors import sdk_errors_decoded
from mlctl.backends.ports.lease import LEASE_S, Holder, JournalStore, Lease, LeaseHeld, LeaseLost
from mlctl.pointer import Data
from mlctl.service_errors import Permanent, ServiceError, Transient

FOLDER = ".mlctl/locks/"
_TOKEN = "token"  # noqa: S105 - of the metadata
_MARGIN_S = 5.0  # of the lease, kept for the request that goes out under it
# In seconds: a lease does not wait for an answer.
TIMES: dict[str, Any] = {"connection_timeout": 5.0, "read_timeout": 10.0}
_FORBIDDEN = 403
_PRESENT, _LOCKED = "LeaseAlreadyPresent", "locked"
_BROKEN = "LeaseIsBrokenAndCannotBeRenewed"
# Codes saying that a lease is no longer ours, or that its blob is gone.
_LOST = frozenset(
    {
        _BROKEN,
        "LeaseIdMismatchWithLeaseOperation",
        "LeaseNotPresentWithLeaseOperation",
        "BlobNotFound",
    }
)
_T = TypeVar("_T")


class BlobLeases:
    """The leases of one workspace; each method does what its port says.

    `store` returns its datastore on first use. `elapsed` counts seconds from any moment, also while
    the machine sleeps; `wall` returns Unix seconds.
    """

    def __init__(
        self,
        store: Callable[[], Datastore],
        elapsed: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._store = store
        self._elapsed = elapsed
        self._wall = wall
        self._container: Any = None
        self._until: dict[str, float] = {}  # by id: when a lease of ours ends, in `elapsed`

    def acquire(self, project: str, holder: Holder, duration: float = LEASE_S) -> Lease:
        return self.ask(lambda container: self._acquire(container, project, holder, duration))

    def _acquire(self, container: Any, project: str, holder: Holder, duration: float) -> Lease:
        blob, begun, now = container.get_blob_client(_name(project)), self._elapsed(), self._wall()
        blob_lease = self._taken(blob, project, int(duration))
        try:
            metadata = blob.get_blob_properties(**TIMES).metadata or {}
            token = int(metadata.get(_TOKEN) or 0) + 1
            lease = Lease(project, token, holder, now, now + duration, blob_lease.id)
            blob.upload_blob(
                json.dumps(_lease_content(lease)),
                overwrite=True,
                metadata={_TOKEN: str(token)},
                lease=blob_lease,
                **TIMES,
            )
        except BaseException:
            with suppress(AzureError):  # it expires in a minute
                blob_lease.release(**TIMES)
            raise
        self._until[lease.id] = begun + duration
        return lease

    def _taken(self, blob: Any, project: str, duration: int) -> Any:
        """Return the SDK's client for the lease of a blob, which is created if missing."""
        try:
            return blob.acquire_lease(lease_duration=duration, **TIMES)
        except ResourceNotFoundError:
            _make(blob)
        except HttpResponseError as error:
            if _code(error) != _PRESENT:
                raise
            raise LeaseHeld(self._lease(blob, project)) from None
        return self._taken(blob, project, duration)

    def renew(self, lease: Lease) -> None:
        begun = self._elapsed()
        try:
            self.ask(lambda container: _client(container, lease).renew(**TIMES))
        except ServiceError as error:
            if _LOST.intersection(error.inner):
                why = "it was broken" if _BROKEN in error.inner else "another process has taken it"
                raise LeaseLost(f"the lease of `{lease.project}` is lost: {why}") from None
            raise
        self._until[lease.id] = max(begun + lease.ends - lease.since, self._until.get(lease.id, 0))

    def check(self, lease: Lease) -> None:
        """Renew a lease before a write; if Storage does not answer, the clock decides for a while.

        Raises:
            LeaseLost: it was lost or, as far as known here, has expired.
        """
        try:
            self.renew(lease)
        except LeaseLost:
            raise
        except ServiceError as error:
            if self._elapsed() < self._until.get(lease.id, 0) - _MARGIN_S:
                return
            why = f"it has expired, and cannot be renewed: {error.message}"
            raise LeaseLost(f"the lease of `{lease.project}` is lost: {why}") from None

    def release(self, lease: Lease) -> None:
        self._until.pop(lease.id, None)
        try:
            self.ask(lambda container: _client(container, lease).release(**TIMES))
        except ServiceError as error:
            if not _LOST.intersection(error.inner):
                raise

    def held(self) -> list[Lease]:
        return self.ask(self._held)

    def _held(self, container: Any) -> list[Lease]:
        names = [
            entry.name
            for entry in container.list_blobs(name_starts_with=FOLDER, **TIMES)
            if entry.lease.status == _LOCKED
        ]
        projects = ((name, name.removeprefix(FOLDER).removesuffix(".json")) for name in names)
        return [self._lease(container.get_blob_client(name), project) for name, project in projects]

    def break_(self, lease: Lease) -> bool:
        return self.ask(lambda container: self._break(container, lease))

    def _break(self, container: Any, lease: Lease) -> bool:
        from azure.storage.blob import BlobLeaseClient

        blob = container.get_blob_client(_name(lease.project))
        blob_properties = blob.get_blob_properties(**TIMES)
        token = (blob_properties.metadata or {}).get(_TOKEN)
        if token != str(lease.token) or blob_properties.lease.status != _LOCKED:
            return False
        only: dict[str, Any] = {"etag": blob_properties.etag, **TIMES}
        only["match_condition"] = MatchConditions.IfNotModified
        try:
            BlobLeaseClient(blob).break_lease(lease_break_period=0, **only)
        except HttpResponseError as error:
            if _code(error) in ("ConditionNotMet", "LeaseNotPresentWithLeaseOperation"):
                return False
            raise
        return True

    def _lease(self, blob: Any, project: str) -> Lease:
        """Return the lease of a blob as its holder has written it, without its id."""
        read = blob.download_blob(**TIMES)
        token = (read.properties.metadata or {}).get(_TOKEN)
        try:
            content = dict(json.loads(read.readall() or b"{}"))
            duration = float(content.get("duration") or LEASE_S)
            started = float(content.get("since") or self._wall())
        except (TypeError, ValueError):  # somebody else's text
            content, duration, started = {}, LEASE_S, self._wall()
        holder = Holder.of(content.get("holder") or {})
        # Renewed just now, as far as anybody can tell.
        return Lease(project, int(token or 0), holder, started, self._wall() + duration)

    def ask(self, ask: Callable[[Any], _T]) -> _T:
        """Query the container with the workspace's secret, or with the caller's own permission.

        Raises:
            ServiceError: the storage cannot be reached, or refuses.
        """
        if self._container is not None:
            try:
                return _answer(lambda: ask(self._container))
            except ServiceError as error:
                if error.status != _FORBIDDEN:
                    raise
                self._container = None  # its secret has expired
        store = _answer(self._store)
        try:
            container = _answer(store.container)
            answer = _answer(lambda: ask(container))
        except ServiceError as error:
            if error.status != _FORBIDDEN:
                raise
            container = store.own_container()
            answer = _answer(lambda: ask(container))
        self._container = container
        return answer


def _answer(ask: Callable[[], _T]) -> _T:
    """Query the storage."""
    try:
        with sdk_errors_decoded():
            return ask()
    except (LeaseHeld, LeaseLost):
        raise
    except ServiceError as error:
        if error.code == _STORE:
            raise
        message = f"the workspace's storage cannot keep a lease: {error}"
        kind = Transient if isinstance(error, Transient) else Permanent
        service_error = kind(_STORE, message, status=error.status, details=error.details)
        service_error.request_id = error.request_id
        service_error.inner = (error.code,)
        raise service_error from None


_STORE = "LeaseStore"  # the code, by which mlctl gives advice


def _name(project: str) -> str:
    return f"{FOLDER}{project}.json"


def _client(container: Any, lease: Lease) -> Any:
    from azure.storage.blob import BlobLeaseClient

    return BlobLeaseClient(container.get_blob_client(_name(lease.project)), lease.id)


def _make(blob: Any) -> None:
    """Create an empty blob, unless another process has meanwhile."""
    try:
        blob.upload_blob(b"", overwrite=False, **TIMES)
    except HttpResponseError as error:
        if _code(error) not in _MADE:
            raise


_MADE = ("BlobAlreadyExists", "LeaseIdMissing")


def _code(error: HttpResponseError) -> str:
    response: Any = error.response
    return str(response.headers.get("x-ms-error-code")) if response is not None else ""


def _lease_content(lease: Lease) -> dict[str, Data]:
    duration = lease.ends - lease.since
    return {"holder": lease.holder.as_data(), "since": lease.since, "duration": duration}


JOURNALS = ".mlctl/journals/"
_END = ".jsonl"


class BlobJournals(JournalStore):
    """The journals of one workspace; each method does what its port says.

    A blob is written whole, under a lease that is renewed just before: nobody else writes it then.
    """

    def __init__(self, leases: BlobLeases, lease: Lease | None) -> None:
        self._leases = leases
        self._lease = lease
        self._lines: dict[str, bytes] = {}  # what this process knows to exist

    def append(self, name: str, record: Mapping[str, Data]) -> None:
        if name not in self._lines:
            self._lines[name] = self._content(name)
        if self._lease is not None:
            self._leases.check(self._lease)
        content = self._lines[name] + json.dumps(record).encode() + b"\n"

        def write(container: Any) -> None:
            container.upload_blob(f"{JOURNALS}{name}{_END}", content, overwrite=True, **TIMES)

        self._leases.ask(write)
        self._lines[name] = content

    def read(self, name: str) -> list[Mapping[str, Data]]:
        return [json.loads(line) for line in self._content(name).splitlines()]

    def names(self) -> list[str]:
        def listed(container: Any) -> list[Any]:
            return list(container.list_blobs(name_starts_with=JOURNALS, **TIMES))

        blobs = sorted(self._leases.ask(listed), key=lambda blob: blob.creation_time)
        return [blob.name.removeprefix(JOURNALS).removesuffix(_END) for blob in blobs]

    def _content(self, name: str) -> bytes:
        def read(container: Any) -> bytes:
            try:
                blob = container.download_blob(f"{JOURNALS}{name}{_END}", **TIMES)
                return bytes(blob.readall())
            except ResourceNotFoundError:
                return b""

        return self._leases.ask(read)
