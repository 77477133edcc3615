"""Walk a user's folder: every file once, whatever links do, within limits."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from mlctl.assets.ignore import Ignored
from mlctl.dataclasses import dataclass

MAX_ENTRIES = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder: its location, its path within the walked folder, its type."""

    path: Path
    relative: str
    is_folder: bool


def walk(root: Path, ignored: Ignored, *, prune: bool) -> Iterator[Entry]:
    """Walk `root` depth first, in alphabetical order without case.

    Links are followed, except to a folder that contains them. Ignored entries are left out; with
    `prune` so is everything below an ignored folder, otherwise each entry is judged by itself, as
    in the two hashes of the SDK.

    Raises:
        OSError: a folder cannot be read, or has more than `MAX_ENTRIES`.
    """
    count = 0
    top = root.stat()
    above: list[tuple[int, int]] = [(top.st_dev, top.st_ino)]
    waiting = [_entries(root, "")]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
            above.pop()
            continue
        count += 1
        if count > MAX_ENTRIES:
            raise OSError(errno.EFBIG, f"it has more than {MAX_ENTRIES:,} files", str(root))
        out = ignored(entry.relative)
        if not entry.is_folder:
            if not out:
                yield entry
            continue
        if (out and prune) or ignored.with_all_beneath(entry.relative):
            if not out:
                yield entry  # as good as empty
            continue
        status = entry.path.stat()
        if (status.st_dev, status.st_ino) in above:
            continue
        if not out:
            yield entry
        above.append((status.st_dev, status.st_ino))
        waiting.append(_entries(entry.path, f"{entry.relative}/"))


def _entries(folder: Path, prefix: str) -> Iterator[Entry]:
    with os.scandir(folder) as scan:
        names = sorted((entry.name for entry in scan), key=str.lower)
    for name in names:
        path = folder / name
        if not name.isascii():
            try:
                path.name.encode()
            except UnicodeEncodeError:
                raise OSError(errno.EILSEQ, "a name that is not UTF-8", str(path)) from None
        yield Entry(path, prefix + name, path.is_dir())
