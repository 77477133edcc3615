"""Finds the files that paths, folders and globs name, and reads their documents."""
# os.path answers False where pathlib raises (loops of links, folders that cannot be entered):
# ruff: noqa: PTH112, PTH114, PTH116, PTH118, PTH119, PTH120, PTH207

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Diagnostic, Label, Report
from mlctl.files import ON_DISK, Files, checkout, open_any, open_regular
from mlctl.source.decode import MAX_BYTES, too_big
from mlctl.source.document import Document, load
from mlctl.source.rules import UNREADABLE

STDIN = "-"
PROJECT_FILE = "mlctl.yml"  # of mlctl itself; not a resource
CASES = (".test.yml", ".test.yaml")  # of `mlctl test`
MAX_ENTRIES = 100_000  # of a folder and everything below it
_SUFFIXES = (".yml", ".yaml")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read (`-`: standard input); `explicit` if it was named, not found in a folder."""

    path: str
    explicit: bool


def read(
    path: Path | str, report: Report, files: Files = ON_DISK, *, explicit: bool = True
) -> list[Document]:
    """Read the documents of a file; report a file that cannot be read, or is too big.

    A pipe is read if it is named (`<(command)`), but not if it is found in a folder.
    """
    name = str(path)
    content = files.unwritten(path)
    if content is not None:
        return load(name, content, report, explicit=explicit)
    try:
        with open_any(Path(path)) if explicit else open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_BYTES:
                report.add(too_big(name))
                return []
            raw = file.read(size + 1)
            if len(raw) > size:  # pipes and devices have no size; a file may have grown
                raw += file.read(MAX_BYTES + 1 - len(raw))
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        report.add(_unreadable(name, error))
        return []
    return load(name, raw, report, explicit=explicit)


def discover(paths: Sequence[str], report: Report, *, own: bool = False) -> list[SourceFile]:
    """Find the files that `paths` name, each once: files, folders, globs, `-`.

    In folders (`*.yml`, `*.yaml` below), hidden files are skipped and, unless `own`, mlctl's own:
    `mlctl.yml`, and folders with cases of `mlctl test`. Globs are those that the shell has not
    expanded; `**` matches folders. A folder or a glob without files is a finding; `read` reports
    named files that cannot be read.
    """
    files_by_path: dict[str, SourceFile] = {}
    real_folder = cache(os.path.realpath)
    for path in paths:
        matches = list(_matches(path, report, own=own))
        root = checkout(path) if os.path.isdir(path) else None
        for match in matches:
            identity = _real(match, real_folder)
            if root is not None and not identity.startswith(root):
                report.add(left_checkout(match.path))
                continue
            earlier = files_by_path.setdefault(identity, match)
            if match.explicit and not earlier.explicit:
                files_by_path[identity] = match
        if not matches:
            hint = "folders are searched for *.yml and *.yaml, without hidden folders and files"
            report.add(Diagnostic(UNREADABLE, f"`{path}` matches no file", None, hint))
    return list(files_by_path.values())


def _real(file: SourceFile, real_folder: Callable[[str], str]) -> str:
    """Do what `os.path.realpath` does, without checking each folder again for each file."""
    if file.path == STDIN:
        return STDIN
    if file.explicit or os.path.islink(file.path):
        return os.path.realpath(file.path)
    folder, name = os.path.split(file.path)
    return os.path.join(real_folder(folder), name)


def expanded(path: str) -> list[str]:
    """Return what a path names: itself, or the files and folders of a glob."""
    return sorted(glob.glob(path, recursive=True)) if _is_glob(path) else [path]


def projects_below(folder: str) -> Iterator[str]:
    """Return the `mlctl.yml` in a folder and below it, except for folders with cases."""
    below = _walk(folder, Report(), own=False)
    return (path for path in below if os.path.basename(path) == PROJECT_FILE)


def _matches(path: str, report: Report, *, own: bool) -> Iterator[SourceFile]:
    if path == STDIN or not (os.path.isdir(path) or _is_glob(path)):
        yield SourceFile(path, explicit=True)
        return
    for match in expanded(path):
        if os.path.isdir(match):
            below = sorted(_below(match, report, own=own))
            yield from (SourceFile(file, explicit=False) for file in below)
        else:
            yield SourceFile(match, explicit=True)


def _is_glob(path: str) -> bool:
    return glob.has_magic(path) and not os.path.lexists(path)


def _below(folder: str, report: Report, *, own: bool) -> Iterator[str]:
    """Yield the YAML files below `folder`."""
    for path in _walk(folder, report, own=own):
        if path.endswith(_SUFFIXES) and (own or os.path.basename(path) != PROJECT_FILE):
            yield path


def _walk(folder: str, report: Report, *, own: bool) -> Iterator[str]:
    """Yield the files below `folder`, following links, but visiting each folder once.

    Links to a folder that contains this one (`/`), and to the kernel's folders, are not followed.
    """
    try:
        entered = set(_above(os.path.realpath(folder)))
    except OSError as error:  # the current folder no longer exists
        report.add(_unreadable(folder, error))
        return
    waiting, entries, kernels = [folder], 0, _kernels()
    while waiting:
        current = waiting.pop()
        try:
            about = os.stat(current)
            if (about.st_dev, about.st_ino) in entered or about.st_dev in kernels:
                continue
            entered.add((about.st_dev, about.st_ino))
            with os.scandir(current) as listing:
                held = list(listing)
        except OSError as error:
            report.add(_unreadable(current, error))
            continue
        if not own and current != folder and any(entry.name.endswith(CASES) for entry in held):
            continue
        entries += len(held)
        if entries > MAX_ENTRIES:
            why = f"`{folder}` has more than {MAX_ENTRIES:,} files and folders"
            report.add(Diagnostic(UNREADABLE, why, None, "name a folder in it"))
            return
        for entry in held:
            if entry.name.startswith("."):
                continue
            path = entry.name if current == os.curdir else os.path.join(current, entry.name)
            if os.path.isdir(path) if entry.is_symlink() else entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                yield path


def _above(folder: str) -> Iterator[tuple[int, int]]:
    """Return device and inode of each folder that contains a folder."""
    while folder != (folder := os.path.dirname(folder)):
        about = os.stat(folder)
        yield about.st_dev, about.st_ino


def _kernels() -> set[int]:
    """Return the devices of the kernel's file systems, except for those in the root's."""
    devices = {os.stat(path).st_dev for path in ("/proc", "/sys", "/dev") if os.path.isdir(path)}
    return devices - {os.stat("/").st_dev}


def left_checkout(name: Path | str, place: Label | None = None) -> Diagnostic:
    """Report a file that is not read because it is outside the git checkout."""
    message = f"`{name}` is not read: it is outside the git checkout"
    return Diagnostic(UNREADABLE, message, place, "copy it into the checkout")


def _unreadable(name: str, error: Exception) -> Diagnostic:
    why = (
        (error.strerror or "").lower()
        if isinstance(error, OSError)
        else "it is not a valid file name"
    )
    hint = "check the spelling and the working directory"
    if isinstance(error, OSError) and error.errno == errno.EINVAL:  # a pipe where none is expected
        hint = "use `-` for standard input"
    if isinstance(error, PermissionError):
        hint = "check the file's permissions"
    if isinstance(error, IsADirectoryError):
        hint = "name a file in it"
    return Diagnostic(UNREADABLE, f"`{name}` cannot be read: {why}", None, hint)
