"""Journals of applies: what each has unset or deleted and not yet restored.

Each apply has its own journal file, written before anything is removed and deleted once everything
is restored. A remaining one is from an unfinished apply. It holds no secrets, and of a resource
only what no file declares.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from mlctl import files
from mlctl.backends.ports.backend import Backend
from mlctl.dataclasses import asdict, dataclass, field
from mlctl.kinds import Address, Scope, kind_of
from mlctl.kinds.values import state
from mlctl.planning.model import Unfinished
from mlctl.pointer import Data
from mlctl.schema import compiled, load, resolved
from mlctl.service_errors import Permanent, ServiceError
from mlctl.source.files import STDIN
from mlctl.version import __version__

FOLDER = Path(".mlctl", "journal")
FORMAT_VERSION = "1.0"
_MAX_BYTES = 1 << 28


class JournalError(Permanent):
    """A journal cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Journals:
    """The journals of one workspace in a folder; other workspaces' are ignored."""

    folder: Path
    backend: str
    scope: Scope

    def new(self, began: datetime, paths: Sequence[str] = ()) -> JournalFile:
        """Return the journal of a new apply; its file is created by the first write."""
        name = f"{began:%Y%m%dT%H%M%SZ}-{os.getpid()}-{os.urandom(2).hex()}.json"
        whole = [] if STDIN in paths else [str(Path(path).absolute()) for path in paths]
        since = f"{began:%Y-%m-%dT%H:%M:%SZ}"
        return JournalFile(self.folder / name, self.backend, self.scope, since, whole)

    def unfinished(self) -> list[JournalFile]:
        """Return the existing journals, oldest first.

        Raises:
            JournalError: one is damaged, or cannot be read.
        """
        try:
            paths = sorted(self.folder.glob("[!.]*.json"))
        except OSError as error:
            raise _build_error("read", self.folder, error) from error
        journals = [journal for path in paths if (journal := _read(path)) is not None]
        workspace = self.backend, self.scope
        return [journal for journal in journals if (journal.backend, journal.scope) == workspace]

    def changes(self) -> dict[Address, Unfinished]:
        """Return what all of them have to restore; for the same field the latest entry counts.

        Raises:
            JournalError: one is damaged, or cannot be read.
        """
        changes: dict[Address, Unfinished] = {}
        for journal in self.unfinished():
            for address, entry in journal.unfinished.items():
                changes[address] = entry.over(changes[address]) if address in changes else entry
        return changes

    def settle(self, backend: Backend, deleted: Collection[Address] = ()) -> list[JournalFile]:
        """Remove entries that are restored or of something `deleted`; return remaining journals.

        A journal stays as it is where the workspace cannot be read.

        Raises:
            JournalError: one is damaged, or cannot be read or written.
        """
        journals = self.unfinished()
        try:
            live = backend.read({address for journal in journals for address in journal.unfinished})
        except ServiceError:
            return journals
        existing = {
            at: resource for at, resource in live.items() if state(resource.body) != "deleting"
        }
        for journal in journals:
            remaining = (
                entry.remaining(existing.get(address))
                for address, entry in journal.unfinished.items()
                if entry.related.isdisjoint(deleted)
            )
            journal.keep([entry for entry in remaining if entry is not None])
        return [journal for journal in journals if journal.unfinished]


@dataclass(slots=True)
class JournalFile:
    """The journal of one apply."""

    path: Path
    backend: str
    scope: Scope
    since: str
    paths: Sequence[str] = ()
    unfinished: dict[Address, Unfinished] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, unfinished: Iterable[Unfinished]) -> None:
        """Add or replace entries by address; they are on disk once this returns.

        Raises:
            JournalError: it cannot be written.
        """
        with self._lock:
            self.unfinished |= {entry.address: entry for entry in unfinished}
            self._write()

    def keep(self, unfinished: Iterable[Unfinished]) -> None:
        """Keep only these entries; without any, the file is deleted.

        Raises:
            JournalError: it cannot be written or deleted.
        """
        with self._lock:
            previous = self.unfinished
            self.unfinished = {entry.address: entry for entry in unfinished}
            if not self.unfinished:
                try:
                    self.path.unlink(missing_ok=True)
                except OSError as error:
                    raise _build_error("remove", self.path, error) from error
            elif self.unfinished != previous:
                self._write()

    def _write(self) -> None:
        document = {
            "format_version": FORMAT_VERSION,
            "mlctl_version": __version__,
            "backend": self.backend,
            "workspace": asdict(self.scope),
            "began": self.since,
            "paths": list(self.paths),
            "owed": [_plain(entry) for entry in self.unfinished.values()],
        }
        content = f"{json.dumps(document, indent=1)}\n".encode()
        try:
            for folder in (self.path.parent.parent, self.path.parent):
                if folder.name in FOLDER.parts:
                    files.make_ignored_folder(folder)
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write(self.path, content, private=True, durable=True)
        except OSError as error:
            raise _build_error("write", self.path, error) from error


def _plain(entry: Unfinished) -> Data:
    return {
        "address": str(entry.address),
        "deleted": entry.deleted,
        "body": entry.body,
        "meanwhile": entry.meanwhile,
        "secrets": list(entry.secrets),
        "moved": entry.moved,
    }


def _read(path: Path) -> JournalFile | None:
    """Read a journal; None if its apply has ended since the folder was read."""
    try:
        return _parse(json.loads(files.read(path, _MAX_BYTES)), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _build_error("read", path, error) from error
    except (ValueError, KeyError, RecursionError) as error:
        raise JournalError(
            "JournalDamaged",
            f"`{path}`, which lists what an unfinished apply has yet to restore, is damaged:"
            " repair it, or delete it to continue without",
        ) from error


def _parse(document: Data, path: Path) -> JournalFile:
    """Parse a journal; ValueError or KeyError if it is none, JournalError if it is newer."""
    version = document.get("format_version") if isinstance(document, dict) else None
    numbers = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", version) if isinstance(version, str) else None
    if numbers and [*map(int, numbers.groups())] > [*map(int, FORMAT_VERSION.split("."))]:
        raise JournalError(
            "JournalNewer",
            f"`{path}`, which lists what an unfinished apply has yet to restore, is from a"
            f" newer mlctl (format {version}; this one reads {FORMAT_VERSION}): upgrade mlctl,"
            " and keep the file",
        )
    valid = compiled.compile_schema(resolved(load("journal")))
    if valid is None or not valid(document):
        raise ValueError(path)
    entries = _entries(document, path)
    return JournalFile(
        path,
        document["backend"],
        Scope(**document["workspace"]),
        document["began"],
        document["paths"],
        {entry.address: entry for entry in entries},
    )


def _entries(document: Mapping[str, Data], path: Path) -> Iterator[Unfinished]:
    for entry in document["owed"]:
        address = Address.parse(entry["address"])
        kind_of(address)
        yield Unfinished(
            address,
            entry["body"],
            entry["deleted"],
            entry["meanwhile"],
            tuple(entry["secrets"]),
            entry.get("moved", False),
            document["began"],
            str(path),
        )


def _build_error(verb: str, path: Path, error: OSError) -> JournalError:
    why = error.strerror or error
    return JournalError(
        "JournalNotKept",
        f"cannot {verb} the journal `{path}` ({why}):"
        " fix that, or name another folder in MLCTL_JOURNAL_DIR",
    )
