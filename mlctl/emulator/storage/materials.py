"""Write the user's code, models and data from blobs to a folder, to run them."""

from __future__ import annotations

import hashlib
import re
import tempfile
from functools import lru_cache
from pathlib import Path, PurePosixPath

from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import blobs, uploads
from mlctl.simulator.control_plane import local_paths
from mlctl.simulator.control_plane.state.blob_store import ItemKind

_STORED = re.compile(r"azureml://(?:.*/)?datastores/([^/]+)/paths/(.+)")
_ARTIFACT = re.compile(r"jobs/([^/]+)/artifacts(|/.+)")
_BLOB = re.compile(rf"https?://[^/]+/{blobs.ROOT}/([^/?]+)/([^/?]+)/([^?]*)")


def locate(call: Call, uri: str) -> Path | None:
    """Return a folder or file with what a URI names; None if nothing of it exists here.

    Blobs are written out once for each of their contents; else it is where a file said it is.
    """
    run = _ARTIFACT.fullmatch(local_paths.key(uri))
    kept_here = local_paths.find(call.store, uri) if run else None
    if kept_here is not None and kept_here.exists():
        return kept_here
    prefix = f"{uploads.artifacts_folder(call, run[1])}{run[2]}" if run else _prefix(call, uri)
    items = [] if prefix is None else list(call.blob_store.list(ItemKind.BLOB, prefix))
    if prefix is None or not items:
        return local_paths.find(call.store, uri)
    below = [item for item in items if item.name == prefix or item.name[len(prefix)] == "/"]
    marks = "".join(f"{item.name} {item.note['etag']}\n" for item in below)
    name = PurePosixPath(prefix).name
    root = _root() / hashlib.sha256(marks.encode()).hexdigest()[:24] / name
    if not root.exists():
        for item in below:
            inner = PurePosixPath(item.name[len(prefix) :].lstrip("/"))
            if ".." in inner.parts:
                continue
            target = root / inner if item.name != prefix else root
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(call.blob_store.content(ItemKind.BLOB, item.name))
    return root


def _prefix(call: Call, uri: str) -> str | None:
    """Return the prefix of the names of the blobs that a URI names."""
    match = _STORED.fullmatch(uri)
    if match is not None:
        container = uploads.container(call, match[1])
        return f"{container}/{match[2]}".rstrip("/") if container else None
    match = _BLOB.match(uri)
    return "/".join(match.groups()).rstrip("/") if match else None


@lru_cache(maxsize=1)
def _root() -> Path:
    """Return the folder of a running emulator, which is removed with the program."""
    return Path(_kept().name)


@lru_cache(maxsize=1)
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="mlctl-emulator-")
