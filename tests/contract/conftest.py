"""The backends that every sentence of the contract is said of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mlctl.backends.base import Backend
from mlctl.backends.local import LocalBackend
from mlctl.kinds.address import Scope


@pytest.fixture(params=["local in memory", "local in a file"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    scope = Scope("00000000-0000-0000-0000-000000000001", "rg", "ws")
    match request.param:
        case "local in memory":
            local = LocalBackend(":memory:", scope)
        case _:
            local = LocalBackend(tmp_path / ".mlctl" / "local.db", scope)
    yield local
    local.close()
