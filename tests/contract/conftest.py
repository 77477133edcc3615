"""The backends that every sentence of the contract is said of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mlctl.backends.base import Backend
from mlctl.backends.local import LocalBackend
from mlctl.kinds.address import Scope
from tests.azure.clients import azure, emulated


@pytest.fixture(params=["local in memory", "local in a file", "azure in process"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    scope = Scope("00000000-0000-0000-0000-000000000001", "rg", "ws")
    match request.param:
        case "local in memory":
            made: Backend = LocalBackend(":memory:", scope)
        case "local in a file":
            made = LocalBackend(tmp_path / ".mlctl" / "local.db", scope)
        case _:
            made = azure(emulated(), scope).backend
    yield made
    made.close()
