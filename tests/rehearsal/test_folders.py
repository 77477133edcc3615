"""Files that are left: what is in them, however they lie on the disk."""

from __future__ import annotations

from pathlib import Path

from mlctl.rehearsal.folders import Content


def content(path: Path, text: bytes, at: int = 0, size: int = 0) -> Content:
    """Of a file with a text at a place, and of a size."""
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(at)
        file.write(text)
    return Content.read(path)


def test_a_sparse_file_of_a_hundred_gigabytes_is_compared_at_once(tmp_path: Path) -> None:
    size = 100 << 30
    first = content(tmp_path / "a", b"x", at=1 << 35, size=size)
    assert first == content(tmp_path / "b", b"x", at=1 << 35, size=size)
    assert first != content(tmp_path / "c", b"y", at=1 << 35, size=size)
    assert first != content(tmp_path / "d", b"x", at=1 << 36, size=size)
    assert (first.size, first.lines) == (size, None)


def test_zeros_are_the_same_whether_they_were_written_or_not(tmp_path: Path) -> None:
    zeros = 3 << 20
    written = content(tmp_path / "a", bytes(zeros) + b"end")
    assert written == content(tmp_path / "b", b"end", at=zeros)


def test_a_file_of_zeros_is_not_one_of_fewer_zeros(tmp_path: Path) -> None:
    assert content(tmp_path / "a", b"", size=1 << 25) != content(tmp_path / "b", b"", size=1 << 26)
