"""Recovery policies: what to do about cancelled runs until the job is done.

"Resubmitting is required in this case" (Microsoft, low priority VMs for batch deployments): a job
that lost its last node starts again. The cost of a single run does not show that.

`simulate` applies a policy to histories, `finish` in a workspace: both ask the same two questions,
on which tier the next run goes (`tier`) and how long it may take (`limit`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from mlctl.dataclasses import dataclass
from mlctl.forecast.history import LONGEST_S, MOST_TRIES, HistoryCloud, Try, has_no_memory
from mlctl.forecast.weather.models import is_out
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import Tier

_ROUNDING_S = 1e-6
# A job is given up after so many cancelled runs of which the best did less than this share of the
# work, including started work: if losses have no memory, the next run completes with a chance below
# 30 ** -4.
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
    UNIFORM_PROGRESS = "uniform-progress"
    RESERVE = "reserve"


# The ways that change to a dedicated twin in time for a deadline, and those that begin with the
# files that are not done.
WATCHFUL = (Way.DEADLINE, Way.UNIFORM_PROGRESS, Way.RESERVE)
# Share of the work's time that is reserved for looking for nodes, after waiting.
KEPT = 0.1
_KEEPING = (Way.REMAINING, *WATCHFUL)


@dataclass(frozen=True, slots=True)
class Switch:
    """When to change to dedicated nodes, by the slowest known dedicated run; in seconds.

    That run has its first node ready after `start_s` and does `files` in `work_s` more; for fewer
    files a mini-batch may take longer than its share by `round_s`. `reserve` is the share of the
    remaining time that is kept spare; None: all spare time, used up evenly.
    """

    deadline_s: float
    start_s: float
    work_s: float
    files: int
    round_s: float
    reserve: float | None = None

    @property
    def pace_s(self) -> float:
        """Return how long all files take at the pace of the line."""
        if self.reserve is None:
            return self.deadline_s
        return min(self.work_s * (1 + self.reserve), self.deadline_s)

    def at(self, files: int) -> float:
        """Return the latest moment, after the first submission, for so many files; at least 0."""
        rest_s = self.work_s
        if files < self.files:
            rest_s = min(rest_s, rest_s * files / self.files + self.round_s)
        return max(self.deadline_s - self.start_s - rest_s, 0.0)

    def line(self, files: int) -> float:
        """Return when at most so many files may be left, at the pace that meets the deadline."""
        return self.deadline_s - self.pace_s * files / self.files

    def behind_s(self, elapsed: float, files: int) -> float:
        """Return how far ahead of the line, in seconds, a change back to low priority must be.

        The hysteresis of "Can't Be Late" (Wu et al., NSDI 2024): a change each way, 2 starts. Here
        changing back is how to find out whether there are nodes, and that takes another mini-batch.
        """
        return elapsed + 2 * self.start_s + self.round_s - self.line(files)

    def ahead(self, elapsed: float, files: int) -> float:
        """Return when the work is ahead of the line again, if dedicated nodes start now.

        By then a mini-batch may be half done, which is not visible.
        """
        pace = self.pace_s / max(self.work_s, 1.0)  # seconds of the line in each second of work
        gain = max(pace - 1, 0.01)
        lag_s = self.behind_s(elapsed, files) + self.start_s + pace * self.round_s
        return elapsed + self.start_s + lag_s / gain


# How long a run may continue that has done so many mini-batches, in seconds since the first began.
Limit = Callable[[int], float]


class Past(NamedTuple):
    """What happened before a history begins: seconds, lost runs, and the last run's tier."""

    elapsed_s: float = 0.0
    losses: int = 0
    tier: Tier | None = None


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """A way, its number of tries (`fallback`), and when to change to dedicated (`deadline`).

    `past` is what came before the history, which covers the rest. With `shards`, the files are that
    many jobs in turn; a lost run loses its shard. A job that `resumes` continues from its
    checkpoint whatever the way; its steps are the files.
    """

    way: Way = Way.RESUBMIT
    tries: int = 1
    switch: Switch | None = None
    shards: int | None = None
    resumes: bool = False
    past: Past = Past()

    @property
    def meaning(self) -> str:
        """What is done, in words."""
        table = Path(__file__).with_name("policies.toml").read_text(encoding="utf-8")
        return str(tomllib.loads(table)[self.way.value])

    def __str__(self) -> str:
        return f"{self.way.value}:{self.tries}" if self.way is Way.FALLBACK else self.way.value

    def tier(self, elapsed: float, losses: int, files: int, last: Tier | None) -> Tier:
        """Choose the tier of the next run, after so many losses, for the remaining files.

        `last` is the tier of the previous run. Times are seconds since the first run began.
        """
        switch, dedicated = self.switch, self.way is Way.DEDICATED
        if self.way is Way.FALLBACK:
            dedicated = losses >= self.tries
        elif switch is not None and self.way in WATCHFUL:
            dedicated = elapsed >= switch.at(files) - _ROUNDING_S
            if self.way is not Way.DEADLINE and not dedicated:
                if last is Tier.DEDICATED:
                    dedicated = switch.behind_s(elapsed, files) > _ROUNDING_S
                else:
                    dedicated = losses > 0 and elapsed >= switch.line(files) - _ROUNDING_S
        return Tier.DEDICATED if dedicated else Tier.LOW_PRIORITY

    def limit(self, tier: Tier, elapsed: float, files: int, mini_batch_size: int) -> Limit | None:
        """Return how long a run that begins now on this tier may take; None: until it ends.

        A shard counts only when it is done.
        """
        switch = self.switch
        if switch is None or self.way not in WATCHFUL:
            return None
        has_line = self.way is not Way.DEADLINE
        size = 0 if self.shards else mini_batch_size

        def low(batches: int) -> float:
            latest = switch.at(max(files - batches * size, 1))
            if batches or not has_line:
                return latest
            first = elapsed + switch.start_s + switch.round_s  # when concurrent nodes have done one
            return min(max(switch.line(files), first), latest)

        if tier is not Tier.DEDICATED:
            return low
        if not has_line or self.shards or elapsed >= switch.at(files) - _ROUNDING_S:
            return None
        ahead = switch.ahead(elapsed, files)
        return lambda _: ahead


