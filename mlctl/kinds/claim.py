"""What resources take of quotas, when a service refuses that, and the nodes they scale between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from mlctl.pointer import Data

Quota: TypeAlias = tuple[str, str]
"""A quota: the region (`limits.EVERYWHERE`: all of them), and its name there."""


class QuotaRefusal(Enum):
    """What of a cluster must fit the quotas of cores for a service to take it.

    `MIN`: `max(min_instances, 1)` nodes, into the limit. Azure was recorded to take 8 nodes where
    20 of 20 cores were in use, and refuses with `ClusterMinNodesExceedCoreQuota`. `MAX`:
    `max_instances` nodes, into what others leave, as the documentation can be read.
    """

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a resource takes of one quota.

    `most` counts as in use, whether it is used or not: "unprovisioned nodes contribute to your
    quota usage". Of a cluster's cores, `least` must fit the limit by itself and `node` is what one
    node has; of what is only counted (a number of resources), `least` is None.
    """

    most: int = 1
    least: int | None = None
    node: int = 1

    def is_counted(self, refuses: QuotaRefusal) -> bool:
        """Whether all claims together must fit the limit, not each by itself."""
        return self.least is None or refuses is QuotaRefusal.MAX

    def exceeds(self, previous: Claim, limit: int) -> bool:
        """Whether `least` does not fit the limit; what asks for no more than it held passes."""
        least = self.least or 0
        return least > limit and least > (previous.least or 0)


NOTHING = Claim(0, 0)
Claims: TypeAlias = Mapping[Quota, Claim]


@dataclass(frozen=True, slots=True)
class NodeRange:
    """The nodes of a resource: their VM size, their tier, how many there are at least and at most.

    A node is billed while it is there.
    """

    size: str
    low_priority: bool
    least: int
    most: int


def is_low_priority(tier: Data) -> bool:
    """Whether a tier is low priority, as files or ARM spell it: `low_priority`, `LowPriority`."""
    return str(tier).replace("_", "").casefold() == "lowpriority"
