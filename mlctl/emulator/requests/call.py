"""A request with its route: the names in its path, the store and the settings."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from urllib.parse import quote, urlencode

from mlctl.dataclasses import dataclass, replace
from mlctl.emulator.http import messages
from mlctl.emulator.http.messages import Request, not_found
from mlctl.emulator.requests.settings import VIRTUAL, EmulatorSettings
from mlctl.kinds.address import PROVIDER, Address, Scope
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.faults import OperationStyle
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.resources.operations import LongRunningOperation
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.blob_store import BlobStore
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.errors import missing
from mlctl.simulator.control_plane.state.rows import NO_WORKSPACE, WorkspaceState
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import DEFAULT_LOCATION, WorkspaceHandle

_CALLERS = ("upn", "unique_name", "oid", "appid")  # claims: of a person, else of a program


@dataclass(frozen=True)
class Call:
    """A request that has a route; `names` are the values of the names in the route's pattern."""

    request: Request
    kind: str
    names: Mapping[str, str]
    store: Store
    blob_store: BlobStore
    settings: EmulatorSettings
    style: OperationStyle

    @property
    def state(self) -> WorkspaceState:
        """The state of the workspace that the path names."""
        names = self.names
        requested = Scope(names["subscription"], names["group"], names["workspace"])
        home = self.settings.home
        at_home = is_same_workspace(requested, home)
        with self.store.read() as db:
            state = rows.workspace_state(
                db, home if at_home else requested, DEFAULT_LOCATION, self.store.price_list
            )
        if self.settings.strict and state.id == NO_WORKSPACE and not at_home:
            raise self._no_workspace(requested)
        return state

    def _no_workspace(self, requested: Scope) -> NotFound:
        """Raise the resource manager's 404; a write below the workspace gets another one."""
        if self.request.method != "GET":
            why = "Can not perform requested operation on nested resource. Parent resource"
            return NotFound("ParentResourceNotFound", f"{why} '{requested.workspace}' not found.")
        group = f"resource group '{requested.resource_group}'"
        return not_found(f"{PROVIDER}/workspaces/{requested.workspace}", group)

    @property
    def scope(self) -> Scope:
        """Return the workspace, as it was first spelt."""
        return self.state.scope

    @property
    def handle(self) -> WorkspaceHandle:
        """The workspace, as functions of the control plane take it."""
        state = self.state
        return WorkspaceHandle(self.store, state.scope, state.location, self.caller)

    def at_home(self) -> Call:
        """Return the call in the default workspace, for what all workspaces share."""
        return self.within(self.settings.home)

    def within(self, scope: Scope, kind: str = "") -> Call:
        """Return the call in another workspace, about another kind if one is given."""
        parts = (scope.subscription, scope.resource_group, scope.workspace)
        names = dict(zip(("subscription", "group", "workspace"), parts, strict=True))
        return replace(self, kind=kind or self.kind, names={**self.names, **names})

    def in_workspaces(self) -> Iterator[Call]:
        """The call in each workspace."""
        with self.store.read() as db:
            scopes = [scope for scope, *_ in rows.workspaces(db)]
        return map(self.within, scopes)

    @property
    def caller(self) -> str:
        """Return the token's caller, as the activity log names it; "" if the token names none."""
        return _caller_of(self.request.header("authorization"))

    @property
    def home(self) -> WorkspaceHandle:
        """Return the default workspace."""
        return WorkspaceHandle(self.store, self.settings.home, DEFAULT_LOCATION)

    @property
    def address(self) -> Address:
        """The resource that the path names."""
        names = self.names
        return Address(self.kind, names["name"], names.get("parent"), names.get("version"))

    @cached_property
    def data(self) -> dict[str, Data]:
        """The JSON object of the body."""
        return messages.read_json_body(self.request.body)

    def peek(self, address: Address) -> StoredResource | None:
        """Return a resource as stored; unlike reads of the control plane, no fault applies."""
        with self.store.read() as db:
            return rows.find(db, self.state.id, address)

    def require(self, address: Address) -> StoredResource:
        """As `peek`."""
        resource = self.peek(address)
        if resource is None:
            raise missing(address)
        return resource

    def operation(self, number: int | None) -> LongRunningOperation | None:
        """Return the operation of a number."""
        if number is None:
            return None
        with self.store.read() as db:
            return operations.find(db, number)

    def system_data(self, created: Data, changed: Data, kind: str = "User") -> dict[str, Data]:
        """When something was created and changed, and by whom (`kind`: a user or application)."""
        author = self.guid(kind.lower())
        return {
            "createdAt": created,
            "createdBy": author,
            "createdByType": kind,
            "lastModifiedAt": changed,
            "lastModifiedBy": author,
            "lastModifiedByType": kind,
        }

    def guid(self, purpose: str) -> str:
        """A GUID that depends on the seed, the workspace and `purpose` only."""
        return self.state.guid(purpose)

    def url(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """The absolute URL of a path of the emulator."""
        pairs = {"api-version": self.request.query_value("api-version"), **(query or {})}
        encoded = urlencode({key: value for key, value in pairs.items() if value}, quote_via=quote)
        return f"{self.request.base}{quote(path, safe='/:')}{'?' if encoded else ''}{encoded}"

    def finish(self, number: int | None) -> None:
        """In virtual time, advance the clock until an operation has ended."""
        if number is not None and self.settings.pace is VIRTUAL:
            service.finish(self.handle, number)


@lru_cache(maxsize=16)  # most requests of a program have the same token
def _caller_of(authorization: str) -> str:
    token = authorization.rpartition(" ")[2].split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(token[1] + "=="))
        claimed = (claims.get(name) for name in _CALLERS)
        return str(next((name for name in claimed if name), ""))
    except (ValueError, IndexError, AttributeError, RecursionError):
        return ""


def is_same_workspace(scope: Scope, other_scope: Scope) -> bool:
    """Whether two scopes name the same workspace."""
    return str(scope).casefold() == str(other_scope).casefold()
