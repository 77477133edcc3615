"""Ignore files: what they leave out, in linear time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlctl.assets import folders

# As azure-ai-ml 1.35.2 decides (`_utils/_pathspec.py`), asked once: pattern, then paths that match.
PATHS = ("a", "a/b", "b/a", "ab/b", "a/b/a", "b/b/a/b", "x/ab", ".a/x", "a/x/y/b")
DECIDED = {
    "a": {"a", "a/b", "b/a", "a/b/a", "b/b/a/b", "a/x/y/b"},
    "/a": {"a", "a/b", "a/b/a", "a/x/y/b"},
    "a/": {"a/b", "a/b/a", "b/b/a/b", "a/x/y/b"},
    "a*": {"a", "a/b", "b/a", "ab/b", "a/b/a", "b/b/a/b", "x/ab", "a/x/y/b"},
    "*b*/a": {"b/a"},
    "a/**/b": {"a/b", "a/b/a", "a/x/y/b"},
    "a/**": {"a/b", "a/b/a", "a/x/y/b"},
    "a/**/": {"a/b", "a/b/a", "a/x/y/b"},
    "**/b": {"a/b", "b/a", "ab/b", "a/b/a", "b/b/a/b", "a/x/y/b"},
    "**/a/**/b": {"a/b", "a/b/a", "b/b/a/b", "a/x/y/b"},
    "?b": {"ab/b", "x/ab"},
    "[!a]/a": {"b/a"},
    ".a": {".a/x"},
    "**/": {"a/b", "b/a", "ab/b", "a/b/a", "b/b/a/b", "x/ab", ".a/x", "a/x/y/b"},
}


@pytest.mark.parametrize("pattern", DECIDED)
def test_a_pattern_matches_what_it_matches_for_the_sdk(pattern: str) -> None:
    matcher = folders.compile_glob(pattern)
    assert {path for path in PATHS if matcher.fullmatch(path)} == DECIDED[pattern]


@pytest.mark.parametrize("pattern", ["*a" * 300 + "b", "**/a/" * 20 + "b", "?*" * 100 + "[!x]b"])
def test_no_pattern_backtracks(pattern: str) -> None:
    assert not folders.compile_glob(pattern).fullmatch("a/" * 500 + "a" * 2000)


def test_a_line_that_is_no_pattern_is_named(tmp_path: Path) -> None:
    (tmp_path / ".amlignore").write_text("*.pyc\n\n[z-a]\n")
    with pytest.raises(OSError, match=re.escape("line 3, `[z-a]`, is not a pattern")):
        folders.read_ignored(tmp_path)


def test_an_ignore_file_without_end_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / ".amlignore").open("wb") as file:
        file.truncate(50 * 10**9)
    with pytest.raises(OSError, match="bigger"):
        folders.read_ignored(tmp_path)


def test_of_two_ignore_files_the_one_of_azure_ml_counts(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("ours\n")
    assert folders.read_ignored(tmp_path)("ours")
    (tmp_path / ".amlignore").write_text("theirs\n")
    assert [folders.read_ignored(tmp_path)(name) for name in ("ours", "theirs")] == [False, True]
