"""How the input of a job is split where each run names a folder: Azure knows no lists of files.

"Model deployments always require 1 data input", a file or a folder (Microsoft, "Create jobs and
input data for batch endpoints"; tables are not among them). So a shard is a folder: of its own,
where the files are sent by us, or one that lies beneath the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from mlctl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """The files of an input in their order, and what each shard may have of them.

    `source` is the local folder that they are in: then each number of shards will do. Else `sizes`
    are how many files each of `folders` (URIs) has; where these are none, `reason` says why.
    """

    files: tuple[str, ...]
    source: str = ""
    folders: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    reason: str = ""


def by_folders(uri: str, files: Sequence[str]) -> Split:
    """A shard for each folder right beneath a stored one that has these files."""
    above = [name for name in files if "/" not in name]
    names = [(name, len(list(group))) for name, group in groupby(files, _first)]
    reason = ""
    if not files:
        reason = "it has no files"
    elif above:
        reason = f"its files are in no folders beneath it (`{above[0]}`)"
    elif len(names) == 1:
        reason = f"all its files are in one folder beneath it, `{names[0][0]}`"
    if reason:
        return Split(tuple(files), reason=reason)
    folders = tuple(f"{uri.rstrip('/')}/{name}" for name, _ in names)
    return Split(tuple(files), "", folders, tuple(count for _, count in names))


def _first(name: str) -> str:
    return name.partition("/")[0]
