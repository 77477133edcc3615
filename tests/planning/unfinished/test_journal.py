"""Journals: files that outlive an apply that does not end."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mlctl import schema
from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address, Scope
from mlctl.planning.model import Unfinished
from mlctl.planning.unfinished.journal import JournalError, JournalFile, Journals
from mlctl.service_errors import Transient
from tests.builders.bodies import CPU
from tests.builders.plans import applied
from tests.builders.resources import compute, endpoint
from tests.builders.workspace import SCOPE, cloud

NOW = datetime(2026, 11, 23, 5, 50, 11, tzinfo=UTC)
ENDPOINT = endpoint().address
TAGS = Unfinished(CPU, {"tags": {"team": "ds"}})
DEFAULT = Unfinished(
    ENDPOINT, {"properties": {"defaults": {"deploymentName": "blue"}}}, deleted=False
)


@pytest.fixture
def journals(tmp_path: Path) -> Journals:
    return Journals(tmp_path / ".mlctl" / "journal", "local", SCOPE)


def written(journals: Journals, *unfinished: Unfinished, after: int = 0) -> JournalFile:
    """A journal that says what is unfinished, so many seconds after the first."""
    journal = journals.new(NOW + timedelta(seconds=after), ["infra"])
    journal.write(unfinished)
    return journal


def test_what_is_written_is_read_again(journals: Journals) -> None:
    written(journals, TAGS, DEFAULT)
    (found,) = journals.unfinished()
    assert found.paths == [str(Path("infra").absolute())]
    assert {one.address: one.body for one in found.unfinished.values()} == {
        CPU: TAGS.body,
        ENDPOINT: DEFAULT.body,
    }
    assert [one.since for one in journals.changes().values()] == ["2026-11-23T05:50:11Z"] * 2
    assert [one.deleted for one in journals.changes().values()] == [True, False]


def test_a_journal_is_what_its_schema_says(journals: Journals) -> None:
    path = written(journals, TAGS, DEFAULT).path
    jsonschema.Draft202012Validator(schema.load("journal")).validate(json.loads(path.read_text()))


def test_a_journal_is_its_owners_alone_and_no_repository_sees_it(journals: Journals) -> None:
    path = written(journals, TAGS).path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert (folder / ".gitignore").read_text() == "*\n"


def test_a_new_journal_is_no_file_before_it_is_written_to(journals: Journals) -> None:
    journals.new(NOW)
    assert not journals.folder.exists()
    assert journals.changes() == {}


def test_what_came_from_standard_input_is_no_path(journals: Journals) -> None:
    assert journals.new(NOW, ["-"]).paths == []


@pytest.mark.parametrize(
    "other", [{"backend": "azure"}, {"scope": Scope("s", "rg", "elsewhere")}], ids=str
)
def test_the_journal_of_another_workspace_is_left_alone(
    journals: Journals, other: dict[str, Any]
) -> None:
    path = written(Journals(**{**_fields(journals), **other}), TAGS).path
    assert journals.changes() == {}
    assert journals.settle(cloud()) == []
    assert path.exists()


def _fields(journals: Journals) -> dict[str, Any]:
    return {"folder": journals.folder, "backend": journals.backend, "scope": journals.scope}


def test_of_two_journals_the_later_one_counts(journals: Journals) -> None:
    written(journals, Unfinished(CPU, {"tags": {"team": "ops", "cost": "7"}}), after=0)
    written(journals, TAGS, after=60)
    unfinished = journals.changes()[CPU]
    assert unfinished.body == {"tags": {"team": "ds", "cost": "7"}}
    assert unfinished.since == "2026-11-23T05:51:11Z"


DAMAGED = ["", "{", "[]", "{}", '{"format_version": "1.0"}', "\0\0", "[" * 100_000]


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:8])
def test_a_damaged_journal_is_told_in_one_sentence(journals: Journals, text: str) -> None:
    path = written(journals, TAGS).path
    path.write_text(text)
    with pytest.raises(JournalError, match="is damaged: repair it, or delete it") as caught:
        journals.changes()
    assert str(path) in caught.value.message


@pytest.mark.parametrize("version", ["1.1", "2.0", "9.0"])
def test_a_newer_journal_is_newer_and_not_damaged(journals: Journals, version: str) -> None:
    path = written(journals, TAGS).path
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format_version": version}))
    with pytest.raises(
        JournalError, match=r"from a newer mlctl .* upgrade mlctl, and keep the file"
    ):
        journals.changes()


@pytest.mark.parametrize(
    ("key", "value"),
    [("address", "cluster/cpu"), ("address", "cpu"), ("body", []), ("deleted", "yes")],
)
def test_so_is_one_that_names_what_cannot_be(journals: Journals, key: str, value: Any) -> None:
    path = written(journals, TAGS).path
    document = json.loads(path.read_text())
    document["owed"][0][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(JournalError, match="is damaged"):
        journals.changes()


def test_a_journal_whose_apply_ends_while_the_folder_is_read_is_none(
    journals: Journals, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(journals, TAGS)
    ended = journals.folder / "0.json"
    monkeypatch.setattr(Path, "glob", lambda self, _: [ended, *self.iterdir()])
    (journals.folder / ".gitignore").unlink()
    assert list(journals.changes()) == [CPU]


def test_what_was_cut_off_while_it_was_written_is_no_journal(journals: Journals) -> None:
    path = written(journals, TAGS).path
    path.with_name(f".{path.name}.12ab34cd").write_text("{")
    assert list(journals.changes()) == [CPU]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    journals = Journals(tmp_path / "file" / "journal", "local", SCOPE)
    with pytest.raises(JournalError, match="MLCTL_JOURNAL_DIR"):
        written(journals, TAGS)


def test_a_journal_is_on_the_disk_before_it_has_its_name(
    journals: Journals, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", fsync)
    path = written(journals, TAGS).path
    scratch, folder = synced
    assert scratch not in (path.name, folder)
    assert scratch.startswith(".mlctl.")
    assert folder == "journal"


def workspace(**values: Any) -> LocalBackend:
    """A workspace with a cluster and an endpoint."""
    backend = cloud()
    applied(backend, compute(**values), endpoint())
    return backend


def test_what_is_back_is_settled_and_the_file_is_gone(journals: Journals) -> None:
    path = written(journals, TAGS).path
    assert journals.settle(workspace(tags={"team": "ds"})) == []
    assert not path.exists()


def test_what_is_not_there_and_a_default_that_is_not_set_are_still_owed(journals: Journals) -> None:
    path = written(journals, TAGS, DEFAULT).path
    (left,) = journals.settle(workspace())
    assert (list(left.unfinished), left.path) == ([ENDPOINT], path)
    assert list(journals.changes()) == [ENDPOINT]
    assert list(journals.settle(cloud())) == []  # the endpoint has gone since


def test_of_an_endpoint_that_is_made_anew_the_default_is_still_owed(journals: Journals) -> None:
    written(journals, Unfinished(ENDPOINT, {**DEFAULT.body, "tags": {"team": "ds"}}))
    (left,) = journals.settle(workspace())
    (unfinished,) = left.unfinished.values()
    assert (unfinished.deleted, unfinished.body) == (False, DEFAULT.body)


def test_what_is_deleted_on_purpose_is_forgotten(journals: Journals) -> None:
    written(journals, TAGS, DEFAULT)
    blue = Address("batch-deployment", "blue", ENDPOINT.name)
    assert list(journals.settle(cloud(), [CPU, blue])) == []
    assert journals.unfinished() == []


def test_a_workspace_that_cannot_be_read_settles_nothing(journals: Journals) -> None:
    written(journals, TAGS)

    class Away(LocalBackend):
        def read(self, addresses: Any) -> Any:
            raise Transient("Away", f"{len(addresses)} not read")

    (left,) = journals.settle(Away(":memory:", SCOPE))
    assert list(left.unfinished) == [CPU]


def test_an_endpoint_that_is_being_deleted_counts_as_gone(journals: Journals) -> None:
    written(journals, DEFAULT)
    backend = workspace()
    backend.delete(ENDPOINT)  # and is not waited for
    assert backend.read([ENDPOINT])[ENDPOINT].body["properties"]["provisioningState"] == "Deleting"
    assert journals.settle(backend) == []
