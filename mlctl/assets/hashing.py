"""Hash local files and folders, without ignored files.

The hashes equal those of azure-ai-ml, so that one tool finds what the other has uploaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from mlctl.assets import ignore
from mlctl.assets.folders import walk
from mlctl.files import ON_DISK, Files, is_file, is_folder, real


def code_hash(path: Path, content: Files = ON_DISK) -> str:
    """Return the SDK's `get_content_hash` (hash version 202208) of a code file or folder.

    It covers the number of files, then `#name#size` of each by lower-cased relative path, then the
    contents in that order.

    Raises:
        OSError: something in the folder cannot be read.
    """
    sorted_files = sorted(files(path), key=lambda pair: pair[1].lower())
    digest = hashlib.sha256(str(len(sorted_files)).encode())
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
    digest = hashlib.sha256(b"Initialize for october 2021 AML CLI version")
    if not is_folder(path):
        _update_with_file(digest, path, content)
        return digest.hexdigest()
    for entry in walk(path, ignore.read(path), prune=True):
        digest.update(entry.path.name.encode())
        if entry.path.is_file():
            _update_with_file(digest, entry.path, content)
    return digest.hexdigest()


def files(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what is uploaded of a file or folder: each file, with its relative path.

    Raises:
        OSError: a folder or its ignore file cannot be read.
    """
    if is_file(path):
        yield real(path), path.name
        return
    for entry in walk(path, ignore.read(path), prune=False):
        if not entry.is_folder:
            yield entry.path, entry.relative


def _update_with_file(digest: hashlib._Hash, file: Path, content: Files) -> None:
    for chunk in content.chunks(file):
        digest.update(chunk)
