"""What is done about a run that was cancelled, until the job is done.

"Resubmitting is required in this case" (Microsoft, low priority VMs for batch deployments): a job
that lost its last node begins anew. Who counts the cost of one run does not see that.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from mlctl.dataclasses import dataclass
from mlctl.forecast.history import LONGEST_S, MOST_TRIES, Cloud, Try
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import Tier

_ROUNDING_S = 1e-6
_CANCELED, _COMPLETED = JobStatus.CANCELED, JobStatus.COMPLETED


class Way(Enum):
    """What is done; the words are those of `--policy`."""

    RESUBMIT = "resubmit"
    ONCE = "once"
    DEDICATED = "dedicated"
    FALLBACK = "fallback"
    DEADLINE = "deadline"
    REMAINING = "remaining"


MEANINGS = {
    Way.RESUBMIT: "a cancelled run is submitted again, from nothing, until one completes",
    Way.ONCE: "one run; a cancelled one is not submitted again",
    Way.DEDICATED: "the job runs on a dedicated twin of the cluster",
    Way.FALLBACK: "after so many cancelled runs the job runs on a dedicated twin of the cluster",
    Way.DEADLINE: "low priority as long as a loss still leaves time for a dedicated run by the"
    " deadline, then dedicated, from nothing",
    Way.REMAINING: "a cancelled run is followed by one of the files that are not done; Azure does"
    " not do this by itself",
}


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """A way, its number of tries (`fallback`), and when to change to dedicated (`deadline`).

    `switch_s` counts from the submission, in seconds.
    """

    way: Way = Way.RESUBMIT
    tries: int = 1
    switch_s: float | None = None

    def __str__(self) -> str:
        return f"{self.way.value}:{self.tries}" if self.way is Way.FALLBACK else self.way.value


def parse(text: str) -> RecoveryPolicy:
    """The policy that `--policy` names: `resubmit`, `fallback:3`.

    Raises:
        ValueError: it is none; says which there are.
    """
    name, colon, tries = text.partition(":")
    for option in Way:
        if option.value != name:
            continue
        if option is Way.FALLBACK and tries.isdecimal() and int(tries) > 0:
            return RecoveryPolicy(option, int(tries))
        if not colon and option is not Way.FALLBACK:
            return RecoveryPolicy(option)
    choices = ", ".join("fallback:K" if option is Way.FALLBACK else option.value for option in Way)
    raise ValueError(f"`{text}` is no policy; there is {choices}")


class History(NamedTuple):
    """What one history came to: of the first run, then of all runs until the job was done.

    `status` to `given_up` are the first run's, `node_s` what it was billed, its idle time too; it
    was given up where the policy or the longest time of a history ended it.
    `done` says whether a run completed, `done_s` when the last one ended (seconds from the first
    submission); `low_s` and `dedicated_s` are all node-seconds by tier, `staying_s` those of them
    that nodes which stay were billed after that end.
    """

    status: JobStatus
    time_s: float
    node_s: float
    preempted: int
    lost_node_s: float
    attempts: int
    failed: int
    given_up: bool
    tries: int
    done: bool
    done_s: float
    low_s: float
    dedicated_s: float
    staying_s: float = 0.0


def carry_out(policy: RecoveryPolicy, cloud: Cloud, files: int, mini_batch_size: int) -> History:
    """One history of the job under a policy."""
    began, tries = cloud.now, 1
    first = last = _run(policy, cloud, files, began, 0)
    while last.status is _CANCELED and policy.way is not Way.ONCE and tries < MOST_TRIES:
        if last.ended - began >= LONGEST_S:
            break
        if policy.way is Way.REMAINING:
            files = max(files - last.done * mini_batch_size, 1)
        last = _run(policy, cloud, files, began, tries)
        tries += 1
    bill = cloud.bill()
    return History(
        first.status,
        first.ended - first.began,
        bill.first,
        first.preempted,
        first.lost_node_s,
        first.attempts,
        first.failed,
        first.given_up,
        tries,
        last.status is _COMPLETED,
        last.ended - began,
        bill.low_priority,
        bill.dedicated,
        bill.staying,
    )


def _run(policy: RecoveryPolicy, cloud: Cloud, files: int, began: float, tries: int) -> Try:
    """The next run, after so many."""
    elapsed, switch = cloud.now - began, policy.switch_s
    longest_s = LONGEST_S if switch is None or elapsed >= switch - _ROUNDING_S else switch
    return cloud.run(files, _tier(policy, elapsed, tries), began + longest_s)


def _tier(policy: RecoveryPolicy, elapsed: float, tries: int) -> Tier:
    match policy.way:
        case Way.DEDICATED:
            return Tier.DEDICATED
        case Way.FALLBACK if tries >= policy.tries:
            return Tier.DEDICATED
        case Way.DEADLINE if (
            policy.switch_s is not None and elapsed >= policy.switch_s - _ROUNDING_S
        ):
            return Tier.DEDICATED
        case _:
            return Tier.LOW_PRIORITY
