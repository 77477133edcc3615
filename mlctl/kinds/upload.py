"""Local files that are uploaded for a resource, and where its body refers to them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class UploadTarget(Enum):
    """What local content is uploaded as; it decides which hash names the upload."""

    CODE = "code"
    ASSET = "asset"


@dataclass(frozen=True, slots=True)
class Upload:
    """Local content that must be in the workspace before a resource's body can refer to it.

    `wire` points at the reference in the body. `path` is absolute; `digest` is the content's hash
    when the plan was made.
    """

    target: UploadTarget
    path: str
    digest: str
    wire: tuple[str | int, ...]

    @property
    def folder(self) -> str:
        """The folder in a datastore that the SDK would upload it to."""
        return f"LocalUpload/{self.digest}"
