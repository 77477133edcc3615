"""How many files the inputs of a batch job have, as far as they are on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mlctl.files import expanded, is_file, is_folder
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Data
from mlctl.service_errors import Permanent


def count_files(data: Mapping[str, Data]) -> int | None:
    """How many files the inputs have; None where some are not here to be counted.

    Raises:
        Permanent: a folder or file is not there, or there is nothing in it.
    """
    counts = [_count(item) for item in data["inputs"].values() if "path" in item]
    counted_files = [count for count in counts if count is not None]
    return sum(counted_files) if counted_files and len(counted_files) == len(counts) else None


def _count(item: Mapping[str, Data]) -> int | None:
    text = str(item["path"])
    if not is_local(text):
        return 1 if item.get("type") == "uri_file" else None
    path = expanded(local_path(text))
    if is_file(path):
        return 1
    if not is_folder(path):
        raise Permanent("InputNotFound", f"there is no folder or file `{text}`")
    count = sum(len(names) for _, _, names in os.walk(path))
    if not count:
        raise Permanent(
            "EmptyInput", f"the folder `{text}` has no files: there is nothing to score"
        )
    return count
