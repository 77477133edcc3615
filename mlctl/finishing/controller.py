"""The controller decides the next run of a job from its journal and its policy, until the end.

It asks the policy the same questions as a forecast does (`forecast.batch.policy.carry_out`). Each
step is written to the journal before it is taken, so that a new controller can resume after a
crash.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlctl.backends.ports.lease import LeaseLost
from mlctl.dataclasses import replace
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.progress import Ending, Progress, Record, Run, RunState
from mlctl.forecast.batch.policy import Way
from mlctl.forecast.history import LONGEST_S
from mlctl.service_errors import Permanent
from mlctl.simulator.engine.model import Tier

_ROUNDING_S = 1e-6
GIVEN_UP = "given up by the policy"
_CHANGED = (
    "the deployment has changed since the job began, so the results of its shards would differ:"
    " begin a new job"
)


# Writes a record to the journal; raises LeaseLost if the lease is lost.
Append = Callable[[Record], None]


def _refusal_of(request: Callable[[], object]) -> str:
    """Return the service's refusal of a request, or "" if it was carried out."""
    try:
        request()
    except LeaseLost:
        raise
    except Permanent as error:
        return error.message or error.code
    return ""


class Controller:
    """Carries out one job.

    `append` writes to the journal, under the lease; `on_record` is called after each write.
    """

    def __init__(self, progress: Progress, cloud: WorkspaceCloud, append: Append) -> None:
        self.progress = progress
        self.cloud = cloud
        self.on_record: Append = lambda _: None
        self._append = append

    def carry_out(self) -> Ending:
        """Run the job to its end, then remove what was created for it."""
        progress = self.progress
        if progress.outcome is None:
            self._finish(*(self._upload_files() or self._run_shards()))
        assert progress.outcome is not None
        return progress.outcome

    def cancel(self) -> Ending:
        """Cancel the run under way, and end the job as cancelled."""
        run = self.progress.under_way
        if run is not None:
            exists = self.cloud.find(run.name) is not None
            never = RunState("Canceled", node_s=0.0, reason="it was not submitted")
            self._record_end(run, self.cloud.cancel(run.name) if exists else never)
        if self.progress.outcome is None:
            self._finish(Ending.CANCELLED, "cancelled")
        return Ending.CANCELLED

    def _upload_files(self) -> tuple[Ending, str] | None:
        """Upload the files of the job; return its outcome if the service refuses them."""
        order = self.progress.order
        if order.upload and not self.progress.uploaded:
            if refusal := _refusal_of(lambda: self.cloud.upload(order)):
                return Ending.IMPOSSIBLE, f"the files cannot be uploaded: {refusal}"
            self._write("uploaded", files=len(order.files))
        return None

    def _run_shards(self) -> tuple[Ending, str]:
        progress = self.progress
        while True:
            run = progress.under_way
            if run is None:
                following = self._choose_next()
                if not isinstance(following, Run):
                    return following
                run = following
                self._submit(run)
            elif self.cloud.find(run.name) is None:  # killed before it was submitted
                self._submit(run)
            if not run.status:
                self._watch(run)

    def _choose_next(self) -> Run | tuple[Ending, str]:
        """Record and return the next run, or return the outcome of the job."""
        progress, order = self.progress, self.progress.order
        policy = order.recovery
        if progress.is_done:
            return self._judge_deadline()
        if progress.failures >= order.give_up_after:
            last = progress.runs[-1]
            why = last.reason or f"see the logs: mlctl job download -n {last.name} --all"
            return Ending.IMPOSSIBLE, f"{progress.failures} runs failed with the same error: {why}"
        elapsed = self.cloud.now() - progress.began
        last_tier = progress.runs[-1].tier if progress.runs else None
        tier = policy.tier(elapsed, progress.losses, progress.files_left, last_tier)
        files = progress.files_left if order.checkpoint else order.sizes[progress.shard]
        cost = order.step_cost(files, tier)
        if order.max_cost is not None and progress.spent + cost > order.max_cost:
            why = f"{progress.spent:.3g} of {order.max_cost:.3g} USD are spent"
            return Ending.OVER_BUDGET, f"{why}, and the next step costs {cost:.3g}"
        if self._has_changed():
            return Ending.IMPOSSIBLE, _CHANGED
        needs_twin = tier is Tier.DEDICATED and order.makes_twin
        refusal = _refusal_of(self._create_twin) if needs_twin else ""
        return self._continue_without_twin(refusal) if refusal else self._record_submit(tier)

    def _continue_without_twin(self, refusal: str) -> Run | tuple[Ending, str]:
        """Continue on low priority if the twin cannot be created, unless the policy needs it."""
        if self.progress.order.recovery.way is Way.DEDICATED:
            return Ending.IMPOSSIBLE, f"the dedicated twin cannot be created: {refusal}"
        self._write("no-twin", reason=refusal)
        return self._record_submit(Tier.LOW_PRIORITY, to_its_end=True)

    def _judge_deadline(self) -> tuple[Ending, str]:
        order, progress = self.progress.order, self.progress
        elapsed_s = (progress.runs[-1].ended or self.cloud.now()) - progress.began
        if order.deadline_s is not None and elapsed_s > order.deadline_s + _ROUNDING_S:
            return (
                Ending.LATE,
                f"done after {elapsed_s:.0f} s; the deadline was {order.deadline_s:.0f} s",
            )
        return Ending.DONE, ""

    def _has_changed(self) -> bool:
        """Whether the deployment has changed; if it no longer exists, the submit will fail."""
        order = self.progress.order
        try:
            return bool(order.version) and self.cloud.version(order) != order.version
        except LeaseLost:
            raise
        except Permanent:
            return False

    def _record_submit(self, tier: Tier, *, to_its_end: bool = False) -> Run:
        progress = self.progress
        name = progress.order.run_name(len(progress.runs))
        facts: dict[str, Any] = {"to_its_end": True} if to_its_end else {}
        if progress.order.checkpoint:
            facts["resumes"], facts["first"] = progress.checkpoint
        self._write("submit", run=name, shard=progress.shard, tier=tier.value, **facts)
        return progress.runs[-1]

    def _submit(self, run: Run) -> None:
        """Submit a run; if the service refuses it, record it as failed."""
        if refusal := _refusal_of(lambda: self.cloud.submit(self.progress.order, run)):
            self._record_end(run, RunState("Failed", node_s=0.0, reason=refusal))

    def _watch(self, run: Run) -> None:
        """Watch a run until it has ended or the policy gives it up."""
        progress, order = self.progress, self.progress.order
        elapsed = run.at - progress.began
        limit = None
        if not run.to_its_end:
            limit = order.recovery.limit(
                run.tier, elapsed, progress.files_left, order.mini_batch_size
            )
        end_s = min(limit(0), LONGEST_S) if limit is not None else LONGEST_S
        state = self.cloud.watch(run.name, progress.began + end_s)
        while not state.ended:
            batches_done = max(state.batches - run.first, min(state.batches, 1))
            later = limit(batches_done) if limit is not None else end_s
            if later <= end_s + _ROUNDING_S:
                state = replace(self.cloud.cancel(run.name), reason=GIVEN_UP)
                break
            end_s = later
            state = self.cloud.watch(run.name, progress.began + end_s)
        self._record_end(run, state)

    def _record_end(self, run: Run, state: RunState) -> None:
        node_s = state.node_s
        if node_s is None:
            node_s = self.progress.order.nodes * (self.cloud.now() - run.at)
        facts: dict[str, Any] = {"node_s": node_s, "reason": state.reason}
        if self.progress.order.checkpoint and state.status != "Completed":
            facts["saved"] = self.cloud.saved_steps(self.progress.order, run)
        self._write("ended", run=run.name, status=state.status, **facts)

    def _create_twin(self) -> None:
        """Create the missing resources of the twin."""
        for address, body in self.cloud.missing_twins(self.progress.order).items():
            if address not in self.progress.twins:
                self._write("make", address=address)
            self.cloud.create(address, body)

    def _finish(self, outcome: Ending, reason: str) -> None:
        """Settle late bills, remove what was created for the job, and record its outcome."""
        for number, run in enumerate(self.progress.runs) if self.cloud.bills else ():
            state = self.cloud.find(run.name)
            if state is not None and state.node_s not in (None, run.node_s):
                self._write("settled", number=number, node_s=state.node_s)
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
        self.on_record(record)
