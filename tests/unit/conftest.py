"""What many unit tests start from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlctl.backends.local.backend import LocalBackend
from tests.simulated import SCOPE


@pytest.fixture
def local() -> Iterator[LocalBackend]:
    """An empty simulated workspace in memory."""
    backend = LocalBackend(":memory:", SCOPE)
    yield backend
    backend.close()
