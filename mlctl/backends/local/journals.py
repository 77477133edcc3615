"""The journals of a simulated workspace, as the backend's callers know them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mlctl.backends.local.leases import lost_leases_reported
from mlctl.backends.ports.journals import Journals
from mlctl.dataclasses import dataclass
from mlctl.pointer import Data
from mlctl.simulator.control_plane import journals
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle


@dataclass(frozen=True, slots=True)
class LocalJournals(Journals):
    """The journals of one workspace, in its database: each method as its port says."""

    handle: WorkspaceHandle

    def append(self, name: str, record: Mapping[str, Data]) -> None:
        with lost_leases_reported():
            journals.append(self.handle, name, json.dumps(record))

    def read(self, name: str) -> list[Mapping[str, Data]]:
        return [json.loads(record) for record in journals.read(self.handle, name)]

    def names(self) -> list[str]:
        return journals.names(self.handle)
