"""What is done about a run that was cancelled, until the job is done.

"Resubmitting is required in this case" (Microsoft, low priority VMs for batch deployments): a job
that lost its last node begins anew. Who counts the cost of one run does not see that.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from mlctl.dataclasses import dataclass
from mlctl.forecast.history import LONGEST_S, MOST_TRIES, Cloud, Try, has_no_memory
from mlctl.forecast.weather.models import is_out
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import Tier

_ROUNDING_S = 1e-6
# A job of which so many runs were cancelled, the best after less than this share of the work, is
# given up: where losses have no memory, the next run completes with a chance below 30 ** -4.
HOPELESS_RUNS, HOPELESS_SHARE = 30, 0.25
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
    Way.DEADLINE: "low priority, of the files that are not done, until their rest just fits on a"
    " dedicated twin of the cluster by the deadline, then that; somebody has to watch: Azure does"
    " not do this by itself",
    Way.REMAINING: "a cancelled run is followed by one of the files that are not done; Azure does"
    " not do this by itself",
}


@dataclass(frozen=True, slots=True)
class Switch:
    """When to change to dedicated nodes, by the slowest dedicated run that is known; in seconds.

    That run has its first node ready after `start_s` and does `files` in `work_s` more; fewer files
    may take a mini-batch longer than their share, `round_s`.
    """

    deadline_s: float
    start_s: float
    work_s: float
    files: int
    round_s: float

    def at(self, files: int) -> float:
        """The latest moment, from the first submission on, for so many files; 0 or more."""
        rest_s = self.work_s
        if files < self.files:
            rest_s = min(rest_s, rest_s * files / self.files + self.round_s)
        return max(self.deadline_s - self.start_s - rest_s, 0.0)


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """A way, its number of tries (`fallback`), and when to change to dedicated (`deadline`)."""

    way: Way = Way.RESUBMIT
    tries: int = 1
    switch: Switch | None = None

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
    that nodes which stay were billed after that end. `hopeless`: it was given up, for no run came
    near its end. `waited`: there was no node to be had when it was submitted.
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
    hopeless: bool = False
    waited: bool = False


def carry_out(policy: RecoveryPolicy, cloud: Cloud, files: int, mini_batch_size: int) -> History:
    """One history of the job under a policy."""
    began, tries, total = cloud.now, 1, files
    keeps, most = policy.way in (Way.REMAINING, Way.DEADLINE), 0
    waited, hopeless = is_out(cloud.scenario.processes), False
    first = last = _run(policy, cloud, files, began, 0, mini_batch_size)
    while last.status is _CANCELED and policy.way is not Way.ONCE and tries < MOST_TRIES:
        if last.ended - began >= LONGEST_S:
            break
        if keeps:
            files = max(files - last.done * mini_batch_size, 1)
        most = max(most, last.done * mini_batch_size)
        if not keeps and tries >= HOPELESS_RUNS and most < HOPELESS_SHARE * total:
            hopeless = has_no_memory(cloud.scenario)
            if hopeless:
                break
        last = _run(policy, cloud, files, began, tries, mini_batch_size)
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
        hopeless,
        waited,
    )


def _run(
    policy: RecoveryPolicy, cloud: Cloud, files: int, began: float, tries: int, size: int
) -> Try:
    """The next run, after so many, of mini-batches of `size` files."""
    elapsed, switch = cloud.now - began, policy.switch
    tier, longest_s = _tier(policy, elapsed, tries, files), began + LONGEST_S
    if switch is None or tier is Tier.DEDICATED:
        return cloud.run(files, tier, longest_s)

    def until(done: int) -> float:
        return began + switch.at(max(files - done * size, 1))

    return cloud.run(files, tier, min(until(0), longest_s), until)


def _tier(policy: RecoveryPolicy, elapsed: float, tries: int, files: int) -> Tier:
    match policy.way:
        case Way.DEDICATED:
            return Tier.DEDICATED
        case Way.FALLBACK if tries >= policy.tries:
            return Tier.DEDICATED
        case Way.DEADLINE if (
            policy.switch is not None and elapsed >= policy.switch.at(files) - _ROUNDING_S
        ):
            return Tier.DEDICATED
        case _:
            return Tier.LOW_PRIORITY
