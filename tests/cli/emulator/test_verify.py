"""`mlctl emulator verify`, against an emulator that listens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlctl.cards import RECORDED
from mlctl.cli.shell.exits import Exit
from tests.builders.served import Served, serving
from tests.builders.shell import Run, edit

CARDS = ("locks-list", "model-get-404", "code-get", "data-put-create")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("emulator"), "--token", "sesame") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with some cards."""
    held = tmp_path / "cards"
    held.mkdir()
    for card in CARDS:
        shutil.copy(RECORDED / f"{card}.json", held)
    return held


@pytest.fixture
def verify(mlctl: Run, served: Served) -> Run:
    flags = ("--url", served.told["url"], "--ca-file", served.told["ca_file"])
    return lambda *more: mlctl("emulator", "verify", *more, *flags, "--token", "sesame")


def test_each_kind_is_a_line(verify: Run, folder: Path) -> None:
    found = verify(folder)
    assert found.out.splitlines() == [
        "code   status 1/1  whole 1/1",
        "data   status 1/1  whole 1/1",
        "locks  status 1/1  whole 1/1",
        "model  status 1/1  whole 1/1",
        "status 4 of 4, whole 4 of 4, deviating 0",
    ]
    assert found.code == Exit.OK


def test_what_deviates_is_counted_told_on_request_and_ends_with_1(
    verify: Run, folder: Path
) -> None:
    edit(folder / "code-get.json", '"isAnonymous": false', '"isAnonymous": false, "more": null')
    edit(folder / "model-get-404.json", '"status": 404', '"status": 410')
    found = verify(folder)
    assert found.code == Exit.ERROR
    assert "code   status 1/1  whole 0/1  deviating 1" in found.out
    assert "model  status 0/1  whole 0/1  deviating 1" in found.out
    more = verify(folder, "--verbose").out
    assert "code-get /body/properties/more: recorded None, answered '(absent)'" in more
    assert "model-get-404 /status: recorded 410, answered 404" in more


def test_it_is_data_too_and_can_be_told_twice(verify: Run, folder: Path) -> None:
    for _ in range(2):
        found = json.loads(verify(folder, "-o", "json").out)
        assert {each["id"] for each in found} == set(CARDS)
        assert all(each["status"] and each["whole"] for each in found)


def test_what_cannot_be_held_against_anything_is_said_in_a_sentence(
    mlctl: Run, tmp_path: Path, folder: Path
) -> None:
    assert "start one: `mlctl emulator start`" in mlctl("emulator", "verify").err
    empty = tmp_path / "empty"
    empty.mkdir()
    nowhere = ("--url", "https://127.0.0.1:1")
    assert "has no cards" in mlctl("emulator", "verify", empty, *nowhere).err
    assert "did not answer" in mlctl("emulator", "verify", folder, *nowhere).err
    (empty / "a.json").write_text("{}")
    assert "it is no card" in mlctl("emulator", "verify", empty, *nowhere).err
    for url in ("ftp://x", "https://[", "nonsense"):
        found = mlctl("emulator", "verify", folder, "--url", url)
        assert (found.code, "is no URL" in found.err) == (Exit.USAGE, True)
    missing = mlctl("emulator", "verify", folder, *nowhere, "--ca-file", tmp_path / "no.pem")
    assert (missing.code, "no.pem" in missing.err) == (Exit.USAGE, True)
