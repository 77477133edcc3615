"""A run of a job in the shortcut, and its progress."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from math import inf

from mlctl.forecast.history import Try
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut.nodes import Fleet
from mlctl.simulator.engine import rules
from mlctl.simulator.engine.jobs import JobStatus


class ShortRun:
    """A run of so many files, submitted at `began`; it is given up at `until`."""

    fleet: Fleet

    def __init__(self, scenario: Scenario, files: int, began: float, until: float) -> None:
        job, work = scenario.job, scenario.job.workload
        self.began = began
        self.until = until
        self.slots = job.concurrency
        self.total = -(-files // job.mini_batch_size)
        self.seconds = work.seconds_of(job.mini_batch_size)
        self.last_seconds = work.seconds_of(files - (self.total - 1) * job.mini_batch_size)
        self.instance_count = job.instance_count
        self.max_instances = scenario.cluster.max_instances
        self.wanted = self.useful_nodes(self.total)
        self.cancels = scenario.settings.cancel_when_preempted
        self.done = self.attempts = 0
        self.lost_s = 0.0

    def useful_nodes(self, mini_batches: int) -> int:
        """R2: count the nodes of the cluster that so many mini-batches can use."""
        useful = rules.useful_nodes(mini_batches, self.slots, self.instance_count)
        return min(useful, self.max_instances)

    def known(self, at: float) -> tuple[int, int]:
        """Count the mini-batches that are done at a moment, and those that run then."""
        seconds, slots, ready_since, up = self.seconds, self.slots, self.fleet.since, self.fleet.up
        rounds = int(sum([(at - ready_since[node]) // seconds for node in up]))
        return self.done + rounds * slots, len(up) * slots

    def count(self, at: float) -> None:
        """Count what the running nodes have done, and have begun."""
        completed, running = self.known(at)
        self.attempts += completed - self.done + running
        self.done = completed

    def safe(self, at: float) -> float:
        """Return until when mini-batches are queued, and all nodes wanted, whatever happens.

        Each slot starts at most one mini-batch, and one more every `seconds`. Half of that earlier,
        so that nothing of it hangs on how a quotient is rounded.
        """
        return self.safe_until(at, *self.known(at))

    def safe_until(self, at: float, done: int, running: int) -> float:
        """Return the same, if so many mini-batches are done at that moment, and so many run."""
        slots = self.wanted * self.slots
        rounds = (self.total - done - running - 1) // slots
        needed = (self.total - done - slots + self.slots - 1) // slots
        return at + (min(rounds, needed) - 0.5) * self.seconds

    def undisturbed_end(
        self, at: float, since: Sequence[float], later: Sequence[float] = ()
    ) -> tuple[float, float]:
        """Return the end of an undisturbed run, and the start of its last attempt.

        `since` says since when the nodes are ready that are up. What is queued goes to the slots in
        the order in which they are free, round by round; the nodes that are ready `later`, in this
        order, take part. Infinity where nothing is queued, or no node is up.
        """
        seconds = self.seconds
        rounds = [(at - ready) // seconds + 1 for ready in since]
        queued = self.total - self.done - int(sum(rounds)) * self.slots
        if queued <= 0 or not since:
            return inf, inf
        free = [ready + done * seconds for ready, done in zip(since, rounds, strict=True)]
        free.sort()
        latest = free[-1]
        last_begins = _start(free, queued, self.slots, seconds)
        for ready in later:
            if ready >= last_begins:
                break
            missed = (ready - latest) // seconds + 1  # rounds in which it is not there
            insort(free, ready - missed * seconds)
            queued += int(missed) * self.slots
            last_begins = _start(free, queued, self.slots, seconds)
        end = max(latest, last_begins + self.last_seconds)
        if queued > 1 and self.last_seconds < seconds:
            end = max(end, _start(free, queued - 1, self.slots, seconds) + seconds)
        return end, last_begins

    def lose(self, nodes: Iterable[int]) -> bool:
        """Lose nodes while mini-batches are queued; whether that cancels the run."""
        fleet = self.fleet
        for node in nodes:
            if node in fleet.up:
                completed, lost_s = rules.progress(fleet.now - fleet.since[node], self.seconds)
                self.add_progress(completed, completed + 1, lost_s)
            fleet.lose(node, cancels=self.cancels)
        return self.is_cancelled()

    def add_progress(self, completed: int, attempts: int, lost_s: float) -> None:
        """Count what each slot of a lost node has done; what was in flight is queued again."""
        self.done += completed * self.slots
        self.attempts += attempts * self.slots
        self.lost_s += lost_s

    def count_all(self) -> None:
        """Count the remaining mini-batches as done, each by one attempt."""
        self.attempts += self.total - self.done
        self.done = self.total

    def is_cancelled(self) -> bool:
        """R7: whether the run has lost its last usable node; its nodes are done with then."""
        fleet = self.fleet
        cancelled = rules.lost_last_node(
            len(fleet.up), cancels=self.cancels, was_usable=fleet.lost_usable
        )
        if cancelled:
            fleet.end_job(completed=False)
        return cancelled

    def complete(self, at: float) -> None:
        """End the run with all its mini-batches done."""
        self.fleet.now = at
        self.fleet.end_job(completed=True)

    def give_up(self) -> None:
        """End the run where its policy does."""
        self.fleet.now = self.until
        self.fleet.end_job(completed=False)

    def result(
        self, status: JobStatus, ended: float, preempted: int, *, given_up: bool = False
    ) -> Try:
        """Return the result of the finished run."""
        return Try(
            status, self.began, ended, preempted, self.lost_s, self.attempts, self.done, 0, given_up
        )


def _start(free: list[float], number: int, slots: int, seconds: float) -> float:
    """Return when the attempt of this number begins, on nodes that are free from these moments on.

    The moments are in order.
    """
    rounds, place = divmod((number - 1) // slots, len(free))
    return free[place] + rounds * seconds
