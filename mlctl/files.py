"""The user's files: written atomically and privately, read up to a limit and only if regular."""

from __future__ import annotations

import errno
import glob
import io
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import BinaryIO

from mlctl.dataclasses import dataclass, field

# Told of the bytes of each piece that `chunks` has read: big models take minutes.
on_read: ContextVar[Callable[[int], None]] = ContextVar("on_read", default=lambda _: None)

_CHUNK = 1 << 20
_MAX_LINKS = 40
_PIPE_S = 5.0  # seconds that a pipe is given to find a writer
_OTHERS = 0o077  # the access rights of group and others
_DESCRIPTORS = r"/proc/[^/]+(?:/task/[^/]+)?/fd|/dev/fd"


def is_file(path: Path) -> bool:
    """Whether a path leads to a regular file; False too for what no path can be."""
    return os.path.isfile(path)  # noqa: PTH113 - pathlib raises where a name is too long


def is_folder(path: Path) -> bool:
    """Whether a path leads to a folder; False too for what no path can be."""
    return os.path.isdir(path)  # noqa: PTH112


def expanded(path: Path) -> Path:
    """Replace `~` in a path by the user's home; for an unknown user, leave the path unchanged."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib raises for an unknown user


def real(path: Path) -> Path:
    """Resolve the links of a path, as far as they do not form a cycle."""
    return Path(os.path.realpath(path))  # pathlib raises where links go in a circle


def short(path: Path) -> str:
    """Return a path without its `..`, unless it leads through a link to another place."""
    shorter = os.path.normpath(path)
    return shorter if ".." in path.parts and real(Path(shorter)) == real(path) else str(path)


def open_regular(path: Path | str) -> BinaryIO:
    """Open a regular file (or a link to one) for reading.

    Raises:
        OSError: it cannot be read, or is a folder, a device or a pipe.
    """
    if not stat.S_ISDIR(mode := os.stat(path).st_mode) and not stat.S_ISREG(mode):  # noqa: PTH116
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    stream = open(path, "rb")  # noqa: PTH123, SIM115 - to make paths of thousands takes long
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):  # it was exchanged in between
        stream.close()
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return stream


def open_any(path: Path) -> BinaryIO:
    """Open a file, a device or a pipe for reading; a pipe once somebody writes to it.

    Raises:
        OSError: it cannot be read, or is a pipe that nobody opens for writing in a while.
    """
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    streams: list[BinaryIO] = []
    opening = Thread(target=lambda: streams.append(path.open("rb")), daemon=True)
    opening.start()
    opening.join(_PIPE_S)
    if not streams:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))  # lets the thread go on
        opening.join()
        for stream in streams:
            stream.close()
        raise OSError(errno.ETIMEDOUT, "nobody writes to this pipe", str(path))
    return streams[0]


def places(named: Collection[str]) -> frozenset[Path]:
    """Return the real paths of the given files, folders and globs."""
    globs = (glob.iglob(path, recursive=True) for path in named)  # noqa: PTH207 - as pathlib raises
    return frozenset(map(real, map(Path, chain(named, *globs))))


def leads_out(file: Path, named: frozenset[Path]) -> bool:
    """Whether links lead a file out of all the `places` that were named."""
    target = real(file)
    return named.isdisjoint((target, *target.parents))


def checkout(folder: Path | str) -> str | None:
    """Return the real path of the git checkout of a folder, with a slash; None outside of any.

    What a checkout names or links to elsewhere is not its own: what lies there may be secret.
    """
    place = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(place, ".git")):  # noqa: PTH118
        place, below = os.path.dirname(place), place  # noqa: PTH120
        if place == below:
            return None
    return os.path.join(place, "")  # noqa: PTH118


def leaves_checkout(path: Path, folder: Path) -> bool:
    """Whether a file lies outside of the git checkout that a folder is in."""
    root = checkout(folder)
    return root is not None and not os.path.realpath(path).startswith(root)


@dataclass(frozen=True, eq=False, slots=True)
class Files:
    """Files as they are on the disk, except those with content that is yet to be written."""

    _unwritten: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def with_texts(cls, texts: Mapping[Path, str]) -> Files:
        """Return the files as they are once these texts are written."""
        return cls({os.path.realpath(path): text.encode() for path, text in texts.items()})

    def unwritten(self, path: Path | str) -> bytes | None:
        """Return the content that is yet to be written to a file; None if there is none."""
        return self._unwritten.get(os.path.realpath(path)) if self._unwritten else None

    def read(self, path: Path, limit: int) -> bytes:
        """Read a regular file of at most `limit` bytes.

        Raises:
            OSError: it cannot be read, is no regular file, or is bigger.
        """
        content = self.unwritten(path)
        return read(path, limit) if content is None else content

    def size(self, path: Path) -> int:
        """Return the size of a file in bytes; raises OSError if it is not there."""
        content = self.unwritten(path)
        return path.stat().st_size if content is None else len(content)

    def chunks(self, path: Path) -> Iterator[bytes]:
        """Read a regular file piece by piece.

        Raises:
            OSError: it cannot be read, is no regular file, or holds more than its size says.
        """
        content = self.unwritten(path)
        return chunks(path) if content is None else iter((content,))


ON_DISK = Files()


def read(path: Path, limit: int, *, pipes: bool = False) -> bytes:
    """Read a regular file, or with `pipes` anything, of at most `limit` bytes.

    Raises:
        OSError: it cannot be read, is no regular file without `pipes`, or is bigger.
    """
    content = bytearray()
    try:
        with open_any(path) if pipes else open_regular(path) as stream:
            while len(content) <= limit and (chunk := stream.read(_CHUNK)):
                content += chunk  # all at once, Python would make room for the most
    except OSError as error:
        error.filename = str(path)  # reading, unlike opening, does not name it
        raise
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is bigger than {limit:,} bytes", str(path))
    return bytes(content)


def chunks(path: Path) -> Iterator[bytes]:
    """Read a regular file piece by piece.

    Raises:
        OSError: it cannot be read, is no regular file, or holds more than its size says: it is
            being written, or is the kernel's (`/proc`) and may have no end.
    """
    with open_regular(path) as stream:
        remaining = os.fstat(stream.fileno()).st_size
        while chunk := stream.read(_CHUNK):
            remaining -= len(chunk)
            if remaining < 0:
                raise OSError(errno.EINVAL, "it grows while it is read", str(path))
            on_read.get()(len(chunk))
            yield chunk


def write(path: Path, content: bytes, *, private: bool = False, durable: bool = False) -> None:
    """Write a file whole or not at all; with `private`, its owner alone can read it.

    With `durable` it is on the disk once this returns, whatever happens to the machine then.

    What is no regular file (a device, a pipe, `/dev/stdout`) is written into, and never replaced.
    Of a link the target is written, and the link stays. A file that is there keeps its mode, its
    owner and its other names (hard links), unless it is to be private. The folder must be there.

    Raises:
        OSError: it cannot be written; a regular file is as it was.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    if status and (not stat.S_ISREG(status.st_mode) or _is_descriptor(path)):
        with path.open("ab") as file:
            file.write(content)
        return
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    keep = None if private else status
    if keep and keep.st_nlink > 1:
        _overwrite(target, content, durable=durable)
        return
    scratch = target.with_name(f".mlctl.{os.urandom(8).hex()}")  # any name beside may be too long
    create = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    replaced = False
    try:
        with os.fdopen(os.open(scratch, create, 0o600 if private else 0o666), "wb") as file:
            owned = keep is None or _gives_owner(file.fileno(), keep)
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        replaced = owned and _has_replaced(scratch, target)
        if not replaced:
            _overwrite(target, content, durable=durable)
        if durable:
            _sync_folder(target.parent)
    finally:
        if not replaced:
            with suppress(OSError):
                scratch.unlink()


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write several files, all or none.

    Raises:
        OSError: one cannot be written; those before it are as they were.
    """
    old_contents = {path: path.read_bytes() for path in contents}
    written: list[Path] = []
    try:
        for path, content in contents.items():
            write(path, content)
            written.append(path)
    except OSError:
        for path in written:
            write(path, old_contents[path])
        raise


def _gives_owner(descriptor: int, status: os.stat_result) -> bool:
    """Give an open file the owner and the mode of another; whether that is allowed."""
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except OSError:
            return False
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    return True


def _has_replaced(scratch: Path, target: Path) -> bool:
    """Replace a file by another; False if it is a mount, as in a container."""
    try:
        os.replace(scratch, target)  # noqa: PTH105 - a method would make a path of it
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def _overwrite(target: Path, content: bytes, *, durable: bool) -> None:
    """Write into a file that must stay the one that it is; on an error it gets its content back."""
    with target.open("r+b", buffering=0) as file:
        old_content = file.read()
        try:
            _fill(file, content)
        except OSError:
            _fill(file, old_content)
            raise
        if durable:
            os.fsync(file.fileno())


def _fill(file: io.FileIO, content: bytes) -> None:
    file.seek(0)
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]
    file.truncate()


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a new name in it survives a crash."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _is_descriptor(path: Path) -> bool:
    """Whether a path leads to an open file of a process: `/dev/stdout`, `/dev/fd/3`."""
    for _ in range(_MAX_LINKS):
        if re.fullmatch(_DESCRIPTORS, os.path.realpath(path.parent)):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def make_private(path: Path) -> int | None:
    """Make a file or folder private to the user; for a link, its target.

    Returns the access rights that it had where others had any; None where nothing was to be done,
    or it is another user's. What is not there is left so.
    """
    with suppress(OSError):
        status = path.stat()
        mode = stat.S_IMODE(status.st_mode)
        kind = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        if kind and mode & _OTHERS and status.st_uid == os.geteuid():
            path.chmod(mode & ~_OTHERS)
            return mode
    return None


def make_private_file(path: Path) -> None:
    """Create an empty private file, unless it exists or cannot be created."""
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def make_ignored_folder(folder: Path) -> None:
    """Create a private folder with a `.gitignore` of everything, unless it exists.

    Raises:
        OSError: it cannot be made.
    """
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
