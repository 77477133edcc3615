"""Changes to files as a unified diff."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mlctl import files
from mlctl.diagnostics import Report
from mlctl.source.decode import decode

_MOST = 1 << 26  # bytes of a file
_FIRST = "These files change first:"


def patch_of(texts: Mapping[Path, str]) -> str:
    """Return the patch that gives files these texts; "" for none."""
    import difflib  # noqa: PLC0415 - few plans change files

    lines: list[str] = []
    for path, text in texts.items():
        name = str(path)
        old = decode(name, files.read(path, _MOST), Report())
        before = old.text.splitlines(keepends=True) if old else []
        lines += difflib.unified_diff(before, text.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def with_heading(patch: str, *, markdown: bool = False) -> str:
    """Render a patch above the plan for the changed files."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", patch)), 3)
    body = f"{fence}diff\n{patch}{fence}\n" if markdown else patch
    return f"{_FIRST}\n\n{body}\n"
