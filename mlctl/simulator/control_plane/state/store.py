"""The SQLite file of a simulated cloud: tables, format, connection, transactions."""

from __future__ import annotations

import re
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock

from mlctl import files
from mlctl.catalog.prices import PriceList, own_prices
from mlctl.service_errors import Unavailable

START_AGAIN = "move it away to start again, or name another file"
_FAILED = (sqlite3.Error, UnicodeDecodeError)  # the latter in place of the former, for bad names
_DAMAGED = ("not a database", "malformed", "no such", "decode")  # words of SQLite's errors
MEMORY = ":memory:"
_FOLDER = ".mlctl"  # mlctl's own, made for the state
BUSY_SECONDS = 30.0
_PAGE = 1024  # bytes: a write changes a few in a dozen pages, and each is logged whole
_CHECKPOINT = 16_000  # pages in the log before a checkpoint, which waits for the disk


class LocalStateError(Unavailable):
    """The file cannot be used: unreadable, of another program or version. Says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__("LocalState", message, status=500)


class LocalStateBusyError(LocalStateError):
    """Another process has held the file for too long."""


def _nothing_due(_store: Store, _to: float) -> None:
    """Of a cloud whose schedules start no jobs."""


class _Reading:
    """A block in which one thread reads; a class, as there are many reads in a request."""

    __slots__ = ("_connection", "_explain", "_lock")

    def __init__(
        self,
        connection: sqlite3.Connection,
        lock: RLock,
        explained: Callable[[sqlite3.Error | UnicodeDecodeError], LocalStateError],
    ) -> None:
        self._connection = connection
        self._lock = lock
        self._explain = explained

    def __enter__(self) -> sqlite3.Connection:
        self._lock.acquire()
        return self._connection

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        self._lock.release()
        if isinstance(error, _FAILED):
            raise self._explain(error) from error


class Store:
    """A connection to the file. Threads may share it; other processes may use the file too."""

    def __init__(self, path: str | Path, patience: float = BUSY_SECONDS) -> None:
        """Open the file at `path`, creating it if needed; `:memory:` is a new database in memory.

        `patience` is how many seconds to wait for another process that holds the file.

        Raises:
            LocalStateError: it cannot be read, or is of another program or version.
        """
        self.path = str(path)
        self.engine_cache: object = None  # of `replay`, valid for this connection
        self.price_list: Callable[[], PriceList] = own_prices  # by which nodes are billed
        self.start_due: Callable[[Store, float], None] = _nothing_due  # before the clock moves on
        self._patience = patience
        self._lock = RLock()
        # What others could read of the state before it was opened, in words.
        self.tightened: tuple[str, ...] = ()
        if self.path != MEMORY:
            _make_folder(Path(self.path))
            self.tightened = make_state_private(Path(self.path))
            files.make_private_file(Path(self.path))  # SQLite gives its other files the same rights
        try:
            connection = sqlite3.connect(
                self.path, timeout=patience, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(connection, self.path, patience)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        except _FAILED as error:
            raise self._explain(error) from error
        weakref.finalize(self, self._connection.close)  # Python 3.13 warns of open connections

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Begin a write transaction, rolled back if the block raises.

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
            except _FAILED as error:
                raise self._explain(error) from error

    def read(self) -> _Reading:
        """Yield the connection for single SELECTs; each sees one consistent state.

        The block raises a LocalStateError where the file cannot be read.
        """
        return _Reading(self._connection, self._lock, self._explain)

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        with self._lock:
            self._connection.close()

    def _explain(self, error: sqlite3.Error | UnicodeDecodeError) -> LocalStateError:
        text = str(error)
        kind = LocalStateError
        if "locked" in text or "busy" in text:
            advice = f"another process has held it for {self._patience:g} s: try again"
            kind = LocalStateBusyError
        elif any(word in text for word in _DAMAGED):
            advice = f"it is no mlctl state, or damaged: {START_AGAIN}"
        elif "closed database" in text:
            advice = "it was closed"
        else:
            advice = "check that you may read and write this file, and that the disk is not full"
        return kind(f"cannot use the local state `{self.path}` ({text}): {advice}.")


def make_state_private(path: Path) -> tuple[str, ...]:
    """Make a state file private: it holds what documents hold.

    Its folder only where that is mlctl's own. Returns a sentence for each that others could read.
    """
    state_files = [path.with_name(path.name + ending) for ending in ("", "-wal", "-shm")]
    paths = [path.parent, *state_files] if path.parent.name == _FOLDER else state_files
    modes = ((private, files.make_private(private)) for private in paths)
    return tuple(
        f"`{opened}` was open to other users of this machine ({mode:04o}); now it is not"
        for opened, mode in modes
        if mode is not None
    )


def _make_folder(path: Path) -> None:
    folder = path.parent
    if folder.exists():
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.name == _FOLDER:
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        text = f"cannot make the folder `{folder}` for the local state: {error.strerror}"
        raise LocalStateError(text) from error


def _prepare(connection: sqlite3.Connection, path: str, patience: float) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    version = _check_format(connection, path)
    connection.execute(f"PRAGMA page_size = {_PAGE}")  # of a new file
    if path != MEMORY:
        _use_wal(connection, patience)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
    if version < VERSION:
        create(connection)
        _check_format(connection, path)


def _check_format(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of the file's tables; 0 if it is new.

    All three numbers come from one statement, as another process may be creating the tables.
    """
    version, application, count = connection.execute(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if application != APPLICATION:
        if version or application or count:
            raise LocalStateError(f"`{path}` is a database of another program: name another file.")
        return 0
    if version > VERSION:
        raise LocalStateError(
            f"`{path}` was written by a newer mlctl (state version {version}, this one knows "
            f"{VERSION}): upgrade mlctl, or name another file."
        )
    if version < OLDEST:
        raise LocalStateError(
            f"`{path}` was written by an older mlctl (state version {version}, this one knows "
            f"{VERSION}): {START_AGAIN}."
        )
    return int(version)


def _use_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Switch to write-ahead logging, waiting for other processes that do so.

    SQLite's own busy wait does not apply here.
    """
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


OLDEST, VERSION = 6, 11  # the oldest version that can be read, and the one that is written
APPLICATION = 0x6D6C6374  # "mlct": SQLite's `application_id` of our files


def create(connection: sqlite3.Connection) -> None:
    """Create the tables, or bring old ones up to date, unless another process has meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    text = Path(__file__).with_name("tables.sql").read_text(encoding="utf-8")
    _, *parts = re.split(r"^-- version (\d+).*\n", text, flags=re.MULTILINE)
    for made, script in zip(parts[::2], parts[1::2], strict=True):
        for statement in _statements(script) if version < int(made) else ():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements, because `executescript` would end the transaction."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
