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
PROJECT_FILE = "mlctl.yml"  # of mlctl itself; no folder's resource
CASES = (".test.yml", ".test.yaml")  # of `mlctl test`
MAX_ENTRIES = 100_000  # of a folder and all below it
_SUFFIXES = (".yml", ".yaml")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read (`-`: standard input); `explicit` if it was named, not found in a folder."""

    path: str
    explicit: bool


def read(
    path: Path | str, report: Report, files: Files = ON_DISK, *, explicit: bool = True
) -> list[Document]:
    """The documents of a file; a file that cannot be read, or is too big, is a finding.

    A pipe is read where it is named (`<(command)`), and not where it lies in a folder.
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
    """The files that `paths` name, each once: files, folders (`*.yml`, `*.yaml` below), globs, `-`.

    In folders, hidden files are passed over, and unless `own` is wanted mlctl's own: `mlctl.yml`,
    and folders with cases of `mlctl test`, for what lies there is theirs. Globs are those that the
    shell left alone; `**` goes through folders. A folder or a glob without a file is a finding;
    a named file that cannot be read is one of `read`.
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
            hint = "folders are searched for *.yml and *.yaml"
            report.add(Diagnostic(UNREADABLE, f"`{path}` matches no file", None, hint))
    return list(files_by_path.values())


def _real(file: SourceFile, real_folder: Callable[[str], str]) -> str:
    """`os.path.realpath` of a file, which would look at each folder of each of them again."""
    if file.path == STDIN:
        return STDIN
    if file.explicit or os.path.islink(file.path):
        return os.path.realpath(file.path)
    folder, name = os.path.split(file.path)
    return os.path.join(real_folder(folder), name)


def expanded(path: str) -> list[str]:
    """What a path names: itself, or the files and folders of a glob."""
    return sorted(glob.glob(path, recursive=True)) if _is_glob(path) else [path]


def projects_below(folder: str) -> Iterator[str]:
    """The `mlctl.yml` in a folder and in those below it, but for those with cases."""
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
    """The YAML files below `folder`."""
    for path in _walk(folder, report, own=own):
        if path.endswith(_SUFFIXES) and (own or os.path.basename(path) != PROJECT_FILE):
            yield path


def _walk(folder: str, report: Report, *, own: bool) -> Iterator[str]:
    """The files below `folder`, through links but never twice through the same folder.

    Links to what the folder is in (`/`), and to the kernel's folders, are not followed.
    """
    try:
        entered = set(_above(os.path.realpath(folder)))
    except OSError as error:  # the current folder is gone
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
            why = f"`{folder}` holds more than {MAX_ENTRIES:,} files and folders"
            report.add(Diagnostic(UNREADABLE, why, None, "name the folder in it that is meant"))
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
    """Device and inode of each folder that a folder is in."""
    while folder != (folder := os.path.dirname(folder)):
        about = os.stat(folder)
        yield about.st_dev, about.st_ino


def _kernels() -> set[int]:
    """The devices of what the kernel shows as files, unless they are part of the root's."""
    devices = {os.stat(path).st_dev for path in ("/proc", "/sys", "/dev") if os.path.isdir(path)}
    return devices - {os.stat("/").st_dev}


def left_checkout(name: Path | str, place: Label | None = None) -> Diagnostic:
    """The finding that a file is not read, because it lies outside of the git checkout."""
    message = f"`{name}` is not read: it lies outside of the git checkout"
    return Diagnostic(UNREADABLE, message, place, "copy it into the checkout")


def _unreadable(name: str, error: Exception) -> Diagnostic:
    why = (
        (error.strerror or "").lower() if isinstance(error, OSError) else "no file has such a name"
    )
    hint = "check the spelling and the working directory"
    if isinstance(error, OSError) and error.errno == errno.EINVAL:  # a pipe where none may be
        hint = "`-` reads what is piped in"
    if isinstance(error, PermissionError):
        hint = "check the file's permissions"
    if isinstance(error, IsADirectoryError):
        hint = "name a file in it"
    return Diagnostic(UNREADABLE, f"`{name}` cannot be read: {why}", None, hint)
