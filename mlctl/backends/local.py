"""The local backend: a simulated workspace in a SQLite file, or in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mlctl.backends.base import BackendError, Live, NotFound, Permanent, Transient
from mlctl.cloud import catalog as stand_in
from mlctl.cloud import operations, rows, service
from mlctl.cloud.ask import Catalog, Found
from mlctl.cloud.operations import Running
from mlctl.cloud.refusal import Refusal
from mlctl.cloud.service import Place
from mlctl.cloud.store import MEMORY, Store, StoreError
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data

LOCATION = "eastus"


class LocalStateError(Permanent):
    """The state file cannot be used; the message says why and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__("LocalState", message, status=500)


class LocalOperation:
    """A write to the local cloud; waiting moves the virtual clock, never the wall's."""

    def __init__(self, place: Place, number: int | None) -> None:
        self._place = place
        self._number = number

    def wait(self) -> None:
        """Let time pass until the write is done.

        Raises:
            BackendError: the operation ended as failed.
        """
        if self._number is None:
            return
        with _translated():
            ended = service.finish(self._place, self._number)
        if ended and ended.status == "Failed":
            raise Permanent(ended.code or service.FAILED, ended.message or "The operation failed.", status=200)


class LocalBackend:
    """A workspace of the simulated cloud (`Backend`, `SupportsUsage`, `SupportsNames`, `SupportsUpload`)."""

    name = "local"

    def __init__(self, path: str | Path, scope: Scope, *, location: str = LOCATION,
                 catalog: Catalog = stand_in) -> None:
        """The workspace `scope` in the state at `path` (`:memory:` for none); made on first use in `location`.

        Raises:
            LocalStateError: the state cannot be used.
        """
        with _translated():
            self._place = Place(Store(path), scope, location, catalog)

    @property
    def scope(self) -> Scope:
        """The workspace."""
        return self._place.scope

    @property
    def location(self) -> str:
        """The workspace's region."""
        place = self._place
        with _translated(), place.store.look() as db:
            return rows.world(db, place.scope, place.location).location

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        """The resources that exist, by the address as asked; no version means the newest created."""
        with _translated():
            found = service.read(self._place, addresses)
        return {address: _live(each) for address, each in found.items()}

    def list(self, kind: str, parent: str | None = None) -> list[Live]:
        """All of a kind (of one parent), by name, oldest version first.

        Raises:
            NotFound: the parent does not exist.
        """
        with _translated():
            return [_live(each) for each in service.siblings(self._place, kind, parent)]

    def put(self, address: Address, body: Mapping[str, Data]) -> LocalOperation:
        """Create or overwrite.

        Raises:
            BackendError: refused at once.
        """
        with _translated():
            return LocalOperation(self._place, service.put(self._place, address, body))

    def delete(self, address: Address) -> LocalOperation:
        """Delete, with all that is beneath.

        Raises:
            NotFound: there is nothing to delete.
        """
        with _translated():
            return LocalOperation(self._place, service.delete(self._place, address))

    def wait(self, seconds: float) -> None:
        """Let virtual time pass."""
        with _translated(), self._place.store.change() as db:
            operations.advance(db, rows.world(db, self.scope, "").now + seconds)

    def close(self) -> None:
        """Give the file back."""
        self._place.store.close()


def _live(found: Found) -> Live:
    found.body["properties"]["provisioningState"] = found.state
    return Live(found.address, found.body)


@contextmanager
def _translated() -> Iterator[None]:
    """The border where the cloud's refusals become a backend's errors."""
    try:
        yield
    except Refusal as refusal:
        raise _error(refusal) from None
    except StoreError as error:
        raise LocalStateError(str(error)) from error


def _error(refusal: Refusal) -> BackendError:
    if refusal.passing:
        return Transient(refusal.code, refusal.message, status=refusal.status,
                         retry_after=refusal.retry_after, ambiguous=refusal.lost)
    wrong = NotFound if refusal.status == 404 else Permanent
    return wrong(refusal.code, refusal.message, status=refusal.status)
