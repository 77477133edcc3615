"""Writing files that only their owner may read, and folders that git does not see."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Write a file readable by its owner only, whole or not at all; the folder must be there.

    Raises:
        OSError: it cannot be written; nothing has changed.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    scratch = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        scratch.replace(path)
    except BaseException:
        with suppress(OSError):
            scratch.unlink()
        raise


def make_ignored_folder(folder: Path) -> None:
    """Make a folder with a `.gitignore` of everything in it, unless the folder is there.

    Raises:
        OSError: it cannot be made.
    """
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
