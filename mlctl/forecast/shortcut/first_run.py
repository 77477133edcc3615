"""The first run in a fresh cloud, node by node, while mini-batches are certainly queued.

With fixed delays and outside of outages (one that goes on at first is waited for), what a node goes
through hangs on no other one then, as long as some node is up. So each node's losses are gone
through at once. Where that does not hold, the run is carried out from loss to loss
(`queued_rounds`).
"""

from __future__ import annotations

from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut.losses import LossProcesses
from mlctl.forecast.shortcut.run import ShortRun
from mlctl.simulator.engine.model import Tier


class FirstRun:
    """The nodes by number, as `nodes.Fleet` has them; `lived` is how long lost ones were there."""

    def __init__(self, run: ShortRun, scenario: Scenario, seed: str, tag: str, tier: Tier) -> None:
        settings, count = scenario.settings, run.wanted
        self.run = run
        self.losses = LossProcesses(scenario, seed, tag, tier)
        again = settings.replacement_s
        self.again_s = settings.allocation_s if again is None else again
        self.preparation_s = settings.preparation_s
        begin = 0.0
        while self.losses.out:  # no node is granted before
            begin = self.losses.due
            self.losses.strike([])
        self.comes = [begin + settings.allocation_s] * count
        self.since = [begin + settings.allocation_s + settings.preparation_s] * count
        self.times = [1] * count
        self.loss = self.losses.of_all(count, begin + settings.allocation_s)
        self.lost_at: list[float] = []
        self.lived: list[float] = []

    def carry_out(self) -> float | None:
        """Return until when mini-batches are queued; None if the nodes are not independent."""
        run, losses = self.run, self.losses
        safe = run.safe_until(self.since[0], 0, 0)
        while safe <= run.until:
            while losses.due <= safe:
                if not self._strike():
                    return None
            self._lose_until(safe)
            completed, running = self._known(safe)
            following = run.safe_until(safe, completed, running)
            if following < safe + 2 * run.seconds:
                safe = self._lose_while_queued(safe, completed, running)
                if safe < following < min(losses.due, run.until):
                    safe = following
                return None if self._may_be_away() else safe
            safe = following
        return None

    def _known(self, at: float) -> tuple[int, int]:
        """Count the mini-batches that are done at a moment, and those that run then."""
        run, seconds = self.run, self.run.seconds
        rounds = [(at - ready) // seconds for ready in self.since if ready <= at]
        return run.done + int(sum(rounds)) * run.slots, len(rounds) * run.slots

    def _lose_while_queued(self, at: float, completed: int, running: int) -> float:
        """Advance from loss to loss while mini-batches are queued and all nodes wanted; until when.

        So many mini-batches are completed at first, and so many run.
        """
        run = self.run
        least, stop = (run.wanted - 1) * run.slots, min(self.losses.due, run.until)
        while True:
            loss = min(self.loss)
            if loss >= stop or (
                completed + least + running * int((loss - at) // run.seconds) >= run.total
            ):
                return at
            completed, running = self._known(loss)
            if completed + max(running, least) >= run.total:
                return at
            self._lose_until(loss)
            at, running = loss, 0

    def _strike(self) -> bool:
        """Apply the next shock or script; False for an outage, or if R7 may cancel."""
        losses, at = self.losses, self.losses.due
        self._lose_until(at)
        hit, goes_out = losses.strike(
            [node for node, comes in enumerate(self.comes) if comes <= at]
        )
        for node in hit:
            self.loss[node] = at
        self._lose_until(at)
        return not goes_out and (not self.run.cancels or min(self.since) <= at)

    def _lose_until(self, bound: float) -> None:
        """Apply all losses of nodes up to a moment."""
        run, loss, of = self.run, self.loss, self.losses.of
        comes, since, times = self.comes, self.since, self.times
        lost_at, lived = self.lost_at, self.lived
        seconds, again_s, preparation_s = run.seconds, self.again_s, self.preparation_s
        completed = lost_s = 0.0
        interrupted = 0
        for node in [node for node, at in enumerate(loss) if at <= bound]:
            at, ready = loss[node], since[node]
            here_since, time = comes[node], times[node]
            while at <= bound:
                age = at - ready
                if age >= 0:
                    rounds = age // seconds  # `rules.progress`, without a call
                    completed += rounds
                    interrupted += 1
                    lost_s += age - rounds * seconds
                lost_at.append(at)
                lived.append(at - here_since)
                here_since = at + again_s
                ready = here_since + preparation_s
                time += 1
                at = of(node, time, here_since)
            loss[node], since[node] = at, ready
            comes[node], times[node] = here_since, time
        run.add_progress(int(completed), int(completed) + interrupted, lost_s)

    def _may_be_away(self) -> bool:
        """R7: whether all nodes may have been gone at once."""
        least, away_s = self.run.wanted, self.again_s + self.preparation_s
        if not self.run.cancels or len(self.lost_at) < least:
            return False
        moments = sorted(self.lost_at)
        spans = zip(moments, moments[least - 1 :], strict=False)
        return any(last - first <= away_s for first, last in spans)

    def undisturbed_end(self, at: float) -> float | None:
        """Return the end of the run; None if something happens to its nodes before.

        Nodes that are not wanted any more are let go (R2).
        """
        up_since = [ready for ready in self.since if ready <= at]
        coming: list[float] = []
        if len(up_since) < len(self.since):
            coming = sorted([ready for ready in self.since if ready > at])
        while coming and not self._is_wanted(
            coming[-1] - self.preparation_s, len(up_since) + len(coming)
        ):
            coming.pop()
        self.latest = coming[-1] if coming else at
        end, _ = self.run.undisturbed_end(at, up_since, coming)
        first = min(self.loss)
        if first <= end and len(up_since) + len(coming) < len(self.since):
            nodes = zip(self.since, self.loss, strict=True)
            first = min([loss for ready, loss in nodes if ready <= self.latest])
        return None if end > min(first, self.losses.due, self.run.until) else end

    def _is_wanted(self, comes: float, nodes: int) -> bool:
        """R2: whether a node is still wanted when it arrives, as the last of so many."""
        completed, _ = self._known(comes)
        return completed < self.run.total - (nodes - 1) * self.run.slots

    def lives_until(self, end: float, idle_s: float) -> list[float]:
        """Return how long nodes existed: lost ones, and the others until they have idled."""
        nodes = zip(self.comes, self.since, self.loss, strict=True)
        stop, latest = end + idle_s, self.latest
        if latest > end:  # it still prepares
            return self.lived + [
                min(loss, max(ready, end) + idle_s) - comes
                for comes, ready, loss in nodes
                if ready <= latest
            ]
        return self.lived + [
            (loss if loss < stop else stop) - comes  # noqa: FURB136  # quicker
            for comes, ready, loss in nodes
            if ready <= latest
        ]
