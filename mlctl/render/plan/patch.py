"""What files would say otherwise, as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from mlctl import files

_MOST = 1 << 26  # bytes of a file
_FIRST = "These files change first:"


def patch_of(texts: Mapping[Path, str]) -> str:
    """The patch that makes files say the texts; "" without any."""
    lines: list[str] = []
    for path, text in texts.items():
        old = files.read(path, _MOST).decode(errors="replace").splitlines(keepends=True)
        new = text.splitlines(keepends=True)
        lines += difflib.unified_diff(old, new, str(path), str(path))
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def with_heading(patch: str, *, markdown: bool = False) -> str:
    """A patch above the plan of what the files will say then."""
    body = f"```diff\n{patch}```\n" if markdown else patch
    return f"{_FIRST}\n\n{body}\n"
