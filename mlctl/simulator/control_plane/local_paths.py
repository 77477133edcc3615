"""Where the files of assets are on this machine: written when an asset is, read to run its code.

The simulated cloud keeps no copy: what is at the path when code is run is what runs.
"""

from __future__ import annotations

from pathlib import Path

from mlctl.simulator.control_plane.state.store import MEMORY, Store

_TABLE = "CREATE TABLE IF NOT EXISTS local_paths (uri TEXT PRIMARY KEY, path TEXT NOT NULL)"
_CLEARED = """CREATE TRIGGER IF NOT EXISTS local_paths_cleared AFTER UPDATE OF seed ON world
  BEGIN DELETE FROM local_paths; END"""


def note(store: Store, uri: str, path: str) -> None:
    """Write down where the files of a URI are."""
    with store.write() as db:
        db.execute(_TABLE)
        db.execute(_CLEARED)
        db.execute("INSERT OR REPLACE INTO local_paths VALUES (?, ?)", (_key(uri), path))


def find(store: Store, uri: str) -> Path | None:
    """Where the files of a URI are; None where nobody has written it down."""
    with store.read() as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'local_paths'").fetchone():
            return None
        row = db.execute("SELECT path FROM local_paths WHERE uri = ?", (_key(uri),)).fetchone()
    return Path(row[0]) if row else None


def _key(uri: str) -> str:
    """A URI without its workspace, which has several spellings: uploads are named by a hash."""
    return uri.rpartition("/datastores/")[2]


def code_folder(store: Store) -> Path | None:
    """Where what user code prints and writes is kept: beside the state file; None without one."""
    return None if store.path == MEMORY else Path(store.path).absolute().parent / "code"
