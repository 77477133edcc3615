"""How the files of a stored folder are split."""

from __future__ import annotations

import pytest

from mlctl.finishing.order import split_by_folders

URI = "azureml://datastores/d/paths/images/"


def test_each_folder_beneath_the_input_is_a_shard() -> None:
    split = split_by_folders(URI, ["a-b/1", "a/1", "a/c/2", "b/1"])
    assert split.folders == tuple(f"{URI}{name}" for name in ("a-b", "a", "b"))
    assert split.sizes == (1, 2, 1)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([], "it is empty"),
        (["1.png", "a/2.png"], "it has files outside of folders (`1.png`)"),
        (["a/1.png", "a/b/2.png"], "all its files are in one folder, `a`"),
    ],
)
def test_what_cannot_be_split_says_why(files: list[str], reason: str) -> None:
    split = split_by_folders(URI, files)
    assert (split.reason, split.folders) == (reason, ())
    assert split.files == tuple(files)
