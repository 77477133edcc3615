"""The events of an apply, its own errors, and its retries."""

from __future__ import annotations

from enum import Enum

from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.planning.model import FieldChange
from mlctl.planning.steps.work import PlanStep
from mlctl.service_errors import Permanent, ServiceError, Transient


class StepState(Enum):
    """The state of a step; all but the first two are final."""

    STARTED = "started"
    RETRYING = "retrying"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class Stale(Permanent):
    """The target has changed since the plan was made."""


class NotEffective(Permanent):
    """The backend reported success, but the resource does not have the planned values."""

    def __init__(self, target: Address, mismatches: list[FieldChange]) -> None:
        super().__init__("NotEffective", f"{target} was written, but reads back with another value")
        self.mismatches = mismatches


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A change of a step's state.

    `because` is the failed step for which this one was skipped, or the one that ran out of attempts
    before this one was started; `delay` is in seconds. `wrote` says whether the backend was written
    to; for a creation, whether this apply created the resource. A step that is not `waited` for is
    done once the backend has accepted it. One that is not `verified` could not be read back
    (`error`), whether it is done or has failed after it was accepted.
    """

    step: PlanStep
    state: StepState
    error: ServiceError | None = None
    because: PlanStep | None = None
    delay: float | None = None
    wrote: bool = False
    waited: bool = True
    verified: bool = True


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """How requests are retried after transient errors; durations are in seconds.

    The delay is the service's `Retry-After`, else it doubles from `base` up to `longest`. While
    somebody else's operation is running on the target, the target is read every `poll` seconds, for
    `operation_timeout` seconds at most. A read that still shows the state before a write is retried
    for `stale` seconds: online deployments were seen to answer so.
    """

    attempts: int = 6
    base: float = 1.0
    longest: float = 60.0
    poll: float = 5.0
    operation_timeout: float = 3600.0
    stale: float = 60.0

    def delay(self, attempt: int, error: Transient) -> float | None:
        """Return the seconds to wait after the failed `attempt` (from 1); None to give up."""
        if attempt >= self.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after
        return min(self.longest, self.base * 2.0 ** (attempt - 1))
