"""Apply `.amlignore` and `.gitignore` to uploads, as azure-ai-ml does.

Patterns become regular expressions without backtracking: pathspec's, which the SDK includes, take
minutes for `*a*a*a*a*a*a*a*ab`. A wildcard between two literals takes the earliest match of the
second, which is enough for a glob (`fnmatch` does the same since Python 3.12).
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from pathlib import Path

from mlctl import files
from mlctl.dataclasses import dataclass

IGNORE_FILES = (".amlignore", ".gitignore")  # the first that exists counts, as in the SDK
_MAX_BYTES = 1 << 20

_WILDCARD = re.compile(r"(\*+|\?|\[[^\]]+\])")


@dataclass(frozen=True, slots=True)
class Ignored:
    """What a folder's ignore file excludes: (excluded, pattern); the last match decides."""

    patterns: tuple[tuple[bool, re.Pattern[str]], ...] = ()

    def __call__(self, relative: str) -> bool:
        """Whether a path relative to the folder is excluded."""
        out = False
        for leave_out, pattern in self.patterns:
            if leave_out is not out and pattern.fullmatch(relative):
                out = leave_out
        return out

    def with_all_beneath(self, relative: str) -> bool:
        """Whether a folder is excluded and nothing below it is included again."""
        return all(out for out, _ in self.patterns) and self(f"{relative}/x")


def read(root: Path) -> Ignored:
    """Read the ignore file of a folder.

    Raises:
        OSError: it cannot be read, or one of its lines is not a pattern.
    """
    file = next((root / name for name in IGNORE_FILES if (root / name).is_file()), None)
    if file is None:
        return Ignored()
    patterns = []
    text = files.read(file, _MAX_BYTES).decode("utf-8", "replace")
    for number, line in enumerate(map(str.rstrip, text.splitlines()), 1):
        if line.strip("!/ ") and not line.startswith("#"):
            try:
                patterns.append((not line.startswith("!"), compiled(line.lstrip("!"))))
            except re.error as error:
                why = f"line {number}, `{line[:60]}`, is not a pattern: {error.msg}"
                raise OSError(errno.EINVAL, why, str(file)) from None
    return Ignored(tuple(patterns))


def compiled(glob: str) -> re.Pattern[str]:
    """Compile a gitignore pattern for relative paths; it also matches everything below.

    Raises:
        re.error: a range in it is invalid, as in `[z-a]`.
    """
    anchored = "/" in glob.rstrip("/")
    runs = _translate_parts(glob.removeprefix("/").removesuffix("/").split("/"))
    if not anchored:
        runs = [[], *runs]
    expression = "".join(f"{part}/" for part in runs[0][: None if len(runs) > 1 else -1])
    for run in runs[1:-1]:
        expression += f"(?>(?:[^/]*/)*?{''.join(f'{part}/' for part in run)})"
    if not any(runs) and glob.endswith("/"):
        return re.compile(".+/.*", re.DOTALL)
    if not runs[-1]:
        return re.compile(expression + ".*", re.DOTALL)
    expression += "(?:[^/]*/)*?" + "/".join(runs[-1]) if len(runs) > 1 else runs[0][-1]
    beneath = "/.*" if glob.endswith("/") else "(?:/.*)?"
    return re.compile(expression + beneath, re.DOTALL)


def _translate_parts(parts: Sequence[str]) -> list[list[str]]:
    """Translate the parts of a path, in runs between `**`."""
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_translate_part(part))
    return runs


def _translate_part(part: str) -> str:
    """Translate one part of a path."""
    texts: list[str] = [""]  # the literals between stars
    for piece in _WILDCARD.split(part):
        if piece.startswith("*"):
            texts.append("")
        elif piece.startswith("[") and len(piece) > 1:
            texts[-1] += piece.replace("[!", "[^", 1).replace("\\", "\\\\")
        else:
            texts[-1] += "[^/]" if piece == "?" else re.escape(piece)
    first, *middle = texts
    if not middle:
        return first
    *middle, last = middle
    return first + "".join(f"(?>[^/]*?{text})" for text in middle if text) + f"[^/]*{last}"
