"""What apply tells of each step, what can go wrong with one, and how often it is tried."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mlctl.backends.ports.backend import BackendError, Permanent, Transient
from mlctl.kinds.address import Address
from mlctl.planning.model import FieldChange
from mlctl.planning.steps import Step


class State(Enum):
    """What became of a step; all but the first two are final."""

    STARTED = "started"
    RETRYING = "retrying"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class Stale(Permanent):
    """The target is no longer what the plan was computed against."""


class NotEffective(Permanent):
    """The backend reported success, and the resource is not as promised."""

    def __init__(self, target: Address, wrong: list[FieldChange]) -> None:
        super().__init__(
            "NotEffective", f"{target} was written, but reading it back shows another value"
        )
        self.wrong = wrong


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a step. `because` is the step whose failure it follows from.

    A step that is not `waited` for is done once the backend has accepted it.
    """

    step: Step
    state: State
    error: BackendError | None = None
    because: Step | None = None
    delay: float | None = None
    wrote: bool = False
    waited: bool = True


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a transient refusal is asked again, and how long to wait, in seconds.

    The service's word counts, else the wait doubles. What somebody else began on a resource is
    looked at every `poll` seconds, for `patience` seconds.
    """

    attempts: int = 6
    base: float = 1.0
    longest: float = 60.0
    poll: float = 5.0
    patience: float = 3600.0

    def delay(self, attempt: int, error: Transient) -> float | None:
        """Seconds to wait after the failed `attempt` (from 1); None to give up."""
        if attempt >= self.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after
        return min(self.longest, self.base * 2.0 ** (attempt - 1))
