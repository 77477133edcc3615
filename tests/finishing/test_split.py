"""How the files of a stored folder are split."""

from __future__ import annotations

import pytest

from mlctl.finishing.split import by_folders

URI = "azureml://datastores/d/paths/images/"


def test_each_folder_beneath_the_input_is_a_shard() -> None:
    split = by_folders(URI, ["a-b/1", "a/1", "a/c/2", "b/1"])
    assert split.folders == tuple(f"{URI}{name}" for name in ("a-b", "a", "b"))
    assert split.sizes == (1, 2, 1)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([], "it has no files"),
        (["1.png", "a/2.png"], "its files are in no folders beneath it (`1.png`)"),
        (["a/1.png", "a/b/2.png"], "all its files are in one folder beneath it, `a`"),
    ],
)
def test_what_cannot_be_split_says_why(files: list[str], reason: str) -> None:
    split = by_folders(URI, files)
    assert (split.reason, split.folders) == (reason, ())
    assert split.files == tuple(files)
