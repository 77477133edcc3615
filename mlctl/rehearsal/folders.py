"""Folders of a rehearsal: the code on a node, its environment, and the files it leaves."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlctl import files
from mlctl.dataclasses import dataclass
from mlctl.pointer import Data
from mlctl.rehearsal.inputs import RehearsalError

_IGNORED = {".git", ".venv", "__pycache__", "node_modules", ".mlctl"}
_MOST_FILES = 20_000
_PORT = "6105"  # where the processes of a distributed job meet
_PIECE = 1 << 20  # bytes of a file that are read at once
_SMALL = 1 << 20  # bytes of a file of code that is copied
_MOST_COMPARED = 1 << 24  # bytes of a file that is compared line by line; bigger ones are hashed


def copy_code(folder: Path, code: Path, excluded: Path) -> None:
    """Copy a folder so that a program can write to it; big files become links.

    `excluded` is a folder to leave out, as is everything that nodes do not get.

    Raises:
        RehearsalError: it has more files than the service accepts.
    """
    count = 0
    for at, folders, names in os.walk(code):
        source = Path(at)
        keep = [
            folder_name
            for folder_name in folders
            if folder_name not in _IGNORED and source / folder_name != excluded
        ]
        folders[:] = [
            folder_name for folder_name in keep if not (source / folder_name).is_symlink()
        ]
        target = folder / source.relative_to(code)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            file = source / name
            count += 1
            if count > _MOST_FILES:
                raise RehearsalError(f"`{code}` has more than {_MOST_FILES:,} files")
            if files.is_file(file) and file.stat().st_size <= _SMALL:
                shutil.copy(file, target / name)
            else:
                (target / name).symlink_to(files.real(file))


def link_code(folder: Path, code: Path) -> None:
    """Link the contents of a folder of code, without what nodes do not get."""
    for path in sorted(code.iterdir()):
        if path.name not in _IGNORED:
            (folder / path.name).symlink_to(files.real(path))


def declared_variables(values: Data) -> dict[str, str]:
    """Return the `environment_variables` of a file as texts."""
    pairs = values.items() if isinstance(values, dict) else ()
    return {str(name): str(value) for name, value in pairs}


def variables(
    node: Path, environment: Mapping[str, str], declared: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment on a node: the user's own, and what a deployment or job declares.

    What programs write to a home or a scratch folder stays on the node.
    """
    home = environment.get("HOME", "")
    return {
        **{name: value for name, value in environment.items() if not name.startswith("MLCTL_")},
        "PYTHONUSERBASE": environment.get("PYTHONUSERBASE", str(Path(home, ".local"))),
        **declared,
        "HOME": str(node / "home"),
        "TMPDIR": str(node / "tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def pytorch_peers(rank: int, processes: int, world: int) -> dict[str, str]:
    """Return what one of `world` processes, of `processes` on each node, knows of the others."""
    node, local = divmod(rank, processes)
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(local),
        "NODE_RANK": str(node),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": _PORT,
    }


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file: its size, its hash, and its lines if it is text and not too big."""

    size: int
    sha256: str
    lines: tuple[str, ...] | None

    @classmethod
    def read(cls, path: Path) -> Content:
        """Read a file.

        Raises:
            OSError: it cannot be read.
        """
        size = path.stat().st_size
        digest = hashlib.sha256()
        for offset, data in _read_pieces(path):
            digest.update(b"%d " % offset + data)
        lines = None
        if size <= _MOST_COMPARED:
            try:
                lines = tuple(path.read_bytes().decode().splitlines())
            except UnicodeDecodeError:
                lines = None
        return cls(size, digest.hexdigest(), lines)


def _read_pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """Read the pieces of a file that are not all zeros; holes of a sparse file are skipped."""
    with path.open("rb", buffering=0) as file:
        end = offset = 0
        while True:
            if offset >= end:
                try:
                    start = os.lseek(file.fileno(), offset, os.SEEK_DATA)
                    end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                except OSError:  # a hole up to the end
                    return
                offset = start - start % _PIECE
            data = os.pread(file.fileno(), _PIECE, offset)
            if not data:
                return
            if data.count(0) < len(data):
                yield offset, data
            offset += len(data)


def snapshot(folder: Path) -> dict[str, Content]:
    """Return the files below a folder by their relative names."""
    return {
        path.relative_to(folder).as_posix(): Content.read(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
