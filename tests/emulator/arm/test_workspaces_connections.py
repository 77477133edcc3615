"""Connections are stored and told; their credentials are not kept."""

from __future__ import annotations

from tests.builders.emulator import WS, world

WHERE = f"{WS}/connections/git"
GIT = {"category": "Git", "target": "https://host/a", "authType": "PAT"}


def test_one_is_written_shown_listed_and_deleted() -> None:
    here = world()
    made = here.put(WHERE, {"properties": GIT})
    assert (made.status, made.data["properties"]["target"]) == (200, "https://host/a")
    assert here.get(f"{WS}/connections/GIT").data == made.data
    assert here.get(f"{WS}/connections").names == ["git"]
    assert here.ask("DELETE", WHERE).status == 200
    assert here.get(WHERE).status == 404
    assert here.ask("DELETE", WHERE).status == 204
    assert here.get(f"{WS}/connections").names == []


def test_credentials_are_not_kept() -> None:
    here = world()
    here.put(WHERE, {"properties": {**GIT, "credentials": {"pat": "secret"}}})
    assert b"secret" not in here.get(WHERE).response.body
    assert b"secret" not in here.get(f"{WS}/connections").response.body
