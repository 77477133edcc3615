"""Where the files of assets are on this machine: recorded with an asset, read to run its code.

The simulated cloud keeps no copy: what is at the path when code is run is what runs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.state.store import MEMORY, Store

_TABLE = "CREATE TABLE IF NOT EXISTS local_paths (uri TEXT PRIMARY KEY, path TEXT NOT NULL)"
_OF_JOB = re.compile(r"^azureml://(?:.*/)?jobs/([^/]+)/outputs/([^/]+)(?:/paths(?:/(.*))?)?$")
_RUNS = "runs:/"
_CLEARED = """CREATE TRIGGER IF NOT EXISTS local_paths_cleared AFTER UPDATE OF seed ON world
  BEGIN DELETE FROM local_paths; END"""


def note(store: Store, uri: str, path: str) -> None:
    """Record where the files of a URI are."""
    with store.write() as db:
        db.execute(_TABLE)
        db.execute(_CLEARED)
        db.execute("INSERT OR REPLACE INTO local_paths VALUES (?, ?)", (key(uri), path))


def find(store: Store, uri: str) -> Path | None:
    """Return where the files of a URI are, or of a folder above it; None if unknown."""
    path = PurePosixPath(key(uri))
    with store.read() as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'local_paths'").fetchone():
            return None
        for folder in (path, *path.parents):
            query = "SELECT path FROM local_paths WHERE uri = ?"
            row = db.execute(query, (str(folder),)).fetchone()
            if row is not None and ".." not in path.parts:
                return Path(row[0], path.relative_to(folder))
    return None


def copy(store: Store, uri: str, folder: Path, label: str) -> None:
    """Copy the file or folder that a URI names to a folder, under its own name.

    Raises:
        Permanent: it is not on this machine; or cannot be copied.
    """
    path = find(store, uri)
    if path is None or not path.exists():
        why = f"they were at `{path}`" if path else f"`{uri}` was not uploaded here"
        raise Permanent("NoFiles", f"the files of {label} are not on this machine: {why}")
    target = folder / PurePosixPath(key(uri)).name
    with _writing(target):
        if path.is_dir():
            shutil.copytree(path, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(path, target)


def write(texts: Iterable[tuple[PurePosixPath, str]], uri: str, folder: Path) -> None:
    """Write files, by their paths below a URI, as `copy` does.

    Raises:
        Permanent: they cannot be written.
    """
    target = folder / PurePosixPath(key(uri)).name
    for path, text in texts:
        with _writing(target / path):
            (target / path).write_text(text, encoding="utf-8")


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except (OSError, shutil.Error) as error:
        why = getattr(error, "strerror", None) or "a file cannot be copied"
        raise Permanent("NotWritten", f"cannot write to `{target}`: {why}") from None


def key(uri: str) -> str:
    """Return a URI without its workspace, which has several spellings: hashes name uploads.

    That of an output of a job (`azureml://jobs/NAME/outputs/model/paths/MLmodel`) as a path.
    """
    if uri.startswith(_RUNS):  # MLflow's spelling of an artifact: `runs:/NAME/model`
        run, _, path = uri.removeprefix(_RUNS).partition("/")
        uri = f"azureml://jobs/{run}/outputs/artifacts/paths/{path}"
    job = _OF_JOB.search(uri)
    path = "/".join(filter(None, ("jobs", *job.groups()))) if job else uri
    return path.rpartition("/datastores/")[2].rstrip("/")


def code_folder(store: Store) -> Path | None:
    """Return the folder for user code's output, beside the state file; None without one."""
    return None if store.path == MEMORY else Path(store.path).absolute().parent / "code"
