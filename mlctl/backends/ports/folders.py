"""The protocol of a backend that stores files for jobs: folders in its workspace's storage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable


class Folders(Protocol):
    """Folders that jobs can name as inputs; all may raise the storage's ServiceErrors."""

    def locate(self, text: str) -> str:
        """Return the URI of an input's folder: a data asset's, or the text itself.

        Raises:
            NotFound: the asset does not exist.
        """

    def files(self, uri: str) -> Mapping[str, int]:
        """Return the paths of the files beneath a folder, sorted, with their sizes in bytes.

        Raises:
            NotFound: the datastore does not exist.
            Permanent: it is not in any of the workspace's blob datastores.
        """

    def write(self, folder: str, files: Mapping[str, Path]) -> None:
        """Write local files into a folder under these paths, overwriting."""

    def remove(self, folder: str) -> None:
        """Remove a folder with everything in it, if it exists."""


@runtime_checkable
class SupportsFolders(Protocol):
    """Stores files for jobs."""

    @property
    def folders(self) -> Folders:
        """The folders of the workspace."""
