"""How many nodes a resource scales between."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeRange:
    """The nodes of a resource: their VM size, their tier, how many there are at least and at most.

    A node is billed while it is there.
    """

    size: str
    low_priority: bool
    least: int
    most: int
