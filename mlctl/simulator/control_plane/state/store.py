"""The state of a simulated cloud in one SQLite file: opening it, and one transaction per change."""

from __future__ import annotations

import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock

from mlctl.service_errors import Permanent

VERSION = 3
APPLICATION = 0x6D6C6374  # "mlct": tells our files from other people's
MEMORY = ":memory:"
_BUSY_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE world (
  id INTEGER PRIMARY KEY CHECK (id = 1), now REAL NOT NULL, seed TEXT NOT NULL,
  settings TEXT NOT NULL);
INSERT INTO world VALUES (1, 0, '0', '{}');
CREATE TABLE workspaces (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, subscription TEXT NOT NULL,
  resource_group TEXT NOT NULL, name TEXT NOT NULL, location TEXT NOT NULL);
CREATE TABLE resources (
  id INTEGER PRIMARY KEY, workspace INTEGER NOT NULL REFERENCES workspaces, key TEXT NOT NULL,
  kind TEXT NOT NULL, holder TEXT NOT NULL, name TEXT NOT NULL, parent TEXT, version TEXT,
  region TEXT, state TEXT NOT NULL, operation INTEGER, body TEXT NOT NULL);
CREATE UNIQUE INDEX resources_by_key ON resources (key, workspace);
CREATE INDEX resources_by_kind ON resources (workspace, kind, holder);
CREATE INDEX resources_in_motion ON resources (operation) WHERE operation IS NOT NULL;
CREATE TABLE needs (
  resource INTEGER NOT NULL REFERENCES resources ON DELETE CASCADE, key TEXT NOT NULL,
  PRIMARY KEY (resource, key)) WITHOUT ROWID;
CREATE INDEX needs_by_key ON needs (key);
CREATE TABLE claims (
  resource INTEGER NOT NULL REFERENCES resources ON DELETE CASCADE, subscription TEXT NOT NULL,
  region TEXT NOT NULL, pool TEXT NOT NULL, amount INTEGER NOT NULL,
  PRIMARY KEY (resource, pool)) WITHOUT ROWID;
CREATE TABLE used (
  subscription TEXT NOT NULL, region TEXT NOT NULL, pool TEXT NOT NULL, amount INTEGER NOT NULL,
  PRIMARY KEY (subscription, region, pool)) WITHOUT ROWID;
CREATE TRIGGER claimed AFTER INSERT ON claims BEGIN
  INSERT INTO used VALUES (new.subscription, new.region, new.pool, new.amount)
    ON CONFLICT DO UPDATE SET amount = amount + excluded.amount;
END;
CREATE TRIGGER released AFTER DELETE ON claims BEGIN
  UPDATE used SET amount = amount - old.amount
    WHERE subscription = old.subscription AND region = old.region AND pool = old.pool;
END;
CREATE TABLE quotas (
  subscription TEXT NOT NULL, region TEXT NOT NULL, pool TEXT NOT NULL, cap INTEGER NOT NULL,
  PRIMARY KEY (subscription, region, pool)) WITHOUT ROWID;
CREATE TABLE operations (
  id INTEGER PRIMARY KEY, address TEXT NOT NULL, verb TEXT NOT NULL, started REAL NOT NULL,
  due REAL NOT NULL, status TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL);
CREATE INDEX operations_running ON operations (due) WHERE status = 'InProgress';
CREATE TABLE faults (id INTEGER PRIMARY KEY, spec TEXT NOT NULL, seen INTEGER NOT NULL);
"""
# Since version 2: what runs. `engine` is a checkpoint; the orders alone tell the whole story.
_RUNS = """
CREATE TABLE engine (
  id INTEGER PRIMARY KEY CHECK (id = 1), life INTEGER NOT NULL, awake INTEGER NOT NULL,
  now REAL NOT NULL, done_at REAL NOT NULL, done INTEGER NOT NULL, state TEXT NOT NULL);
INSERT INTO engine VALUES (1, 0, 0, 0, 0, 0, '');
CREATE TABLE orders (id INTEGER PRIMARY KEY, at REAL NOT NULL, command TEXT NOT NULL);
CREATE INDEX orders_by_time ON orders (at, id);
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY, workspace INTEGER NOT NULL REFERENCES workspaces, key TEXT NOT NULL,
  name TEXT NOT NULL, kind TEXT NOT NULL, endpoint TEXT, deployment TEXT, created REAL NOT NULL,
  note TEXT NOT NULL);
