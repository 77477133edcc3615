"""Journals of long jobs as blobs beside the leases: a record a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from mlctl.backends.azure.leases import TIMES, BlobLeases
from mlctl.backends.ports.journals import Journals
from mlctl.backends.ports.lease import Lease
from mlctl.pointer import Data

FOLDER = ".mlctl/journals/"
_END = ".jsonl"


class BlobJournals(Journals):
    """The journals of one workspace: each method as its port says.

    A blob is written whole, under a lease that is renewed just before: nobody else writes it then.
    """

    def __init__(self, leases: BlobLeases, lease: Lease | None) -> None:
        self._leases = leases
        self._lease = lease
        self._lines: dict[str, bytes] = {}  # what this process knows to be there

    def append(self, name: str, record: Mapping[str, Data]) -> None:
        if name not in self._lines:
            self._lines[name] = self._content(name)
        if self._lease is not None:
            self._leases.check(self._lease)
        content = self._lines[name] + json.dumps(record).encode() + b"\n"

        def write(container: Any) -> None:
            container.upload_blob(f"{FOLDER}{name}{_END}", content, overwrite=True, **TIMES)

        self._leases.ask(write)
        self._lines[name] = content

    def read(self, name: str) -> list[Mapping[str, Data]]:
        return [json.loads(line) for line in self._content(name).splitlines()]

    def names(self) -> list[str]:
        def listed(container: Any) -> list[Any]:
            return list(container.list_blobs(name_starts_with=FOLDER, **TIMES))

        blobs = sorted(self._leases.ask(listed), key=lambda blob: blob.creation_time)
        return [blob.name.removeprefix(FOLDER).removesuffix(_END) for blob in blobs]

    def _content(self, name: str) -> bytes:
        def read(container: Any) -> bytes:
            try:
                blob = container.download_blob(f"{FOLDER}{name}{_END}", **TIMES)
                return bytes(blob.readall())
            except ResourceNotFoundError:
                return b""

        return self._leases.ask(read)
