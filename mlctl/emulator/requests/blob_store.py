"""What the emulator keeps beside the cloud's own state: blobs, datastores.

It lies in the same state file, so it is as durable, is shared between processes, and goes when the
cloud is made new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.store import Store

# Only `local reset` writes the seed.
_TABLE = """CREATE TABLE IF NOT EXISTS shelf (
  sort TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, note TEXT NOT NULL,
  content BLOB NOT NULL, PRIMARY KEY (sort, key))"""
_CLEARED = """CREATE TRIGGER IF NOT EXISTS shelf_cleared AFTER UPDATE OF seed ON world
  BEGIN DELETE FROM shelf; END"""


class ItemKind(Enum):
    """What lies on the shelf."""

    DATASTORE = "datastore"
    CONTAINER = "container"  # what was said of all versions of an asset together
    BLOB = "blob"
    BLOCK = "block"  # a part of a blob to come


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One thing on the shelf: its name as first spelt, its note (JSON data)."""

    name: str
    note: Data


class BlobStore:
    """Things by sort and name, in the state file; names compare without case, but for blobs."""

    def __init__(self, store: Store) -> None:
        """Put the shelf up where there is none.

        Raises:
            LocalStateError: the state file cannot be used.
        """
        self._store = store
        with store.write() as db:
            db.execute(_TABLE)
            db.execute(_CLEARED)

    def find(self, sort: ItemKind, name: str) -> StoredItem | None:
        """The thing of that name."""
        with self._store.read() as db:
            row = db.execute(
                "SELECT name, note FROM shelf WHERE sort = ? AND key = ?",
                (sort.value, _key(sort, name)),
            ).fetchone()
        return StoredItem(row[0], json.loads(row[1])) if row else None

    def content(self, sort: ItemKind, name: str) -> bytes:
        """The bytes of the thing of that name; none where there is none."""
        with self._store.read() as db:
            row = db.execute(
                "SELECT content FROM shelf WHERE sort = ? AND key = ?",
                (sort.value, _key(sort, name)),
            ).fetchone()
        return bytes(row[0]) if row else b""

    def list(self, sort: ItemKind, prefix: str = "") -> Iterator[StoredItem]:
        """The things whose names begin with `prefix`, by name."""
        start = _key(sort, prefix)
        with self._store.read() as db:
            rows = db.execute(
                "SELECT name, note FROM shelf WHERE sort = ? AND key >= ? AND key < ? ORDER BY key",
                (sort.value, start, start + "\U0010ffff"),
            ).fetchall()
        for name, note in rows:
            yield StoredItem(name, json.loads(note))

    def put(self, sort: ItemKind, name: str, note: Data, content: bytes = b"") -> None:
        """Lay a thing down, over what had its name."""
        with self._store.write() as db:
            db.execute(
                "INSERT INTO shelf VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET note = excluded.note, content = excluded.content",
                (sort.value, _key(sort, name), name, json.dumps(note), content),
            )

    def set_note(self, sort: ItemKind, name: str, note: Data) -> None:
        """Change the note of a thing and leave its bytes."""
        with self._store.write() as db:
            db.execute(
                "UPDATE shelf SET note = ? WHERE sort = ? AND key = ?",
                (json.dumps(note), sort.value, _key(sort, name)),
            )

    def delete(self, sort: ItemKind, name: str) -> bool:
        """Take a thing away; whether there was one."""
        with self._store.write() as db:
            gone = db.execute(
                "DELETE FROM shelf WHERE sort = ? AND key = ?", (sort.value, _key(sort, name))
            )
            return gone.rowcount > 0


def _key(sort: ItemKind, name: str) -> str:
    return name if sort in (ItemKind.BLOB, ItemKind.BLOCK) else name.casefold()
