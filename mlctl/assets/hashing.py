"""Hashes of local files and folders, without what ignore files exclude.

They equal those of azure-ai-ml, so that an upload by one tool is found by the other.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

IGNORE_FILES = (".amlignore", ".gitignore")  # the first that exists counts, as in the SDK

Ignored = Callable[[str], bool]


def code_hash(path: Path) -> str:
    """The SDK's `get_content_hash` (hash version 202208) of a code file or folder.

    Count of files, then `#name#size` of each by lower-cased relative path, then the contents in
    that order.

    Raises:
        OSError: something in the folder cannot be read.
    """
    found = sorted(files(path), key=lambda one: one[1].lower())
    digest = hashlib.sha256(str(len(found)).encode())
    for file, name in found:
        digest.update(f"#{name}#{file.stat().st_size}".encode())
    for file, _ in found:
        _update_with_file(digest, file)
    return digest.hexdigest()


def asset_hash(path: Path) -> str:
    """The SDK's `get_object_hash` of a model or build context; it names the upload's folder.

    Raises:
        OSError: something in the folder cannot be read.
    """
    digest = hashlib.sha256(b"Initialize for october 2021 AML CLI version")
    if path.is_dir():
        _update_with_folder(digest, path, path, _ignored(path))
    else:
        _update_with_file(digest, path)
    return digest.hexdigest()


def files(path: Path) -> Iterator[tuple[Path, str]]:
    """The files that are uploaded of a file or folder, each with its path within the folder."""
    if path.is_file():
        yield path.resolve(), path.name
        return
    ignored = _ignored(path)
    for folder, _, names in os.walk(path, followlinks=True):
        for name in names:
            file = Path(folder, name)
            relative = file.relative_to(path).as_posix()
            if not ignored(relative):
                yield file, relative


def _update_with_folder(digest: hashlib._Hash, root: Path, folder: Path, ignored: Ignored) -> None:
    for inner in sorted(folder.iterdir(), key=lambda one: str(one).lower()):
        if ignored(inner.relative_to(root).as_posix()):
            continue
        digest.update(inner.name.encode())
        if inner.is_dir():
            _update_with_folder(digest, root, inner, ignored)
        elif inner.is_file():
            _update_with_file(digest, inner)


def _update_with_file(digest: hashlib._Hash, file: Path) -> None:
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)


def _ignored(root: Path) -> Ignored:
    """A function that says whether a path relative to `root` is ignored; the last match decides."""
    file = next((root / name for name in IGNORE_FILES if (root / name).is_file()), None)
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file else []
    patterns = [
        (not line.startswith("!"), _pattern(line.lstrip("!")))
        for line in map(str.rstrip, lines)
        if _is_pattern(line)
    ]

    def decide(relative: str) -> bool:
        out = False
        for leave_out, pattern in patterns:
            if pattern.fullmatch(relative):
                out = leave_out
        return out

    return decide


def _is_pattern(line: str) -> bool:
    return bool(line.strip("!/ ")) and not line.startswith("#")


def _pattern(glob: str) -> re.Pattern[str]:
    """A gitignore pattern as a regular expression; it matches what is in a folder too."""
    anchored = "/" in glob.rstrip("/")
    body = ""
    for part in re.split(r"(\*\*/|/\*\*|\*|\?|\[[^\]]+\])", glob.strip("/")):
        body += {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}.get(part) or (
            part.replace("[!", "[^") if part.startswith("[") else re.escape(part)
        )
    beneath = "/.*" if glob.endswith("/") else "(?:/.*)?"
    return re.compile(("" if anchored else "(?:.*/)?") + body + beneath, re.DOTALL)
