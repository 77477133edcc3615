"""Settings of the control plane: durations of operations, and how strict it is.

Azure publishes none of these figures: each is an assumption, shown by `mlctl local status`.
"""

from __future__ import annotations

import json
from enum import Enum
from functools import lru_cache
from typing import Any

from mlctl.dataclasses import asdict, dataclass, fields
from mlctl.kinds.facts import QuotaRefusal


class ImmutablePolicy(Enum):
    """The response to a PUT that changes a create-only field.

    `IGNORE` was reported of Azure (Azure/azure-rest-api-specs#18889).
    """

    REFUSE = "refuse"
    IGNORE = "ignore"


class InUsePolicy(Enum):
    """The response to deleting a resource that a deployment references."""

    REFUSE = "refuse"
    ALLOW = "allow"


class BusyPolicy(Enum):
    """Under which endpoints a write is refused while another operation runs.

    Documented of online endpoints (how-to-troubleshoot-online-endpoints, "409 Conflict error").
    """

    ONLINE = "online"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Delays:
    """The duration of each long-running operation, in seconds of virtual time (assumptions)."""

    compute_create: float = 60.0
    compute_update: float = 10.0
    compute_delete: float = 60.0
    endpoint_create: float = 20.0
    endpoint_update: float = 10.0
    endpoint_delete: float = 20.0
    deployment_create: float = 90.0
    deployment_update: float = 30.0
    deployment_delete: float = 30.0
    schedule_create: float = 5.0
    schedule_update: float = 5.0
    schedule_delete: float = 5.0
    pool_create: float = 180.0
    pool_update: float = 180.0
    pool_delete: float = 60.0

    def of(self, name: str, verb: str) -> float:
        """Return the delay of `verb` (`create`, `update`, `delete`) for `Kind.delay`, or 0."""
        return _by_name(self).get(f"{name}_{verb}", 0.0)


@lru_cache(maxsize=8)
def _by_name(delays: Delays) -> dict[str, float]:
    return asdict(delays)


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """All settings of the control plane; stored in the database.

    `gpu_family_cores` is the default quota of dedicated cores of each VM family with GPUs.
    """

    delays: Delays = Delays()
    immutable: ImmutablePolicy = ImmutablePolicy.REFUSE
    in_use: InUsePolicy = InUsePolicy.ALLOW  # as a replacement must delete what is in use
    quota_refuses: QuotaRefusal = QuotaRefusal.MIN
    busy_endpoints: BusyPolicy = BusyPolicy.ONLINE
    gpu_family_cores: int = 100
    reuse_steps: bool = True


def dump(settings: CloudSettings) -> str:
    """Return the settings as JSON text that `load` reads."""
    return json.dumps(asdict(settings), default=lambda policy: policy.value)


@lru_cache(maxsize=8)
def load(text: str) -> CloudSettings:
    """Load the settings that `dump` wrote; missing ones have their defaults."""
    data = json.loads(text)
    slots = [slot for slot in fields(CloudSettings) if slot.name in data]
    return CloudSettings(**{slot.name: _read(slot.default, data[slot.name]) for slot in slots})


def _read(usual: object, value: Any) -> Any:
    match usual:
        case Enum():
            return type(usual)(value)
        case Delays():
            names = {slot.name for slot in fields(Delays)}
            return Delays(**{name: seconds for name, seconds in value.items() if name in names})
        case _:
            return value
