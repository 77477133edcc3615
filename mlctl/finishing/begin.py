"""Choose how a job is done before it begins: how many shards, under which policy."""

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

_SHARDS = (1, 4, 16, 48)  # the numbers of shards that `auto` compares
_RUNS, _FEW, _LEAST = 200, 60, 10  # histories per option, per number of shards, and at least
_ATTEMPTS = 60_000  # of mini-batches in all histories of an option, with the event engine
TWIN_S = 300.0  # to create a cluster and a deployment


@dataclass(frozen=True, slots=True)
class PolicyForecast:
    """A policy with the forecast of its histories."""

    study: Study
    summary: Summary

    def document(self) -> dict[str, Any]:
        """Return the option as JSON data: USD and seconds until the job is done, and P(late).

        `band` has a point (seconds, USD) at the 5th and at the 95th percentile.
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
        """Sort options that keep the deadline first, then by cost."""
        data = self.document()
        late = data["late"] is not None and data["late"] > LATE
        cost = data["cost"] if data["cost"] is not None else float("inf")
        return late or data["not_done"] > 0, cost


def compare_policies(
    scenario: Scenario,
    policies: Sequence[RecoveryPolicy],
    shards: int | None,
    deadline_s: float | None,
    *,
    makes_twin: bool = False,
) -> list[PolicyForecast]:
    """Forecast each policy and return the options, best first.

    `shards` None means the cheapest number. If the twin must be created first (`makes_twin`), the
    policies that watch the deadline allow for the time that takes.
    """
    count = shards or _find_best_shards(scenario)
    studies = [Study(scenario, replace(policy, shards=count)) for policy in policies]
    return rank_studies(studies, deadline_s, makes_twin=makes_twin)


def rank_studies(
    studies: Sequence[Study], deadline_s: float | None, *, makes_twin: bool
) -> list[PolicyForecast]:
    """Forecast each study and return the options, best first."""
    by_s = deadline_s - TWIN_S * makes_twin if deadline_s is not None else None
    return sorted(
        (_forecast_option(study, _RUNS, deadline_s) for study in with_deadline(studies, by_s)),
        key=lambda option: option.rank,
    )


def default_policies(deadline_s: float | None) -> list[RecoveryPolicy]:
    """Return the policies to compare if the user names none."""
    ways = [Way.REMAINING, *WATCHFUL] if deadline_s is not None else [Way.REMAINING]
    return [RecoveryPolicy(way) for way in ways] + [RecoveryPolicy(Way.DEDICATED)]


def _find_best_shards(scenario: Scenario) -> int:
    policy = RecoveryPolicy(Way.REMAINING)
    # Each shard should give every node a few mini-batches; otherwise nodes idle at its end.
    most = max(scenario.mini_batches // (scenario.nodes * scenario.job.concurrency * 2), 1)
    candidates = [
        _forecast_option(Study(scenario, replace(policy, shards=count)), _FEW, None)
        for count in sorted({min(count, most) for count in _SHARDS})
    ]
    best = min(candidates, key=lambda option: option.rank)
    assert best.study.policy.shards is not None
    return best.study.policy.shards


def _forecast_option(study: Study, runs: int, deadline_s: float | None) -> PolicyForecast:
    runs = max(min(runs, _ATTEMPTS // study.steps), _LEAST)
    return PolicyForecast(study, study.summary(study.histories(range(runs)), deadline_s))


def build_order(
    option: PolicyForecast, deadline_s: float | None, workload: Workload, **facts: Any
) -> Order:
    """Build the order for an option; `facts` are the fields that the forecast does not know."""
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
