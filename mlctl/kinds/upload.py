"""Local content that a resource names: what it becomes, and where the body names it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Sort(Enum):
    """What local content becomes, and with that, which hash names it."""

    CODE = "code"
    ASSET = "asset"
    COMPONENT = "component"


@dataclass(frozen=True, slots=True)
class Upload:
    """Local content that a resource's body names, and that must be in the workspace before.

    `wire` points at the name in the body. `path` is absolute; `digest` is its content's hash when
    it was looked at.
    """

    sort: Sort
    path: str
    digest: str
    wire: tuple[str | int, ...]

    @property
    def folder(self) -> str:
        """The folder in a datastore that the SDK would upload it to."""
        return f"LocalUpload/{self.digest}"
