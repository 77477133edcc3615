"""The protocol of a backend that keeps journals: what a long job is to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from mlctl.pointer import Data


class Journals(Protocol):
    """Records of a workspace under names; all may raise the store's ServiceErrors."""

    def append(self, name: str, record: Mapping[str, Data]) -> None:
        """Add a record to a journal, which its first record makes.

        Raises:
            LeaseLost: the lease under which it is written is lost.
        """

    def read(self, name: str) -> list[Mapping[str, Data]]:
        """The records of a journal, in their order; none where there is no such journal."""

    def names(self) -> list[str]:
        """The names of the journals, the oldest first."""


@runtime_checkable
class SupportsJournals(Protocol):
    """Keeps journals in its workspace."""

    @property
    def journals(self) -> Journals:
        """Those of the workspace."""
