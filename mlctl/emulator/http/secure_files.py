"""Files that only their owner may read, in folders that git does not see."""

from __future__ import annotations

import os
from pathlib import Path

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - the names of all interfaces; nothing is bound here


def write(file: Path, content: bytes) -> None:
    """Write a file in one piece, readable by its owner only.

    Raises:
        OSError: it cannot be written.
    """
    own(file.parent)
    scratch = file.with_name(f"{file.name}.{os.getpid()}")
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content)
    scratch.replace(file)


def own(folder: Path) -> None:
    """Make a folder of ours where there is none.

    Raises:
        OSError: it cannot be made.
    """
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
