"""Which instance file is believed: what it says leads the user's programs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from mlctl.emulator import instance_file
from tests.builders.shell import Run


def told_by(folder: Path, more: Mapping[str, object] | None = None) -> Path:
    """An instance file that names this process, which listens nowhere."""
    names = ("ca_file", "bundle", "subscription", "resource_group", "workspace", "token")
    where = {"url": "https://127.0.0.1:9", "folder": str(folder.resolve()), "pid": os.getpid()}
    folder.mkdir()
    file = folder / "emulator.json"
    file.write_text(json.dumps({**dict.fromkeys(names, ""), **where, **(more or {})}))
    file.chmod(0o600)
    return file


def test_the_instance_file_of_an_emulator_is_believed(tmp_path: Path) -> None:
    assert instance_file.distrust(told_by(tmp_path / ".mlctl")) is None


def test_an_instance_file_that_a_repository_brought_is_not_believed(
    mlctl: Run, tmp_path: Path
) -> None:
    file = told_by(tmp_path / ".mlctl", {"url": "https://192.0.2.1:443"})
    file.chmod(0o644)  # as git writes files
    ended = mlctl("emulator", "env")
    assert (ended.code, ended.out) == (1, "")
    assert "cannot be trusted: others can read it" in ended.err


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"folder": "/elsewhere/.mlctl"}, "not written here"),
        ({"url": "https://192.0.2.1:443"}, "not this machine's"),
    ],
)
def test_an_instance_file_of_another_place_is_not_believed(
    tmp_path: Path, said: dict[str, object], why: str
) -> None:
    assert why in str(instance_file.distrust(told_by(tmp_path / ".mlctl", said)))


def test_a_link_to_an_instance_file_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / ".mlctl").mkdir()
    link = tmp_path / ".mlctl" / "emulator.json"
    link.symlink_to(told_by(tmp_path / "other"))
    assert "is a link" in str(instance_file.distrust(link))
    (tmp_path / "linked").symlink_to(tmp_path / "other")
    assert "is a link" in str(instance_file.distrust(tmp_path / "linked" / "emulator.json"))


def test_an_instance_file_of_another_user_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = told_by(tmp_path / ".mlctl")
    monkeypatch.setattr("os.geteuid", lambda: file.stat().st_uid + 1)
    assert "another user" in str(instance_file.distrust(file))
