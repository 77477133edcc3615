"""The protocol of a backend that keeps files for jobs: folders in its workspace's own storage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable


class Folders(Protocol):
    """Folders that jobs can name as inputs; all may raise the storage's ServiceErrors."""

    def locate(self, text: str) -> str:
        """The URI of the folder that an input names: a data asset's, or the text itself.

        Raises:
            NotFound: there is no such asset.
        """

    def files(self, uri: str) -> Mapping[str, int]:
        """The paths of the files beneath a folder, sorted, with their sizes in bytes.

        Raises:
            NotFound: there is no such datastore.
            Permanent: it is in none of the workspace's datastores of blobs.
        """

    def write(self, folder: str, files: Mapping[str, Path]) -> None:
        """Write local files into a folder, under these paths; over what is there."""

    def remove(self, folder: str) -> None:
        """Remove a folder with all that is in it; it need not be there."""


@runtime_checkable
class SupportsFolders(Protocol):
    """Keeps files for jobs."""

    @property
    def folders(self) -> Folders:
        """Those of the workspace."""
