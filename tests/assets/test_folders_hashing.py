"""Hashes of local files, equal to those of azure-ai-ml 1.35.2 (computed with it, once)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.assets.folders import asset_hash, code_hash

FILES = {
    "Dockerfile": "FROM ubuntu\n",
    "sub/B.txt": "b",
    "sub/a.txt": "a",
    "x.pyc": "no",
    "keep.pyc": "k",
    ".amlignore": "*.pyc\n!keep.pyc\n# c\n/sub/a.txt\n",
    "B.txt": "1",
    "a.txt": "2",
}


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """A folder with everything that hashing must get right, an empty folder included."""
    folder = tmp_path / "ctx"
    (folder / "empty").mkdir(parents=True)
    (folder / "sub").mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def test_the_hash_of_code_is_that_of_the_sdk(context: Path) -> None:
    assert code_hash(context) == "136ac1c7dac96b156cc22d485d9670378b5051cc2e74a0edfb623df9297dd752"
    single = "b7f8d09f45d63e9dcf9fd859647829cf4b46450351145ddcd05a645551cc798f"
    assert code_hash(context / "a.txt") == single


def test_the_hash_of_an_asset_is_that_of_the_sdk(context: Path) -> None:
    assert asset_hash(context) == "3dfbbbf0816edd84f2e856e2c945c1fc78b52cfa9b79d425a4a742614348e2b2"
    single = "1b6377bbfa96d3eb97df5cfa9163925f64921d74c0c9cc8f13178673a1b17252"
    assert asset_hash(context / "a.txt") == single


@pytest.mark.parametrize("name", ["x.pyc", "sub/a.txt"])
def test_what_is_ignored_does_not_count(context: Path, name: str) -> None:
    before = code_hash(context), asset_hash(context)
    (context / name).write_text("changed")
    assert (code_hash(context), asset_hash(context)) == before


@pytest.mark.parametrize("name", ["keep.pyc", "sub/B.txt", ".amlignore"])
def test_what_is_not_ignored_counts(context: Path, name: str) -> None:
    before = code_hash(context), asset_hash(context)
    with (context / name).open("a") as file:
        file.write("\nchanged")
    assert code_hash(context) != before[0]
    assert asset_hash(context) != before[1]


def test_the_ignore_file_of_azure_ml_counts_before_that_of_git(context: Path) -> None:
    before = code_hash(context)
    (context / ".gitignore").write_text("*\n")
    assert code_hash(context) != before  # the file itself is content
    (context / ".amlignore").unlink()
    assert code_hash(context) == code_hash(context / "empty")


@pytest.mark.parametrize(
    ("pattern", "left_out"),
    [
        ("a.txt", {"a.txt", "sub/a.txt"}),
        ("/a.txt", {"a.txt"}),
        ("sub/", {"sub/B.txt", "sub/a.txt"}),
        ("sub", {"sub/B.txt", "sub/a.txt"}),
        ("sub/*.txt", {"sub/B.txt", "sub/a.txt"}),
        ("**/B.txt", {"B.txt", "sub/B.txt"}),
        ("?.txt", {"a.txt", "B.txt", "sub/B.txt", "sub/a.txt"}),
        ("[ab].txt", {"a.txt", "sub/a.txt"}),
        ("[!a].txt", {"B.txt", "sub/B.txt"}),
        ("nothing", set()),
    ],
)
def test_patterns_are_those_of_git(context: Path, pattern: str, left_out: set[str]) -> None:
    (context / ".amlignore").write_text(pattern)
    without = code_hash(context)
    for name, text in FILES.items():
        if name != ".amlignore":
            (context / name).write_text(text + "changed")
            assert (code_hash(context) == without) is (name in left_out), name
            (context / name).write_text(text)


def test_a_linked_folder_is_read_through(context: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "more.py").write_text("1")
    before = code_hash(context)
    (context / "link").symlink_to(outside)
    assert code_hash(context) != before


def test_what_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        asset_hash(tmp_path / "nothing")
