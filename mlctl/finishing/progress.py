"""How far a job is: the fold of its journal.

The journal says what will be done before it is done. Whoever reads it knows which run may be under
way, whoever wrote it.
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


class Outcome(StrEnum):
    """How it ended."""

    DONE = "done"
    LATE = "late"  # done, but after its deadline
    TOO_DEAR = "too dear"
    IMPOSSIBLE = "impossible"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class Run:
    """A run of a shard; `status` is "" until it has ended, `at` when it was to be submitted."""

    name: str
    shard: int
    tier: Tier
    at: float
    status: str = ""
    reason: str = ""
    node_s: float = 0.0
    ended: float | None = None
    to_its_end: bool = False  # since there is no dedicated twin to change to
    resumes: str | None = None  # of a job: the run of whose checkpoint it goes on, "" of none
    first: int = 0

    @property
    def completed(self) -> bool:
        """Whether the shard is done by it."""
        return self.status == "Completed"

    @property
    def failure(self) -> tuple[str, str]:
        """How it ended, without what differs in each run: its name, numbers, hashes and times."""
        return self.status, _DIFFERS.sub("#", self.reason.replace(self.name, "#"))


@dataclass(slots=True)
class Progress:
    """The state of a job, by what its journal says."""

    order: Order
    began: float
    runs: list[Run] = field(default_factory=list)
    twins: list[str] = field(default_factory=list)  # addresses that were made, in their order
    outcome: Outcome | None = None
    reason: str = ""
    shard: int = 0  # the next one that is not done
    losses: int = 0  # of its runs, one after the other
    failures: int = 0  # equal ones
    uploaded: bool = False
    checkpoints: list[tuple[str, int]] = field(default_factory=list)  # runs, steps: the last counts

    @classmethod
    def of(cls, records: Iterable[Record]) -> Progress:
        """By the records of a journal, of which the first says what was ordered."""
        first, *following = records
        progress = cls(Order.of(first["order"]), first["at"])
        for record in following:
            progress.add(record)
        return progress

    def add(self, record: Record) -> None:
        """Go on by a record."""
        match record["event"]:
            case "submit":
                tier = Tier(record["tier"])
                run = Run(record["run"], record["shard"], tier, record["at"])
                run.to_its_end = bool(record.get("to_its_end"))
                run.resumes, run.first = record.get("resumes"), record.get("first", 0)
                self.runs.append(run)
            case "ended":
                self._ended(record)
            case "settled":
                self.runs[record["number"]].node_s = record["node_s"]
            case "uploaded":
                self.uploaded = True
            case "make":
                self.twins.append(record["address"])
            case "removed":
                self.twins.remove(record["address"])
            case "finished":
                self.outcome, self.reason = Outcome(record["outcome"]), record["reason"]
            case _:
                pass

    def _ended(self, record: Record) -> None:
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
            self.checkpoints.pop()  # it may be why: the one before it is tried
        if run.status == "Failed":
            is_equal = len(self.runs) > 1 and self.runs[-2].failure == run.failure
            self.failures = self.failures + 1 if is_equal else 1

    @property
    def under_way(self) -> Run | None:
        """The run that was to be submitted, and of whose end nothing is known."""
        return self.runs[-1] if self.runs and not self.runs[-1].status else None

    @property
    def is_done(self) -> bool:
        """Whether every shard is."""
        return self.shard == len(self.order.sizes)

    @property
    def files_left(self) -> int:
        """How many files are not done; of a training job steps, 1 or more until it is done."""
        remaining = sum(self.order.sizes[self.shard :])
        return max(remaining - self.checkpoint[1], 1) if remaining else 0

    @property
    def files_of_step(self) -> int:
        """How many files the next run has, or steps."""
        return self.files_left if self.order.checkpoint else self.order.sizes[self.shard]

    @property
    def checkpoint(self) -> tuple[str, int]:
        """The run whose checkpoint is the last that is trusted, and its steps; "" and 0: none."""
        return self.checkpoints[-1] if self.checkpoints else ("", 0)

    @property
    def last_tier(self) -> Tier | None:
        """The tier of the last run."""
        return self.runs[-1].tier if self.runs else None

    @property
    def switches(self) -> int:
        """How often the tier was changed."""
        tiers = [run.tier for run in self.runs]
        return sum(earlier is not later for earlier, later in pairwise(tiers))

    @property
    def spent(self) -> float:
        """What has been spent, in USD, as far as it is known."""
        return sum(self.order.cost(run.node_s, run.tier) for run in self.runs)
