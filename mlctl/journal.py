"""Journals of applies: what each has unset or deleted and not yet put back.

A journal is a file of an apply's own, written before anything is taken away and removed when all
of it is back. What is left in one belongs to an apply that did not end. It holds no secret, and of
a resource only what no file says.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from mlctl import files
from mlctl.backends.ports.backend import Backend
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.values import state
from mlctl.planning.unfinished.owed import Owed
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
    """The journals in a folder that are of one workspace; those of others are left alone."""

    folder: Path
    backend: str
    scope: Scope

    def new(self, began: datetime, paths: Sequence[str] = ()) -> JournalFile:
        """The journal of an apply that begins now; there is no file before it is written to."""
        name = f"{began:%Y%m%dT%H%M%SZ}-{os.getpid()}-{os.urandom(2).hex()}.json"
        whole = [] if STDIN in paths else [str(Path(path).absolute()) for path in paths]
        since = f"{began:%Y-%m-%dT%H:%M:%SZ}"
        return JournalFile(self.folder / name, self.backend, self.scope, since, whole)

    def unfinished(self) -> list[JournalFile]:
        """The journals that are there, the oldest first.

        Raises:
            JournalError: one is damaged, or cannot be read.
        """
        try:
            found = sorted(self.folder.glob("[!.]*.json"))
        except OSError as error:
            raise _cannot("read", self.folder, error) from error
        read = (one for path in found if (one := _read(path)) is not None)
        return [one for one in read if (one.backend, one.scope) == (self.backend, self.scope)]

    def owed(self) -> dict[Address, Owed]:
        """What is owed by all of them; where two say the same, the later one counts.

        Raises:
            JournalError: one is damaged, or cannot be read.
        """
        owed: dict[Address, Owed] = {}
        for journal in self.unfinished():
            for address, one in journal.owed.items():
                owed[address] = one.after(owed[address]) if address in owed else one
        return owed

    def settle(self, backend: Backend, deleted: Collection[Address] = ()) -> list[JournalFile]:
        """Take out what is back, and what was of something `deleted`; the journals that are left.

        A journal stays as it is where the workspace cannot be read.

        Raises:
            JournalError: one is damaged, or cannot be read or written.
        """
        journals = self.unfinished()
        try:
            live = backend.read({address for one in journals for address in one.owed})
        except ServiceError:
            return journals
        there = {one: found for one, found in live.items() if state(found.body) != "deleting"}
        for journal in journals:
            left = (
                owed.left(there.get(address))
                for address, owed in journal.owed.items()
                if owed.about.isdisjoint(deleted)
            )
            journal.keep([one for one in left if one is not None])
        return [one for one in journals if one.owed]


@dataclass(slots=True)
class JournalFile:
    """The journal of one apply."""

    path: Path
    backend: str
    scope: Scope
    since: str
    paths: Sequence[str] = ()
    owed: dict[Address, Owed] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, owed: Iterable[Owed]) -> None:
        """Add what is owed, or say it anew; it is on the disk once this returns.

        Raises:
            JournalError: it cannot be written.
        """
        with self._lock:
            self.owed |= {one.address: one for one in owed}
            self._write()

    def keep(self, owed: Iterable[Owed]) -> None:
        """Keep these alone; without any there is no file.

        Raises:
            JournalError: it cannot be written or removed.
        """
        with self._lock:
            before, self.owed = self.owed, {one.address: one for one in owed}
            if not self.owed:
                try:
                    self.path.unlink(missing_ok=True)
                except OSError as error:
                    raise _cannot("remove", self.path, error) from error
            elif self.owed != before:
                self._write()

    def _write(self) -> None:
        document = {
            "format_version": FORMAT_VERSION,
            "mlctl_version": __version__,
            "backend": self.backend,
            "workspace": {
                "subscription": self.scope.subscription,
                "resource_group": self.scope.resource_group,
                "workspace": self.scope.workspace,
            },
            "began": self.since,
            "paths": list(self.paths),
            "owed": _plain(self.owed),
        }
        content = f"{json.dumps(document, indent=1)}\n".encode()
        try:
            for folder in (self.path.parent.parent, self.path.parent):
                if folder.name in FOLDER.parts:
                    files.make_ignored_folder(folder)
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write(self.path, content, private=True, durable=True)
        except OSError as error:
            raise _cannot("write", self.path, error) from error


def _plain(owed: Mapping[Address, Owed]) -> list[Data]:
    return [
        {
            "address": str(one.address),
            "deleted": one.deleted,
            "body": one.body,
            "meanwhile": one.meanwhile,
            "secrets": list(one.secrets),
            "moved": one.moved,
        }
        for one in owed.values()
    ]


def _read(path: Path) -> JournalFile | None:
    """A journal; None where its apply has ended since the folder was read."""
    try:
        return _parsed(json.loads(files.read(path, _MAX_BYTES)), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _cannot("read", path, error) from error
    except (ValueError, KeyError, RecursionError) as error:
        raise JournalError(
            "JournalDamaged",
            f"`{path}`, which says what an apply that did not end has yet to put back, is damaged:"
            " repair it, or delete it to go on without",
        ) from error


def _parsed(document: Data, path: Path) -> JournalFile:
    """The journal that a document says.

    Raises:
        ValueError: it is no journal.
        KeyError: it names a kind that there is not.
    """
    valid = compiled.compile_schema(resolved(load("journal")))
    if valid is None or not valid(document):
        raise ValueError(path)
    scope, owed = (
        Scope(**document["workspace"]),
        {one.address: one for one in _owed(document, path)},
    )
    paths, since = document["paths"], document["began"]
    return JournalFile(path, document["backend"], scope, since, paths, owed)


def _owed(document: Mapping[str, Data], path: Path) -> Iterator[Owed]:
    for one in document["owed"]:
        address = Address.parse(one["address"])
        kind_of(address)
        yield Owed(
            address,
            one["body"],
            one["deleted"],
            one["meanwhile"],
            tuple(one["secrets"]),
            one.get("moved", False),
            document["began"],
            str(path),
        )


def _cannot(verb: str, path: Path, error: OSError) -> JournalError:
    why = error.strerror or error
    return JournalError(
        "JournalNotKept",
        f"cannot {verb} `{path}` ({why}), where an apply says what it has yet to put back:"
        " make that possible, or name another folder in MLCTL_JOURNAL_DIR",
    )
