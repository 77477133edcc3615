"""Split a job's input into shards by folder, since Azure accepts no lists of files.

"Model deployments always require 1 data input", a file or a folder (Microsoft, "Create jobs and
input data for batch endpoints"; tables are not among them). So a shard is a folder: one that mlctl
uploads, or one that already exists beneath the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from mlctl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """The files of an input in their order, and how they can be split.

    `source` is their local folder, which can be split into any number of shards. Otherwise `sizes`
    are the numbers of files in each of `folders` (URIs); if these are empty, `reason` says why.
    """

    files: tuple[str, ...]
    source: str = ""
    folders: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    reason: str = ""


def split_by_folders(uri: str, files: Sequence[str]) -> Split:
    """Split a stored input into one shard per top-level folder."""
    above = [name for name in files if "/" not in name]
    names = [(name, len(list(group))) for name, group in groupby(files, _top_folder)]
    reason = ""
    if not files:
        reason = "it is empty"
    elif above:
        reason = f"it has files outside of folders (`{above[0]}`)"
    elif len(names) == 1:
        reason = f"all its files are in one folder, `{names[0][0]}`"
    if reason:
        return Split(tuple(files), reason=reason)
    folders = tuple(f"{uri.rstrip('/')}/{name}" for name, _ in names)
    return Split(tuple(files), "", folders, tuple(count for _, count in names))


def _top_folder(name: str) -> str:
    return name.partition("/")[0]
