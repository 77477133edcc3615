"""The controller: what is done next, by the journal and the policy, until the job is at its end.

It decides nothing that a forecast does not: the policy is asked the same questions with the same
numbers (`forecast.batch.policy.carry_out`). Each step is in the journal before it is taken, so that
whoever goes on after a controller that was killed takes it up where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mlctl.backends.ports.lease import LeaseLost
from mlctl.dataclasses import dataclass, replace
from mlctl.finishing.order import Order
from mlctl.finishing.progress import Outcome, Progress, Record, Run
from mlctl.forecast.batch.policy import Way
from mlctl.forecast.history import LONGEST_S
from mlctl.service_errors import Permanent
from mlctl.simulator.engine.model import Tier

_ROUNDING_S = 1e-6
GIVEN_UP = "given up by the policy"
_CHANGED = (
    "the deployment has been changed since the job began: the results of its shards would not be of"
    " one kind; begin again"
)


@dataclass(frozen=True, slots=True)
class Look:
    """A run at a moment: its status in Azure's words, mini-batches done, and what it was billed.

    `batches` is 1 or more once it has worked; of a training job, steps in checkpoints while it has
    its nodes, those of the one that it began from too. `node_s` are node-seconds, None where nobody
    counts them: then all nodes of the job are reckoned with for as long as the run was there.
    """

    status: str
    batches: int = 0
    node_s: float | None = None
    reason: str = ""
    saved: int | None = None  # steps in the last checkpoint of a training job, where it is known
    parts: bool = False  # whether it goes on and is made of jobs, which show whether it has worked

    @property
    def ended(self) -> bool:
        """Whether it has reached a final status."""
        return self.status in ("Completed", "Failed", "Canceled")


class Cloud(Protocol):
    """Where the runs are; `looked` is told of each look at one that goes on.

    `bills`: a run says what it was billed, and says more when its nodes idle after its end.
    """

    looked: Callable[[Look], None]

    @property
    def bills(self) -> bool:
        """Whether runs say what they were billed."""

    def now(self) -> float:
        """Seconds since the epoch of its clock."""

    def find(self, run: str) -> Look | None:
        """A run; None where there is none of that name."""

    def upload(self, order: Order) -> None:
        """Send the files of the job to the folders of its shards.

        Raises:
            ServiceError: refused.
        """

    def discard(self, order: Order) -> None:
        """Remove what was uploaded; nothing need be there."""

    def version(self, order: Order) -> str:
        """What the deployment is now, in a word that changes with what it does.

        Raises:
            Permanent: it is gone.
        """

    def saved(self, order: Order, run: Run) -> int | None:
        """The steps in the checkpoint that a run of a job has left; None: no whole one of its own.

        Where nobody knows them, those of the checkpoint from which it went on.
        """

    def submit(self, order: Order, run: Run) -> None:
        """Start a run of a shard under its name.

        Raises:
            ServiceError: refused.
        """

    def watch(self, run: str, moment: float) -> Look:
        """A run at its end, or at a moment before which it does not end."""

    def cancel(self, run: str) -> Look:
        """Cancel a run that may have ended already."""

    def twins(self, order: Order) -> Mapping[str, Any]:
        """The bodies of what the dedicated twin needs and what is not there, by addresses."""

    def make(self, address: str, body: Any) -> None:
        """Create a part of the twin, unless it is there."""

    def remove(self, address: str) -> None:
        """Delete a part of the twin, unless it is gone."""


# Writes a record to the journal; raises where the lease is lost.
Append = Callable[[Record], None]


class Controller:
    """Brings one job to its end.

    `append` writes to the journal, under the lease; `note` tells of a record that is written.
    """

    def __init__(self, progress: Progress, cloud: Cloud, append: Append) -> None:
        self.progress = progress
        self.cloud = cloud
        self.note: Append = lambda _: None
        self._append = append

    def carry_out(self) -> Outcome:
        """Go on until the end; what was made for the job is removed then.

        Raises:
            ServiceError: the workspace cannot be reached, or refuses.
        """
        progress = self.progress
        if progress.outcome is None:
            self._finish(*(self._prepared() or self._work()))
        assert progress.outcome is not None
        return progress.outcome

    def cancel(self) -> Outcome:
        """Cancel what runs, and end the job as cancelled."""
        run = self.progress.under_way
        if run is not None:
            is_there = self.cloud.find(run.name) is not None
            never = Look("Canceled", node_s=0.0, reason="it was not submitted")
            self._note_end(run, self.cloud.cancel(run.name) if is_there else never)
        if self.progress.outcome is None:
            self._finish(Outcome.CANCELLED, "cancelled")
        return Outcome.CANCELLED

    def _prepared(self) -> tuple[Outcome, str] | None:
        """Send the files to where runs find them; how the job ends where that is refused."""
        order = self.progress.order
        if order.upload and not self.progress.uploaded:
            try:
                self.cloud.upload(order)
            except LeaseLost:
                raise
            except Permanent as error:
                return Outcome.IMPOSSIBLE, f"the files cannot be uploaded: {error.message}"
            self._write("uploaded", files=len(order.files))
        return None

    def _work(self) -> tuple[Outcome, str]:
        progress = self.progress
        while True:
            run = progress.under_way
            if run is None:
                following = self._next()
                if not isinstance(following, Run):
                    return following
                run = following
                self._submit(run)
            elif self.cloud.find(run.name) is None:  # killed before it was submitted
                self._submit(run)
            if not run.status:
                self._watch(run)

    def _next(self) -> Run | tuple[Outcome, str]:
        """The next run, in the journal; or how the job ends."""
        progress, order = self.progress, self.progress.order
        policy = order.recovery
        if progress.is_done:
            return self._done()
        if progress.failures >= order.give_up_after:
            last = progress.runs[-1]
            why = last.reason or f"see the logs: mlctl job download -n {last.name} --all"
            return Outcome.IMPOSSIBLE, f"{progress.failures} runs failed alike: {why}"
        elapsed = self.cloud.now() - progress.began
        tier = policy.tier(elapsed, progress.losses, progress.files_left, progress.last_tier)
        cost = order.step_cost(progress.files_of_step, tier)
        if order.max_cost is not None and progress.spent + cost > order.max_cost:
            why = f"{progress.spent:.3g} USD are spent, and the next step takes {cost:.3g}"
            return Outcome.TOO_DEAR, f"{why} of {order.max_cost:.3g}"
        if self._has_changed():
            return Outcome.IMPOSSIBLE, _CHANGED
        refusal = self._make_twin() if tier is Tier.DEDICATED and order.makes_twin else ""
        return self._without_twin(refusal) if refusal else self._noted(tier)

    def _without_twin(self, refusal: str) -> Run | tuple[Outcome, str]:
        """What comes next where no quota allows a twin now, or what it is a twin of is gone."""
        if self.progress.order.recovery.way is Way.DEDICATED:
            return Outcome.IMPOSSIBLE, f"there is no dedicated twin: {refusal}"
        self._write("no-twin", reason=refusal)
        return self._noted(Tier.LOW_PRIORITY, to_its_end=True)

    def _done(self) -> tuple[Outcome, str]:
        order, progress = self.progress.order, self.progress
        took = (progress.runs[-1].ended or self.cloud.now()) - progress.began
        if order.deadline_s is not None and took > order.deadline_s + _ROUNDING_S:
            return Outcome.LATE, f"done after {took:.0f} s, of {order.deadline_s:.0f}"
        return Outcome.DONE, ""

    def _has_changed(self) -> bool:
        """Whether the deployment is another one than it was; one that is gone refuses the run."""
        order = self.progress.order
        try:
            return bool(order.version) and self.cloud.version(order) != order.version
        except LeaseLost:
            raise
        except Permanent:
            return False

    def _noted(self, tier: Tier, *, to_its_end: bool = False) -> Run:
        progress = self.progress
        name = progress.order.run_name(len(progress.runs))
        facts: dict[str, Any] = {"to_its_end": True} if to_its_end else {}
        if progress.order.checkpoint:
            facts["resumes"], facts["first"] = progress.checkpoint
        self._write("submit", run=name, shard=progress.shard, tier=tier.value, **facts)
        return progress.runs[-1]

    def _submit(self, run: Run) -> None:
        """Start a run; one that is refused has failed."""
        try:
            self.cloud.submit(self.progress.order, run)
        except LeaseLost:
            raise
        except Permanent as error:
            self._note_end(run, Look("Failed", node_s=0.0, reason=error.message))

    def _watch(self, run: Run) -> None:
        """Let a run go on to its end, or as long as the policy lets it."""
        progress, order = self.progress, self.progress.order
        elapsed = run.at - progress.began
        limit = None
        if not run.to_its_end:
            limit = order.recovery.limit(
                run.tier, elapsed, progress.files_left, order.mini_batch_size
            )
        end_s = min(limit(0), LONGEST_S) if limit is not None else LONGEST_S
        look = self.cloud.watch(run.name, progress.began + end_s)
        while not look.ended:
            batches_done = max(look.batches - run.first, min(look.batches, 1))
            later = limit(batches_done) if limit is not None else end_s
            if later <= end_s + _ROUNDING_S:
                look = replace(self.cloud.cancel(run.name), reason=GIVEN_UP)
                break
            end_s = later
            look = self.cloud.watch(run.name, progress.began + end_s)
        self._note_end(run, look)

    def _note_end(self, run: Run, look: Look) -> None:
        node_s = look.node_s
        if node_s is None:
            node_s = self.progress.order.nodes * (self.cloud.now() - run.at)
        facts: dict[str, Any] = {"node_s": node_s, "reason": look.reason}
        if self.progress.order.checkpoint and look.status != "Completed":
            facts["saved"] = self.cloud.saved(self.progress.order, run)
        self._write("ended", run=run.name, status=look.status, **facts)

    def _make_twin(self) -> str:
        """Make what is not there of the twin; why that is refused, or "" where it is not."""
        try:
            for address, body in self.cloud.twins(self.progress.order).items():
                if address not in self.progress.twins:
                    self._write("make", address=address)
                self.cloud.make(address, body)
        except LeaseLost:
            raise
        except Permanent as error:
            return error.message
        return ""

    def _finish(self, outcome: Outcome, reason: str) -> None:
        """Settle what was billed after runs had ended, remove what was made, and say the end."""
        for number, run in enumerate(self.progress.runs) if self.cloud.bills else ():
            look = self.cloud.find(run.name)
            if look is not None and look.node_s not in (None, run.node_s):
                self._write("settled", number=number, node_s=look.node_s)
        for address in reversed(self.progress.twins.copy()):
            self.cloud.remove(address)
            self._write("removed", address=address)
        if self.progress.order.upload:
            self.cloud.discard(self.progress.order)
        self._write("finished", outcome=outcome.value, reason=reason)

    def _write(self, event: str, **facts: Any) -> None:
        record = {"at": self.cloud.now(), "event": event, **facts}
        self._append(record)
        self.progress.add(record)
        self.note(record)
