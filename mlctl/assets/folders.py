"""Walk a user's folder: its files, those that ignore files exclude, and its hash.

Every file is listed once, whatever links do. `.amlignore` and `.gitignore` work as in azure-ai-ml,
and the hashes are equal to its hashes, so that one tool finds what the other has uploaded. Patterns
become regular expressions that cannot backtrack: those of pathspec, which the SDK bundles, take
minutes for `*a*a*a*a*a*a*a*ab`. A wildcard between two pieces of text takes the earliest match of
the second, which is enough for a glob (as `fnmatch` does since Python 3.12).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import digests, files
from mlctl.dataclasses import dataclass
from mlctl.files import ON_DISK, Files, is_file, is_folder, real

if TYPE_CHECKING:
    import hashlib

IGNORE_FILES = (".amlignore", ".gitignore")  # the first that exists counts, as in the SDK
_OWN = ".mlctl"  # mlctl's state, which each command changes: never part of what is uploaded
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


def read_ignored(root: Path) -> Ignored:
    """Read the ignore file of a folder.

    Raises:
        OSError: it cannot be read, or a line of it is not a pattern; says which.
    """
    file = next((root / name for name in IGNORE_FILES if (root / name).is_file()), None)
    if file is None:
        return Ignored()
    patterns = []
    text = files.read(file, _MAX_BYTES).decode("utf-8", "replace")
    for number, line in enumerate(map(str.rstrip, text.splitlines()), 1):
        if line.strip("!/ ") and not line.startswith("#"):
            try:
                patterns.append((not line.startswith("!"), compile_glob(line.lstrip("!"))))
            except re.error as error:
                why = f"line {number}, `{line[:60]}`, is not a pattern: {error.msg}"
                raise OSError(errno.EINVAL, why, str(file)) from None
    return Ignored(tuple(patterns))


def compile_glob(glob: str) -> re.Pattern[str]:
    """Compile a gitignore pattern for relative paths; it also matches everything below.

    Raises:
        re.error: a range in it is none, as in `[z-a]`.
    """
    anchored = "/" in glob.rstrip("/")
    runs = _runs(glob.removeprefix("/").removesuffix("/").split("/"))
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


def _runs(parts: Sequence[str]) -> list[list[str]]:
    """The parts of a path as expressions, in runs between `**`."""
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_expression(part))
    return runs


def _expression(part: str) -> str:
    """One part of a path between two slashes."""
    texts: list[str] = [""]  # what stands between stars
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


MAX_ENTRIES = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder: its location, its path within the walked folder, its type."""

    path: Path
    relative: str
    is_folder: bool


def walk(root: Path, ignored: Ignored, *, prune: bool) -> Iterator[Entry]:
    """Walk `root` depth first, in alphabetical order without case.

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
            raise OSError(errno.EFBIG, f"it has more than {MAX_ENTRIES:,} files", str(root))
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
        names = sorted((entry.name for entry in scan if entry.name != _OWN), key=str.lower)
    for name in names:
        path = folder / name
        if not name.isascii():
            try:
                path.name.encode()
            except UnicodeEncodeError:
                raise OSError(errno.EILSEQ, "a name that is not UTF-8", str(path)) from None
        yield Entry(path, prefix + name, path.is_dir())


def code_hash(path: Path, content: Files = ON_DISK) -> str:
    """Return the SDK's `get_content_hash` (hash version 202208) of a code file or folder.

    Count of files, then `#name#size` of each by lower-cased relative path, then the contents in
    that order. Raises OSError if something in the folder cannot be read.
    """
    sorted_files = sorted(list_uploads(path), key=lambda pair: pair[1].lower())
    digest = digests.begin(str(len(sorted_files)).encode())
    for file, name in sorted_files:
        digest.update(f"#{name}#{content.size(file)}".encode())
    for file, _ in sorted_files:
        _update_with_file(digest, file, content)
    return digest.hexdigest()


def asset_hash(path: Path, content: Files = ON_DISK) -> str:
    """Return the SDK's `get_object_hash` of a model or build context, which names the upload.

    Raises:
        OSError: something in the folder cannot be read.
    """
    digest = digests.begin(b"Initialize for october 2021 AML CLI version")
    if not is_folder(path):
        _update_with_file(digest, path, content)
        return digest.hexdigest()
    for entry in walk(path, read_ignored(path), prune=True):
        digest.update(entry.path.name.encode())
        if entry.path.is_file():
            _update_with_file(digest, entry.path, content)
    return digest.hexdigest()


def list_uploads(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what is uploaded of a file or folder: each file, with its relative path.

    Raises:
        OSError: a folder or its ignore file cannot be read.
    """
    if is_file(path):
        yield real(path), path.name
        return
    for entry in walk(path, read_ignored(path), prune=False):
        if not entry.is_folder:
            yield entry.path, entry.relative


def _update_with_file(digest: hashlib._Hash, file: Path, content: Files) -> None:
    for chunk in content.chunks(file):
        digest.update(chunk)
