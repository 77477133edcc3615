"""The plug-in of pytest: its fixtures. What they need is imported by the tests that use them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mlctl.testing.preemption import Preemption
    from mlctl.testing.workspace import SimulatedWorkspace


@pytest.fixture
def azureml(request: pytest.FixtureRequest) -> Iterator[SimulatedWorkspace]:
    """A new simulated Azure ML workspace, for this test alone."""
    with _opened(request.config.rootpath) as workspace:
        yield workspace


@pytest.fixture(scope="session")
def azureml_session(request: pytest.FixtureRequest) -> Iterator[SimulatedWorkspace]:
    """One simulated workspace for all tests that ask for it (of each worker of pytest-xdist)."""
    with _opened(request.config.rootpath) as workspace:
        yield workspace


@pytest.fixture
def preempt(azureml: SimulatedWorkspace) -> Preemption:
    """Takes low-priority nodes of `azureml` away: now when called, or by a rate or a script."""
    return azureml.preempt


@contextmanager
def _opened(folder: Path) -> Iterator[SimulatedWorkspace]:
    from mlctl.testing.workspace import SimulatedWorkspace

    workspace = SimulatedWorkspace(folder)
    try:
        yield workspace
    finally:
        workspace.close()
