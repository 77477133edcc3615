"""The backends that every sentence of the contract is said of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend
from mlctl.kinds.address import Scope
from tests.builders.azure import azure, connected, emulated

SCOPE = Scope("00000000-0000-0000-0000-000000000001", "rg", "ws")
_numbers = count(2)


@pytest.fixture(params=["local in memory", "local in a file", "azure in process", "azure over TLS"])
def backend(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    match request.param:
        case "local in memory":
            made: Backend = LocalBackend(":memory:", SCOPE)
        case "local in a file":
            made = LocalBackend(tmp_path / ".mlctl" / "local.db", SCOPE)
        case "azure in process":
            made = azure(emulated(), SCOPE).backend
        case _:
            alone = Scope(str(UUID(int=next(_numbers))), "rg", "ws")  # quotas are a subscription's
            made = connected(request.getfixturevalue("served"), alone, monkeypatch)
    yield made
    made.close()
