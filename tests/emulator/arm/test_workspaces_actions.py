"""What notebooks ask of a workspace besides its resources: keys, diagnoses, what is never there."""

from __future__ import annotations

import pytest

from tests.builders.emulator import WS, world


def test_a_workspace_tells_its_storage_and_finds_nothing_wrong() -> None:
    here = world()
    keys = here.ask("POST", f"{WS}/listKeys")
    assert keys.data["userStorageResourceId"].endswith("/storageAccounts/ws")
    results = here.ask("POST", f"{WS}/diagnose", {}).data["value"]
    assert set(map(len, results.values())) == {0}
    assert here.ask("POST", f"{WS}/resyncKeys").status == 200


def test_a_patch_of_a_workspace_makes_it_where_there_is_none() -> None:
    here = world()
    patched = here.ask("PATCH", f"{WS}2", {"tags": {"a": "b"}})
    assert (patched.status, patched.data["tags"]) == (200, {"a": "b"})
    assert here.ask("DELETE", f"{WS}2").status == 200


@pytest.mark.parametrize("collection", ["featuresets", "serverlessEndpoints"])
def test_what_is_not_simulated_is_an_empty_list_and_is_not_made(collection: str) -> None:
    here = world()
    assert here.get(f"{WS}/{collection}").data == {"value": []}
    assert here.get(f"{WS}/{collection}/x").status == 404
    made = here.put(f"{WS}/{collection}/x", {"properties": {}})
    assert (made.status, made.code) == (400, "NotSimulated")
