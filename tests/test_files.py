"""Files that only their owner may read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mlctl.files import make_ignored_folder, write_private


def test_a_private_file_is_its_owners_alone_and_replaces_another(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("old")
    file.chmod(0o644)
    write_private(file, b"new")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o600)
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_private(tmp_path / "folder", b"text")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_a_folder_of_ours_is_ignored_by_git_and_one_of_others_is_left_alone(
    tmp_path: Path,
) -> None:
    make_ignored_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / ".gitignore").read_text() == "*\n"
    make_ignored_folder(tmp_path)
    assert not (tmp_path / ".gitignore").exists()