def parse(text: str) -> RecoveryPolicy:
    """Parse a policy from `--policy`: `resubmit`, `fallback:3`.

    Raises:
        ValueError: it is not a policy; the message lists them.
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
    raise ValueError(f"`{text}` is not a policy; use {choices}")


class History(NamedTuple):
    """The result of one history: of the first run, then of all runs until the job was done.

    `status` to `given_up` describe the first run, `node_s` its billed time, including idle time; it
    was given up if the policy or the longest time of a history ended it. `done` says whether a run
    completed, `done_s` when the last one ended (seconds from the first submission); `low_s` and
    `dedicated_s` are all node-seconds by tier, `staying_s` those that permanent nodes were billed
    after the end. `hopeless`: it was given up because no run came close. `waited`: no node was
    available at submission.
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


def sizes(files: int, shards: int, mini_batch_size: int) -> list[int]:
    """Split files into shards of whole mini-batches, as evenly as possible, larger ones first."""
    batches = -(-files // mini_batch_size)
    count = min(shards, batches)
    share, remainder = divmod(batches, count)
    parts = [(share + (number < remainder)) * mini_batch_size for number in range(count)]
    parts[-1] -= batches * mini_batch_size - files  # the last mini-batch may be smaller
    return parts


def carry_out(
    policy: RecoveryPolicy, cloud: HistoryCloud, files: int, mini_batch_size: int
) -> History:
    """Run one history of the job under a policy."""
    past = policy.past
    began, total, tries, losses, most = cloud.now, files, 0, past.losses, 0
    origin = began - past.elapsed_s
    keeps = policy.resumes or policy.way in _KEEPING
    waited, hopeless = is_out(cloud.scenario.processes), False
    at_once = cloud.scenario.job.instance_count * cloud.scenario.job.concurrency
    shards = [files]
    if policy.shards:
        shards = sizes(files, policy.shards, mini_batch_size)
    first: Try | None = None
    tier = past.tier
    while True:
        elapsed = cloud.now - origin
        tier = policy.tier(elapsed, losses, files, tier)
        limit = None
        if policy.switch is not None:
            limit = policy.limit(tier, elapsed, files, mini_batch_size)
        last = _run(cloud, shards[0] if policy.shards else files, tier, origin, limit)
        first, tries = first or last, tries + 1
        if last.status is _COMPLETED:
            if len(shards) == 1:
                break
            files -= shards.pop(0)
            losses = 0
        elif last.status is not _CANCELED or policy.way is Way.ONCE:
            break
        else:
            losses += 1
            if keeps and not policy.shards:
                files = max(files - last.done * mini_batch_size, 1)
            most = max(most, (last.done + at_once) * mini_batch_size)
            if (
                not keeps
                and losses >= HOPELESS_RUNS
                and most < HOPELESS_SHARE * total / (policy.shards or 1)
            ):
                hopeless = has_no_memory(cloud.scenario)
        if hopeless or tries >= MOST_TRIES or last.ended - began >= LONGEST_S:
            break
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


def _run(cloud: HistoryCloud, files: int, tier: Tier, began: float, limit: Limit | None) -> Try:
    """Do the next run, until its limit or the longest time of a history."""
    longest_s = began + LONGEST_S
    if limit is None:
        return cloud.run(files, tier, longest_s)

    def until(batches: int) -> float:
        return began + limit(batches)

    return cloud.run(files, tier, min(until(0), longest_s), until)
