"""The progress of a job, computed from its journal.

The journal records each step before it is taken, so that any controller that reads it knows which
run may be under way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import Any

from mlctl.dataclasses import dataclass, field
from mlctl.finishing.order import Order
from mlctl.simulator.engine.model import Tier

Record = Mapping[str, Any]
_DIFFERS = re.compile(r"[0-9a-fA-F-]{8,}|\d+")


class Ending(StrEnum):
    """How a job ended."""

    DONE = "done"
    LATE = "late"  # after its deadline
    OVER_BUDGET = "over budget"
    IMPOSSIBLE = "impossible"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class Run:
    """A run of a shard; `status` is "" until it has ended, `at` is its moment of submission."""

    name: str
    shard: int
    tier: Tier
    at: float
    status: str = ""
    reason: str = ""
    node_s: float = 0.0
    ended: float | None = None
    to_its_end: bool = False  # not cancelled by the policy: there is no dedicated twin
    resumes: str | None = None  # the run whose checkpoint a training job starts from, "" if none
    first: int = 0

    @property
    def completed(self) -> bool:
        """Whether the run has done its shard."""
        return self.status == "Completed"

    @property
    def failure(self) -> tuple[str, str]:
        """How the run failed, without names, numbers, hashes and times that differ by run."""
        return self.status, _DIFFERS.sub("#", self.reason.replace(self.name, "#"))


@dataclass(frozen=True, slots=True)
class RunState:
    """A run at one moment: its status in Azure's words, mini-batches done, node-seconds billed.

    `batches` is 1 or more once the run has worked; for a training job it is the steps in
    checkpoints while the run has nodes, including those it resumed from. `node_s` is None if the
    service does not report it: then all nodes of the job count for as long as the run lasted.
    """

    status: str
    batches: int = 0
    node_s: float | None = None
    reason: str = ""
    saved: int | None = None  # steps in the last checkpoint of a training job, if known
    parts: bool = False  # whether it is a running pipeline or sweep, whose jobs show its work

    @property
    def ended(self) -> bool:
        """Whether the status is final."""
        return self.status in ("Completed", "Failed", "Canceled")


@dataclass(slots=True)
class Progress:
    """The state of a job, as its journal has it."""

    order: Order
    began: float
    runs: list[Run] = field(default_factory=list)
    twins: list[str] = field(default_factory=list)  # addresses that were created, in order
    outcome: Ending | None = None
    reason: str = ""
    shard: int = 0  # the first one that is not done
    losses: int = 0  # runs lost in a row
    failures: int = 0  # in a row, with the same error
    uploaded: bool = False
    checkpoints: list[tuple[str, int]] = field(default_factory=list)  # (run, steps)

    @classmethod
    def from_records(cls, records: Iterable[Record]) -> Progress:
        """Compute the progress from a journal, whose first record has the order."""
        first, *following = records
        progress = cls(Order.from_data(first["order"]), first["at"])
        for record in following:
            progress.add(record)
        return progress

    def add(self, record: Record) -> None:
        """Apply a record."""
        match record["event"]:
            case "submit":
                tier = Tier(record["tier"])
                run = Run(record["run"], record["shard"], tier, record["at"])
                run.to_its_end = bool(record.get("to_its_end"))
                run.resumes, run.first = record.get("resumes"), record.get("first", 0)
                self.runs.append(run)
            case "ended":
                self._end_run(record)
            case "settled":
                self.runs[record["number"]].node_s = record["node_s"]
            case "uploaded":
                self.uploaded = True
            case "make":
                self.twins.append(record["address"])
            case "removed":
                self.twins.remove(record["address"])
            case "finished":
                self.outcome, self.reason = Ending(record["outcome"]), record["reason"]
            case _:
                pass

    def _end_run(self, record: Record) -> None:
        run = self.runs[-1]
        run.status, run.ended = record["status"], record["at"]
        run.node_s, run.reason = record["node_s"], record["reason"]
        if run.completed:
            self.shard, self.losses, self.failures = self.shard + 1, 0, 0
            return
        self.losses += 1
        if record.get("saved") is not None:
            self.checkpoints.append((run.name, record["saved"]))
        elif run.status == "Failed" and run.resumes:
            self.checkpoints.pop()  # it may be the cause: fall back to the checkpoint before it
        if run.status == "Failed":
            is_equal = len(self.runs) > 1 and self.runs[-2].failure == run.failure
            self.failures = self.failures + 1 if is_equal else 1

    @property
    def under_way(self) -> Run | None:
        """The run that was submitted and has not ended."""
        return self.runs[-1] if self.runs and not self.runs[-1].status else None

    @property
    def is_done(self) -> bool:
        """Whether every shard is done."""
        return self.shard == len(self.order.sizes)

    @property
    def files_left(self) -> int:
        """How many files are left; for a training job steps, at least 1 until it is done."""
        left = sum(self.order.sizes[self.shard :])
        return max(left - self.checkpoint[1], 1) if left else 0

    @property
    def checkpoint(self) -> tuple[str, int]:
        """The run whose checkpoint is the last trusted one, and its steps; ("", 0) if none."""
        return self.checkpoints[-1] if self.checkpoints else ("", 0)

    @property
    def switches(self) -> int:
        """How often the tier was changed."""
        tiers = [run.tier for run in self.runs]
        return sum(earlier is not later for earlier, later in pairwise(tiers))

    @property
    def spent(self) -> float:
        """The USD spent, as far as known."""
        return sum(self.order.cost(run.node_s, run.tier) for run in self.runs)
