"""What is about to be done, by the forecast: how many shards, by which policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlctl.dataclasses import asdict, dataclass, replace
from mlctl.finishing.order import Order
from mlctl.forecast.batch.policy import WATCHFUL, RecoveryPolicy, Way, sizes
from mlctl.forecast.batch.study import Study, with_deadline
from mlctl.forecast.batch.summary import LATE, Summary
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.statistics import finite
from mlctl.workload import Workload

_SHARDS = (1, 4, 16, 48)  # that `auto` chooses from
_RUNS, _FEW, _LEAST = 200, 60, 10  # histories of an option, and of a number of shards
_ATTEMPTS = 60_000  # of mini-batches in all histories of an option, by the event engine
TWIN_S = 300.0  # that a cluster and a deployment take to be made


@dataclass(frozen=True, slots=True)
class Option:
    """A policy, with what many histories of it come to."""

    study: Study
    summary: Summary

    def document(self) -> dict[str, Any]:
        """As data: USD and seconds until the job is done, and how likely it is late.

        `band` has a place (seconds, USD) for each end of the middle nine cases of ten.
        """
        summary = self.summary.document()
        until_done, late = summary["until_done"], summary["late"]
        return {
            "policy": str(self.study.policy),
            "shards": self.study.policy.shards,
            "cost": until_done["cost"]["value"] if until_done["cost"] else None,
            "time_s": until_done["time_s"]["value"] if until_done["time_s"] else None,
            "time_p95_s": until_done["time_p95_s"]["value"] if until_done["time_p95_s"] else None,
            "late": late["value"] if late is not None else None,
            "not_done": until_done["p_not_done"]["value"],
            "runs": until_done["runs"],
            "band": self._band(),
        }

    def _band(self) -> list[list[float]]:
        summary = self.summary
        values = (
            sorted(finite(summary.times_until_done)),
            sorted(finite(summary.costs_until_done)),
        )
        ends = [[row[len(row) * part // 20] for row in values if row] for part in (1, 19)]
        return ends if all(values) else []

    @property
    def rank(self) -> tuple[bool, float]:
        """Those that keep the deadline come first, then the cheaper ones."""
        data = self.document()
        late = data["late"] is not None and data["late"] > LATE
        cost = data["cost"] if data["cost"] is not None else float("inf")
        return late or data["not_done"] > 0, cost


def options(
    scenario: Scenario,
    policies: Sequence[RecoveryPolicy],
    shards: int | None,
    deadline_s: float | None,
    *,
    makes_twin: bool = False,
    seed: str = "0",
) -> list[Option]:
    """Each policy with its forecast, the best first; `shards` None: as many as cost least.

    A policy that changes to a twin in time for the deadline knows that it may have to be made.
    """
    count = shards or _best_shards(scenario, seed)
    studies = [Study(scenario, replace(policy, shards=count), seed) for policy in policies]
    return ranked(studies, deadline_s, makes_twin=makes_twin)


def ranked(studies: Sequence[Study], deadline_s: float | None, *, makes_twin: bool) -> list[Option]:
    """Studies with their forecasts, the best first; as `options`."""
    by_s = deadline_s - TWIN_S * makes_twin if deadline_s is not None else None
    return sorted(
        (_option(study, _RUNS, deadline_s) for study in with_deadline(studies, by_s)),
        key=lambda option: option.rank,
    )


def considered(deadline_s: float | None) -> list[RecoveryPolicy]:
    """The policies that are compared where none is named."""
    policies = [Way.REMAINING, *WATCHFUL] if deadline_s is not None else [Way.REMAINING]
    return [RecoveryPolicy(way) for way in policies] + [RecoveryPolicy(Way.DEDICATED)]


def _best_shards(scenario: Scenario, seed: str) -> int:
    policy = RecoveryPolicy(Way.REMAINING)
    # A shard should give all nodes a few mini-batches, or they wait for the last one of each.
    most = max(scenario.mini_batches // (scenario.nodes * scenario.job.concurrency * 2), 1)
    candidates = [
        _option(Study(scenario, replace(policy, shards=count), seed), _FEW, None)
        for count in sorted({min(count, most) for count in _SHARDS})
    ]
    best = min(candidates, key=lambda option: option.rank)
    assert best.study.policy.shards is not None
    return best.study.policy.shards


def _option(study: Study, runs: int, deadline_s: float | None) -> Option:
    runs = max(min(runs, _ATTEMPTS // study.steps), _LEAST)
    return Option(study, study.summary(study.histories(range(runs)), deadline_s))


def order_of(option: Option, deadline_s: float | None, workload: Workload, **facts: Any) -> Order:
    """The order of an option; `facts` are the fields of the order that no forecast knows."""
    study = option.study
    scenario, job, policy = study.scenario, study.scenario.job, study.policy
    shards = sizes(job.files, policy.shards or 1, job.mini_batch_size)
    work = job.workload
    file_s = work.per_file_s + work.per_mini_batch_s / job.mini_batch_size
    if work.trace:
        file_s = sum(work.trace) / len(work.trace) / job.mini_batch_size
    return Order(
        sizes=tuple(shards),
        mini_batch_size=job.mini_batch_size,
        policy=str(policy),
        deadline_s=deadline_s,
        low_price=scenario.low_priority_price,
        dedicated_price=scenario.cluster.price or 0.0,
        node_s=file_s / job.concurrency,
        nodes=scenario.nodes,
        switch=asdict(policy.switch) if policy.switch is not None else None,
        workload={name: part for name, part in asdict(workload).items() if part is not None},
        **facts,
    )
