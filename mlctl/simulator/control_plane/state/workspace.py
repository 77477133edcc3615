"""Handles of workspaces, which are created by their first write."""

from __future__ import annotations

import re
from sqlite3 import Connection
from typing import NamedTuple

from mlctl.dataclasses import dataclass, replace
from mlctl.kinds.address import Scope
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.store import Store

DEFAULT_LOCATION = "eastus"  # the region of workspaces that are created by their first write


class Fence(NamedTuple):
    """The lease under which a workspace is written to."""

    project: str
    token: int
    id: str


@dataclass(frozen=True, slots=True)
class WorkspaceHandle:
    """One workspace of a simulated cloud; the first write creates it, in the region `location`.

    `caller` is the author of its writes in the activity log. With a `fence`, its writes are refused
    once that lease is lost. Where it is `observing`, no fault strikes its reads, or counts them.
    """

    store: Store
    scope: Scope
    location: str
    caller: str = ""
    fence: Fence | None = None
    observing: bool = False

    def state(self, db: Connection) -> WorkspaceState:
        """Return the state of the workspace, even if it does not exist yet."""
        return rows.workspace_state(db, self.scope, self.location, self.store.price_list)

    @property
    def current(self) -> WorkspaceState:
        """The same, outside of a transaction."""
        with self.store.read() as db:
            return self.state(db)


def ensure_workspace(db: Connection, workspace: WorkspaceHandle) -> WorkspaceState:
    """Return the state of the workspace, which is created if it does not exist."""
    state = workspace.state(db)
    if state.id != rows.NO_WORKSPACE:
        return state
    _check_scope(workspace.scope)
    workspace_id = rows.add_workspace(db, workspace.scope, workspace.location)
    return replace(state, id=workspace_id)


_PART = r"\w[\w.()-]{0,89}"  # ARM's names of resource groups, the widest of the three


def _check_scope(scope: Scope) -> None:
    for part in (scope.subscription, scope.resource_group, scope.workspace):
        if not re.fullmatch(_PART, part):
            text = f"`{part}` is no name of a subscription, resource group or workspace."
            raise bad(text, "InvalidResourceName")
