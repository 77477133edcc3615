"""What the emulator stores beside the cloud's own state: blobs, datastores, containers and more.

It is in the same state file, so it is shared between processes and deleted when the cloud is reset.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from enum import Enum

from mlctl.dataclasses import dataclass
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.store import Store

# The table keeps its first name: it is part of the file format. Only `local reset` sets the seed.
_TABLE = """CREATE TABLE IF NOT EXISTS shelf (
  sort TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, note TEXT NOT NULL,
  content BLOB NOT NULL, PRIMARY KEY (sort, key))"""
_CLEARED = """CREATE TRIGGER IF NOT EXISTS shelf_cleared AFTER UPDATE OF seed ON world
  BEGIN DELETE FROM shelf; END"""


class ItemKind(Enum):
    """What is stored."""

    WORKSPACE = "workspace"
    CONNECTION = "connection"
    CONTAINER = "container"  # of all versions of an asset
    BLOB = "blob"
    BLOCK = "block"  # a part of a blob to come
    EXPERIMENT = "experiment"
    RUN = "run"
    METRICS = "metrics"  # a batch of those of a run
    LOGGED_MODEL = "logged-model"


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A stored item: its name as first spelt, and its note (JSON data)."""

    name: str
    note: Data


class BlobStore:
    """Items by kind and name in the state file; names, except of blobs, ignore case."""

    def __init__(self, store: Store) -> None:
        """Create the table if it does not exist.

        Raises:
            LocalStateError: the state file cannot be used.
        """
        self._store = store
        with store.write() as db:
            db.execute(_TABLE)
            db.execute(_CLEARED)

    def find(self, kind: ItemKind, name: str) -> StoredItem | None:
        """Return the item of that name."""
        with self._store.read() as db:
            row = db.execute(
                "SELECT name, note FROM shelf WHERE sort = ? AND key = ?",
                (kind.value, _key(kind, name)),
            ).fetchone()
        return StoredItem(row[0], json.loads(row[1])) if row else None

    def content(self, kind: ItemKind, name: str) -> bytes:
        """Return the bytes of the item of that name; empty if there is none."""
        with self._store.read() as db:
            row = db.execute(
                "SELECT content FROM shelf WHERE sort = ? AND key = ?",
                (kind.value, _key(kind, name)),
            ).fetchone()
        return bytes(row[0]) if row else b""

    def list(self, kind: ItemKind, prefix: str = "") -> Iterator[StoredItem]:
        """List the items whose names begin with `prefix`, by name."""
        start = _key(kind, prefix)
        with self._store.read() as db:
            rows = db.execute(
                "SELECT name, note FROM shelf WHERE sort = ? AND key >= ? AND key < ? ORDER BY key",
                (kind.value, start, start + "\U0010ffff"),
            ).fetchall()
        for name, note in rows:
            yield StoredItem(name, json.loads(note))

    def put(self, kind: ItemKind, name: str, note: Data, content: bytes = b"") -> None:
        """Store an item, over one of the same name."""
        self.update(kind, name, lambda _: note, content)

    def update(
        self,
        kind: ItemKind,
        name: str,
        change: Callable[[Data], Data],
        content: bytes | None = None,
    ) -> Data:
        """Store what `change` returns for the note (None: there is no item), in one transaction.

        Without `content` the bytes stay. What `change` raises is raised, and nothing stored.
        """
        key = (kind.value, _key(kind, name))
        with self._store.write() as db:
            row = db.execute("SELECT note FROM shelf WHERE sort = ? AND key = ?", key).fetchone()
            note = change(json.loads(row[0]) if row else None)
            db.execute(
                "INSERT INTO shelf VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " note = excluded.note, content = iif(?, content, excluded.content)",
                (*key, name, json.dumps(note), content or b"", content is None),
            )
        return note

    def delete(self, kind: ItemKind, name: str) -> bool:
        """Delete an item; whether there was one."""
        with self._store.write() as db:
            deleted = db.execute(
                "DELETE FROM shelf WHERE sort = ? AND key = ?", (kind.value, _key(kind, name))
            )
            return deleted.rowcount > 0


def _key(kind: ItemKind, name: str) -> str:
    return name if kind in (ItemKind.BLOB, ItemKind.BLOCK) else name.casefold()
