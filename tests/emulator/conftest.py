"""An emulator of its own process, behind TLS, for the tests that need a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emulator.serving import Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One emulator for all tests; each works in a workspace of its own."""
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Served]:
    """An emulator for one test."""
    with serving(tmp_path) as found:
        yield found
