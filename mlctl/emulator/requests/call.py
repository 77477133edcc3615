"""One request on its way to an answer: what it names, and what it may touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, urlencode
from uuid import NAMESPACE_URL, uuid5

from mlctl.emulator.http import bodies
from mlctl.emulator.http.messages import Request, not_found
from mlctl.emulator.requests.blob_store import BlobStore
from mlctl.emulator.requests.settings import VIRTUAL, EmulatorSettings
from mlctl.kinds.address import PROVIDER, Address, Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.http_faults import OperationStyle
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.rows import NO_WORKSPACE, WorkspaceState
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import DEFAULT_LOCATION, WorkspaceHandle


@dataclass(frozen=True)
class Call:
    """A request whose path was understood; `names` are the parts of it that name something."""

    request: Request
    kind: str
    names: Mapping[str, str]
    store: Store
    blob_store: BlobStore
    settings: EmulatorSettings
    style: OperationStyle

    @property
    def state(self) -> WorkspaceState:
        """The cloud as seen from the workspace that the path names.

        Raises:
            ServiceError: 404, there is no such workspace and none is made on first use.
        """
        names = self.names
        asked = Scope(names["subscription"], names["group"], names["workspace"])
        home = self.settings.home
        at_home = is_same_workspace(asked, home)
        with self.store.read() as db:
            world = rows.workspace_state(db, home if at_home else asked, DEFAULT_LOCATION)
        if self.settings.strict and world.id == NO_WORKSPACE and not at_home:
            raise not_found(
                f"{PROVIDER}/workspaces/{asked.workspace}",
                f"resource group '{asked.resource_group}'",
            )
        return world

    @property
    def scope(self) -> Scope:
        """The workspace, as it was first spelt."""
        return self.state.scope

    @property
    def handle(self) -> WorkspaceHandle:
        """Where the cloud's verbs work."""
        return WorkspaceHandle(self.store, self.state.scope, self.state.location)

    @property
    def address(self) -> Address:
        """The resource that the path names."""
        names = self.names
        return Address(self.kind, names["name"], names.get("parent"), names.get("version"))

    @cached_property
    def data(self) -> dict[str, Data]:
        """The JSON object of the body.

        Raises:
            ServiceError: 400, it is none.
        """
        return bodies.read(self.request.body)

    def peek(self, address: Address) -> StoredResource | None:
        """A resource as it stands; unlike the verbs of the cloud, this meets no fault."""
        with self.store.read() as db:
            return rows.find(db, self.state.id, address)

    def guid(self, purpose: str) -> str:
        """An id that stays the same for this workspace of this cloud."""
        scope = str(self.scope).casefold()
        return str(uuid5(NAMESPACE_URL, f"{self.state.seed}/{scope}/{purpose}"))

    def url(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """The absolute URL of a path of ours."""
        pairs = {"api-version": self.request.query_value("api-version"), **(query or {})}
        asked = urlencode({key: held for key, held in pairs.items() if held}, quote_via=quote)
        return f"{self.request.base}{quote(path)}{'?' if asked else ''}{asked}"

    def finish(self, number: int | None) -> None:
        """In virtual time, let it pass until an operation has ended; else it passes by itself."""
        if number is not None and self.settings.pace is VIRTUAL:
            service.finish(self.handle, number)


def is_same_workspace(one: Scope, other: Scope) -> bool:
    """Whether two names mean one workspace."""
    return str(one).casefold() == str(other).casefold()
