"""Folders as users have them: links in circles, pipes, thousands of levels."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mlctl.assets import folders
from mlctl.assets.folders import asset_hash, code_hash, list_uploads


def test_a_link_to_a_folder_above_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.py").write_text("1")
    (tmp_path / "in" / "self").symlink_to(tmp_path)
    assert [name for _, name in list_uploads(tmp_path)] == ["in/a.py"]
    assert len(code_hash(tmp_path)) == len(asset_hash(tmp_path)) == 64


def test_two_links_to_one_folder_are_both_followed(tmp_path: Path) -> None:
    """As the SDK does, whose hash has to come out."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").write_text("1")
    (tmp_path / "other").symlink_to(tmp_path / "real")
    assert [name for _, name in list_uploads(tmp_path)] == ["other/a.py", "real/a.py"]


@pytest.mark.slow
def test_folders_are_as_deep_as_the_system_lets_them(tmp_path: Path) -> None:
    inside = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=inside)
        deeper = os.open("d", os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = deeper
    os.close(inside)
    found, digest = list(list_uploads(tmp_path)), asset_hash(tmp_path)
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # Python 3.11 recurses into it
    assert found == []
    assert len(digest) == 64


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / ({"pipe": "link", "link": "pipe"}[name])).unlink()
    with pytest.raises(OSError, match="it is no regular file"):
        code_hash(tmp_path)
    with pytest.raises(OSError, match="it is no regular file"):
        asset_hash(tmp_path / name)


def test_a_folder_with_more_than_anybody_uploads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MAX_ENTRIES", 3)
    for number in range(4):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(OSError, match="more than 3 files"):
        code_hash(tmp_path)


def test_a_file_that_holds_more_than_its_size_is_not_read_on() -> None:
    """The kernel's files have no size, and some have no end."""
    with pytest.raises(OSError, match="it grows while it is read"):
        code_hash(Path("/proc/self/status"))
