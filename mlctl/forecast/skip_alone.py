"""What nodes go through in the usual case of the shortcut, each of them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlctl.forecast.skip_draws import Lives, Shocks
    from mlctl.forecast.skip_first import FirstRuns


class Nodes:
    """The nodes of a run, by number.

    `since` tells when a node is ready, infinity where it is let go; `loss` when it is lost, `times`
    how often it has been there. Of losses there are `lost_at`, when they were, and `lived`, for how
    long the node was there. `rounds` and `attempts` count what nodes that are lost have completed
    and begun, once for all slots of a node.
    """

    __slots__ = (
        "attempts",
        "lived",
        "lives",
        "loss",
        "lost_at",
        "lost_s",
        "rounds",
        "runs",
        "shocks",
        "since",
        "times",
    )

    def __init__(self, runs: FirstRuns, loss: list[float], lives: Lives, shocks: Shocks) -> None:
        self.runs, self.lives, self.shocks = runs, lives, shocks
        self.loss = loss
        self.since, self.times = [runs.ready] * runs.wanted, [1] * runs.wanted
        self.lost_at: list[float] = []
        self.lived: list[float] = []
        self.rounds = self.attempts = 0
        self.lost_s = 0.0

    def lose_until(self, until: float) -> None:
        """Let all losses up to a moment happen; mini-batches are queued all the time."""
        loss, since, times, lives = self.loss, self.since, self.times, self.lives
        seconds, again, prepares = self.runs.seconds, self.runs.again, self.runs.prepares
        rounds, attempts, lost_s = self.rounds, self.attempts, self.lost_s
        for node in [node for node, at in enumerate(loss) if at <= until]:
            at, ready, time = loss[node], since[node], times[node]
            while at <= until:
                age = at - ready
                if age >= 0:  # R5, R6: what it has completed counts
                    completed = int(age // seconds)
                    rounds += completed
                    attempts += completed + 1
                    lost_s += age - completed * seconds
                self.lost_at.append(at)
                self.lived.append(age + prepares)
                time += 1
                comes = at + again
                ready, at = comes + prepares, comes + lives.of(node, time)
            loss[node], since[node], times[node] = at, ready, time
        self.rounds, self.attempts, self.lost_s = rounds, attempts, lost_s

    def lose(self, node: int, at: float) -> None:
        """Lose a node, and have it come again."""
        runs = self.runs
        self.lost_at.append(at)
        self.lived.append(at - self.since[node] + runs.prepares)
        self.times[node] += 1
        comes = at + runs.again
        self.since[node] = comes + runs.prepares
        self.loss[node] = comes + self.lives.of(node, self.times[node])

    def strike(self) -> bool:
        """Let the next shock happen; whether any node is up after it."""
        due, prepares = self.shocks.due, self.runs.prepares
        self.lose_until(due)
        there = [node for node, ready in enumerate(self.since) if ready - prepares <= due]
        for node in self.shocks.strike(there):
            self.loss[node] = due
        self.lose_until(due)
        return min(self.since) <= due
