"""Machines that meet at one emulator, on a clock that moves as they wait."""

from __future__ import annotations

from typing import Any

from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.controller import Controller
from mlctl.finishing.progress import Progress
from mlctl.kinds.address import Scope
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import HttpFault
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from tests.builders.azure import SCOPE, Azure, ManualClock, azure, emulated
from tests.builders.emulator import Wall
from tests.finishing.worlds import NAME


class Meeting:
    """An emulator on a clock that moves as its clients wait."""

    def __init__(self, scope: Scope = SCOPE, **settings: Any) -> None:
        self.wall, self.scope = Wall(), scope
        self.store = Store(":memory:")
        self.emulator = emulated(self.store, now=self.wall, pace=1.0, **settings)

    def strike(self, fault: HttpFault) -> None:
        """Set a fault of requests."""
        control.add_fault(WorkspaceHandle(self.store, self.scope, "eastus"), fault)

    def client(self, credential: Any = None) -> Azure:
        """A client on a machine of its own."""
        wall = self.wall

        class Shared(ManualClock):
            def sleep(self, seconds: float) -> None:
                super().sleep(seconds)
                wall.time += seconds

        return azure(
            self.emulator,
            self.scope,
            wall=wall,
            clock=Shared(),
            limit=3600.0,
            credential=credential,
        )

    def progress(self) -> Progress:
        """How far the job is."""
        return Progress.from_records(self.client().backend.journals.read(NAME))

    def order(self, **changes: Any) -> None:
        """Order the job otherwise: its journal says so from its first record on."""
        journals = self.client().backend.journals
        first, *following = journals.read(NAME)
        order = {**first["order"], **changes}
        journals._lines[NAME] = b""
        for record in ({**first, "order": order}, *following):
            journals.append(NAME, record)

    def controller(self, client: Azure, backend: Any = None) -> Controller:
        """A controller that knows the journal."""
        backend = backend or client.backend
        journals = backend.journals
        return Controller(
            Progress.from_records(journals.read(NAME)),
            WorkspaceCloud(backend, backend.jobs, self.wall),
            lambda record: journals.append(NAME, record),
        )