CREATE UNIQUE INDEX jobs_by_key ON jobs (key, workspace);
CREATE INDEX jobs_by_deployment ON jobs (workspace, endpoint, deployment);
CREATE TABLE workloads (name TEXT PRIMARY KEY, spec TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE locks (
  workspace INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (workspace, key)) WITHOUT ROWID;
"""
# Since version 3: locks on any scope, and lists in the order of names.
_SCOPES = """
ALTER TABLE locks RENAME TO cluster_locks;
CREATE TABLE locks (
  key TEXT PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, level TEXT NOT NULL,
  notes TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO locks SELECT lower(scope) || '/providers/microsoft.authorization/locks/local', scope,
  'local', 'CanNotDelete', '' FROM (SELECT '/subscriptions/' || w.subscription ||
  '/resourceGroups/' || w.resource_group || '/providers/Microsoft.MachineLearningServices/' ||
  'workspaces/' || w.name || '/computes/' || r.name AS scope FROM cluster_locks l
  JOIN workspaces w ON w.id = l.workspace
  JOIN resources r ON r.workspace = l.workspace AND r.key = l.key);
DROP TABLE cluster_locks;
DROP INDEX IF EXISTS resources_by_kind;
CREATE INDEX IF NOT EXISTS resources_by_name
  ON resources (workspace, kind, holder, lower(name), id);
"""
TABLES = (
    *("needs", "claims", "used", "quotas", "operations", "faults", "orders", "jobs", "workloads"),
    *("locks", "resources", "workspaces"),
)


class LocalStateError(Permanent):
    """The state cannot be used: unreadable, not ours, or of a newer version. Says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__("LocalState", message, status=500)


class Store:
    """One connection to the state; safe to share between threads, and beside other processes."""

    def __init__(self, path: str | Path) -> None:
        """Open the state at `path` (`:memory:` for none), making it where it is missing.

        Raises:
            LocalStateError: it cannot be read, is not a state of ours, or is of a newer version.
        """
        self.path = str(path)
        self.memo: object = None  # what `journal` remembers of the state, to read it once only
        self._lock = RLock()
        if self.path != MEMORY:
            _make_folder(Path(self.path))
        try:
            self._connection = _connected(self.path)
        except sqlite3.Error as error:
            raise _explained(self.path, error) from error
        weakref.finalize(self, self._connection.close)  # 3.13 warns of connections left open

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """One write transaction: kept as a whole, or not at all when the block raises.

        Raises:
            LocalStateError: the file cannot be written.
        """
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise _explained(self.path, error) from error

    @contextmanager
    def look(self) -> Iterator[sqlite3.Connection]:
        """The connection for single reading statements; each sees one consistent state.

        Raises:
            LocalStateError: the file cannot be read.
        """
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise _explained(self.path, error) from error

    def close(self) -> None:
        """Give the file back; closing twice is fine."""
        with self._lock:
            self._connection.close()


def _make_folder(path: Path) -> None:
    folder = path.parent
    if folder.exists():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.name == ".mlctl":
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        text = f"cannot make the folder `{folder}` for the local state: {error.strerror}"
        raise LocalStateError(text) from error


def _connected(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    _check_ours(connection, path)
    if path != MEMORY:
        _use_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")  # pages; each one waits for the disk
    if _number(connection, "user_version") < VERSION:
        _create(connection)
    _check_ours(connection, path)


def _check_ours(connection: sqlite3.Connection, path: str) -> None:
    """All three numbers at once: somebody else may be making the tables."""
    version, application, tables = connection.execute(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if version > VERSION and application == APPLICATION:
        raise LocalStateError(
            f"`{path}` was written by a newer mlctl (state version {version}, this one knows "
            f"{VERSION}): upgrade mlctl, or name another file."
        )
    if application != APPLICATION and (version or application or tables):
        raise LocalStateError(f"`{path}` is a database of another program: name another file.")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _use_wal(connection: sqlite3.Connection) -> None:
    """Two processes that switch at once get `locked` without SQLite's busy wait: wait here."""
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _create(connection: sqlite3.Connection) -> None:
    """Bring the file to this version, whichever it has."""
    connection.execute("BEGIN IMMEDIATE")
    version = _number(connection, "user_version")  # somebody else may have been faster
    for script in (_SCHEMA, _RUNS, _SCOPES)[version:]:
        for statement in _statements(script):
            connection.execute(statement)
    if version < VERSION:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    """`executescript` would end the transaction."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""


def _explained(path: str, error: sqlite3.Error) -> LocalStateError:
    text = str(error)
    if "locked" in text or "busy" in text:
        advice = f"another process has held it for {_BUSY_SECONDS:.0f} s: try again"
    elif "not a database" in text or "malformed" in text:
        advice = (
            "it is no mlctl state, or damaged: move it away to start anew, or name another file"
        )
    elif "closed database" in text:
        advice = "it was closed"
    else:
        advice = "check that you may read and write this file, and that the disk is not full"
    return LocalStateError(f"cannot use the local state `{path}` ({text}): {advice}.")
