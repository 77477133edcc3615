"""Which workspace of which simulated cloud a call is about."""

from __future__ import annotations

from dataclasses import dataclass

from mlctl.kinds.address import Scope
from mlctl.simulator.control_plane.state.store import Store

DEFAULT_LOCATION = "eastus"  # the region of workspaces that are created by their first write


@dataclass(frozen=True, slots=True)
class WorkspaceHandle:
    """One workspace of a simulated cloud; the first write creates it, in the region `location`."""

    store: Store
    scope: Scope
    location: str
