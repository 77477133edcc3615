"""`python -m conformance verify`, against an emulator that listens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance import RECORDED
from conformance.__main__ import main
from mlctl.cli.shell.exits import Exit
from tests.builders.served import Served, serving
from tests.builders.shell import Done, edit

CARDS = ("locks-list", "model-get-404", "code-get", "data-put-create")
NOWHERE = ("--url", "https://127.0.0.1:1")

Verify = Callable[..., Done]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("emulator"), "--token", "sesame") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with some cards."""
    cards = tmp_path / "cards"
    cards.mkdir()
    for card in CARDS:
        shutil.copy(RECORDED / f"{card}.json", cards)
    return cards


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    def run(*words: object) -> Done:
        try:
            code = main(["verify", *map(str, words)])
        except SystemExit as ended:
            code = int(str(ended.code))
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def verify_served(verify: Verify, served: Served) -> Verify:
    flags = ("--url", served.told["url"], "--ca-file", served.told["ca_file"])
    return lambda *more: verify(*more, *flags, "--token", "sesame")


def test_each_kind_is_a_line(verify_served: Verify, folder: Path) -> None:
    done = verify_served(folder)
    assert done.out.splitlines() == [
        "code   status 1/1  whole 1/1",
        "data   status 1/1  whole 1/1",
        "locks  status 1/1  whole 1/1",
        "model  status 1/1  whole 1/1",
        "status 4 of 4, whole 4 of 4, deviating 0",
    ]
    assert done.code == Exit.OK


def test_what_deviates_is_counted_printed_on_request_and_ends_with_1(
    verify_served: Verify, folder: Path
) -> None:
    edit(folder / "code-get.json", '"isAnonymous": false', '"isAnonymous": false, "more": null')
    edit(folder / "model-get-404.json", '"status": 404', '"status": 410')
    done = verify_served(folder)
    assert done.code == Exit.ERROR
    assert "code   status 1/1  whole 0/1  deviating 1" in done.out
    assert "model  status 0/1  whole 0/1  deviating 1" in done.out
    more = verify_served(folder, "--verbose").out
    assert "code-get /body/properties/more: recorded None, answered '(absent)'" in more
    assert "model-get-404 /status: recorded 410, answered 404" in more


def test_it_is_data_too_and_can_be_repeated(verify_served: Verify, folder: Path) -> None:
    for _ in range(2):
        rows = json.loads(verify_served(folder, "--json").out)
        assert {row["id"] for row in rows} == set(CARDS)
        assert all(row["status"] and row["whole"] for row in rows)


def test_what_cannot_be_compared_with_anything_is_reported_in_a_sentence(
    verify: Verify, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "start one: `mlctl emulator start`" in verify().err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no cards" in verify(empty, *NOWHERE).err
    assert "did not answer" in verify(folder, *NOWHERE).err
    (empty / "a.json").write_text("{}")
    assert "it is no card" in verify(empty, *NOWHERE).err


@pytest.mark.parametrize("url", ["ftp://x", "https://[", "nonsense"])
def test_what_is_no_url_is_refused(verify: Verify, folder: Path, url: str) -> None:
    done = verify(folder, "--url", url)
    assert (done.code, "is no URL" in done.err) == (Exit.USAGE, True)


def test_a_certificate_that_is_missing_is_named(
    verify: Verify, folder: Path, tmp_path: Path
) -> None:
    done = verify(folder, *NOWHERE, "--ca-file", tmp_path / "no.pem")
    assert (done.code, "no.pem" in done.err) == (Exit.USAGE, True)
