"""What is in a folder of the user's: every file once, however links lead, and not without end."""

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
    """A file or folder: where it is, its path within the folder that was walked, what it is."""

    path: Path
    relative: str
    is_folder: bool


def walk(root: Path, ignored: Ignored, *, prune: bool) -> Iterator[Entry]:
    """What is below `root`, depth first, names in the order of the alphabet without case.

    Links are followed, but not to a folder that they stand in. What is ignored is left out; of a
    folder that is ignored with `prune` all is, else each entry is judged by itself, as the two
    hashes of the SDK do.

    Raises:
        OSError: a folder cannot be read, or holds more than `MAX_ENTRIES`.
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
            raise OSError(errno.EFBIG, f"it holds more than {MAX_ENTRIES:,} files", str(root))
        out = ignored(entry.relative)
        if not entry.is_folder:
            if not out:
                yield entry
            continue
        if (out and prune) or ignored.with_all_beneath(entry.relative):
            if not out:
                yield entry  # empty as far as anybody sees
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
