"""What can be set about a simulated cloud: how long things take and how strict it is.

No figure here is published by the service: each is an assumption, shown by `mlctl local status`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from enum import Enum
from functools import lru_cache


class ImmutablePolicy(Enum):
    """What a PUT with a changed create-only field gets.

    `IGNORE` was reported of the real service (Azure/azure-rest-api-specs#18889).
    """

    REFUSE = "refuse"
    IGNORE = "ignore"


class InUsePolicy(Enum):
    """What the delete of something that a deployment still names gets."""

    REFUSE = "refuse"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds of virtual time that each long-running operation takes (assumptions)."""

    compute_create: float = 60.0
    compute_update: float = 10.0
    compute_delete: float = 60.0
    endpoint_create: float = 20.0
    endpoint_update: float = 10.0
    endpoint_delete: float = 20.0
    deployment_create: float = 90.0
    deployment_update: float = 30.0
    deployment_delete: float = 30.0
    pool_create: float = 180.0
    pool_update: float = 180.0
    pool_delete: float = 60.0

    def of(self, name: str, verb: str) -> float:
        """The delay of `verb` (`create`, `update`, `delete`) of a kind (`Kind.delay`), or 0."""
        return _by_name(self).get(f"{name}_{verb}", 0.0)


@lru_cache(maxsize=8)
def _by_name(delays: Delays) -> dict[str, float]:
    return asdict(delays)


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """All that can be set; stored with the state."""

    delays: Delays = Delays()
    immutable: ImmutablePolicy = ImmutablePolicy.REFUSE
    in_use: InUsePolicy = (
        InUsePolicy.ALLOW
    )  # a replacement deletes what is in use; the plan guards the rest


def dump(settings: CloudSettings) -> str:
    """The settings as JSON text that `load` reads."""
    words = {"immutable": settings.immutable.value, "in_use": settings.in_use.value}
    return json.dumps({"delays": asdict(settings.delays), **words})


@lru_cache(maxsize=8)
def load(text: str) -> CloudSettings:
    """The settings that `dump` wrote; what is not there has its default."""
    given = json.loads(text)
    usual = CloudSettings()
    known = {slot.name for slot in fields(Delays)}
    delays = {name: seconds for name, seconds in given.get("delays", {}).items() if name in known}
    return CloudSettings(
        Delays(**delays),
        ImmutablePolicy(given.get("immutable", usual.immutable)),
        InUsePolicy(given.get("in_use", usual.in_use)),
    )
