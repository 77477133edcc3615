"""What is done about a run that was cancelled, until the job is done.

"Resubmitting is required in this case" (Microsoft, low priority VMs for batch deployments): a job
that lost its last node begins anew. Who counts the cost of one run does not see that.

`simulate` carries a policy out on histories, `finish` in a workspace: both ask the same two
questions, on which tier the next run goes (`tier`) and until when it may go on (`limit`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from mlctl.dataclasses import dataclass
from mlctl.forecast.history import LONGEST_S, MOST_TRIES, Cloud, Try, has_no_memory
from mlctl.forecast.weather.models import is_out
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import Tier

_ROUNDING_S = 1e-6
# A job of which so many runs were cancelled, the best after less than this share of the work, what
# was begun included, is given up: where losses have no memory, the next run completes with a chance
# below 30 ** -4.
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
    Way.UNIFORM_PROGRESS: "low priority while it works or the files done keep up with a line from"
    " nothing now to all at the deadline; a dedicated twin of the cluster where they fall behind,"
    " until they are ahead again; somebody has to watch: Azure does not do this by itself",
    Way.RESERVE: "low priority while it works or more time is to spare by the deadline than a tenth"
    " of what the rest takes; a dedicated twin of the cluster below that, until there is more;"
    " somebody has to watch: Azure does not do this by itself",
}
# What changes to a dedicated twin in time for a deadline, and what begins with the files that are
# not done.
WATCHFUL = (Way.DEADLINE, Way.UNIFORM_PROGRESS, Way.RESERVE)
# Of the time that the work takes: what it keeps to look for nodes with, once it has waited.
KEPT = 0.1
_KEEPING = (Way.REMAINING, *WATCHFUL)


@dataclass(frozen=True, slots=True)
class Switch:
    """When to change to dedicated nodes, by the slowest dedicated run that is known; in seconds.

    That run has its first node ready after `start_s` and does `files` in `work_s` more; fewer files
    may take a mini-batch longer than their share, `round_s`. `reserve` is the share of what the
    rest takes that is kept to spare; None: all time to spare, used up evenly.
    """

    deadline_s: float
    start_s: float
    work_s: float
    files: int
    round_s: float
    reserve: float | None = None

    @property
    def pace_s(self) -> float:
        """How long all files take at the pace of the line."""
        if self.reserve is None:
            return self.deadline_s
        return min(self.work_s * (1 + self.reserve), self.deadline_s)

    def at(self, files: int) -> float:
        """The latest moment, from the first submission on, for so many files; 0 or more."""
        rest_s = self.work_s
        if files < self.files:
            rest_s = min(rest_s, rest_s * files / self.files + self.round_s)
        return max(self.deadline_s - self.start_s - rest_s, 0.0)

    def line(self, files: int) -> float:
        """When so many files may be left at most, if they are done at its pace by the deadline."""
        return self.deadline_s - self.pace_s * files / self.files

    def behind_s(self, elapsed: float, files: int) -> float:
        """How much later than it should the line is met for a change back to low priority; seconds.

        The hysteresis of "Can't Be Late" (Wu et al., NSDI 2024): a change each way, 2 starts. Here
        the change back is how to see whether there are nodes, and a look takes a mini-batch more.
        """
        return elapsed + 2 * self.start_s + self.round_s - self.line(files)

    def ahead(self, elapsed: float, files: int) -> float:
        """When the files done are ahead again of the line, if dedicated nodes start now.

        By then a mini-batch may be half done, which nobody sees.
        """
        pace = self.pace_s / max(self.work_s, 1.0)  # seconds of the line in each second of work
        gain = max(pace - 1, 0.01)
        lag_s = self.behind_s(elapsed, files) + self.start_s + pace * self.round_s
        return elapsed + self.start_s + lag_s / gain


# Until when a run may go on that has done so many mini-batches, in seconds since the first began.
Limit = Callable[[int], float]


class Past(NamedTuple):
    """What came of a job before a history begins: seconds, lost runs, and the tier of the last."""

    elapsed_s: float = 0.0
    losses: int = 0
    tier: Tier | None = None


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """A way, its number of tries (`fallback`), and when to change to dedicated (`deadline`).

    Of a job that goes on, `past` is what came before; a history is of the rest. With `shards`,
    the files are that many jobs, one after the other; a lost run loses its shard. A job that
    `resumes` goes on from its checkpoint whatever the way; its steps are the files.
    """

    way: Way = Way.RESUBMIT
    tries: int = 1
    switch: Switch | None = None
    shards: int | None = None
    resumes: bool = False
    past: Past = Past()

    def __str__(self) -> str:
        return f"{self.way.value}:{self.tries}" if self.way is Way.FALLBACK else self.way.value

    def tier(self, elapsed: float, losses: int, files: int, last: Tier | None) -> Tier:
        """The tier of the next run, after so many that were lost, for the files that are left.

        `last` is the tier of the run before it. Times are seconds since the first run began.
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
        """Until when a run on this tier that begins now may go on; None: until it ends.

        A shard counts when it is done, and not before.
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
            first = elapsed + switch.start_s + switch.round_s  # when nodes at once had done one
            return min(max(switch.line(files), first), latest)

        if tier is not Tier.DEDICATED:
            return low
        if not has_line or self.shards or elapsed >= switch.at(files) - _ROUNDING_S:
            return None
        ahead = switch.ahead(elapsed, files)
        return lambda _: ahead


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


def sizes(files: int, shards: int, mini_batch_size: int) -> list[int]:
    """The files of each shard, in whole mini-batches, as even as they go; the larger ones first."""
    batches = -(-files // mini_batch_size)
    count = min(shards, batches)
    share, remainder = divmod(batches, count)
    parts = [(share + (number < remainder)) * mini_batch_size for number in range(count)]
    parts[-1] -= batches * mini_batch_size - files  # the last mini-batch may be smaller
    return parts


def carry_out(policy: RecoveryPolicy, cloud: Cloud, files: int, mini_batch_size: int) -> History:
    """One history of the job under a policy."""
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


def _run(cloud: Cloud, files: int, tier: Tier, began: float, limit: Limit | None) -> Try:
    """The next run, until its limit or the longest time of a history."""
    longest_s = began + LONGEST_S
    if limit is None:
        return cloud.run(files, tier, longest_s)

    def until(batches: int) -> float:
        return began + limit(batches)

    return cloud.run(files, tier, min(until(0), longest_s), until)
