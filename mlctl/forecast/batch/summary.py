"""Summaries of a scenario's histories: quantiles, chances and costs, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mlctl.dataclasses import dataclass, replace
from mlctl.forecast import statistics
from mlctl.forecast.batch.policy import History
from mlctl.forecast.history import LONGEST_S
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.statistics import Estimate
from mlctl.forecast.weather.models import begins_by_chance
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import HOUR, Tier

if TYPE_CHECKING:
    from mlctl.forecast import shape


@dataclass(frozen=True)
class Summary:
    """The numbers of one row, as described in `schemas/output/forecast.schema.json`.

    For a `single_run` (the policy `once`) times and costs are those until it ended, however it did.
    """

    scenario: Scenario
    histories: list[History]
    deadline_s: float | None = None
    single_run: bool = False

    @cached_property
    def completed(self) -> list[float]:
        """The times of the first runs that completed, in seconds, ascending."""
        return sorted(
            history.time_s for history in self.histories if history.status is JobStatus.COMPLETED
        )

    @cached_property
    def cancelled(self) -> Estimate:
        """P(cancelled): the first run lost all its nodes; 0 if nothing takes nodes away."""
        canceled = JobStatus.CANCELED
        hits = sum([run.status is canceled and not run.given_up for run in self.histories])
        return self._chance(hits, certain=not self.scenario.processes)

    @property
    def late(self) -> Estimate | None:
        """P(late): the job is not done by the deadline; None without one."""
        deadline = self.deadline_s
        if deadline is None:
            return None
        hits = sum(not history.done or history.done_s > deadline for history in self.histories)
        return self._chance(hits)

    @property
    def costs(self) -> list[float]:
        """The costs of the first runs in USD, in the order of the histories."""
        price = self.scenario.price_of(self.scenario.cluster.tier) / HOUR
        return [history.node_s * price for history in self.histories]

    @cached_property
    def not_done(self) -> int:
        """The histories in which the job was never done."""
        return sum([not history.done for history in self.histories])

    @property
    def p_not_done(self) -> Estimate:
        """P(not done): the job was never done."""
        return self._chance(self.not_done)

    @cached_property
    def costs_until_done(self) -> list[float]:
        """The costs of all runs until the job was done, in USD; infinite if it never was.

        In the order of the histories, as the times are.
        """
        ended_s = self._counted_s
        return [
            usd if history.done or history.done_s < ended_s else inf
            for usd, history in zip(self._spent, self.histories, strict=True)
        ]

    @cached_property
    def times_until_done(self) -> list[float]:
        """The times until the job was done, in seconds; infinite if it never was."""
        ended_s = self._counted_s
        return [
            history.done_s if history.done or history.done_s < ended_s else inf
            for history in self.histories
        ]

    @property
    def _counted_s(self) -> float:
        """The seconds before the histories, which count even if the job was not done."""
        return LONGEST_S if self.single_run else 0.0

    @cached_property
    def _spent(self) -> list[float]:
        """The costs of all runs of each history, in USD."""
        low, full = self.scenario.low_priority_price, self.scenario.price_of(Tier.DEDICATED)
        return [(run.low_s * low + run.dedicated_s * full) / HOUR for run in self.histories]

    def nearest(self, q: float) -> int | None:
        """Return the number of the history whose first run is nearest to the quantile `q`."""
        times = self.completed
        if not times:
            return None
        quantile_s = statistics.quantile(times, q)
        return next(
            number
            for number, history in enumerate(self.histories)
            if history.status is JobStatus.COMPLETED and history.time_s == quantile_s
        )

    def _if_available(self, values: list[float]) -> shape.EstimateData | None:
        """Return the mean of the histories that began with nodes available; None if none did."""
        pairs = zip(values, self.histories, strict=True)
        return statistics.known(self._mean([value for value, run in pairs if not run.waited]))

    def _chance(self, hits: int, *, certain: bool = False) -> Estimate:
        """Return the chance from so many histories; exact if they are all the same."""
        runs = len(self.histories)
        if runs and (certain or self.scenario.is_certain):
            return statistics.exactly(hits / runs)
        return statistics.chance(hits, runs)

    @property
    def switched(self) -> Estimate:
        """P(dedicated): the policy changed to a dedicated twin of the cluster."""
        low = self.scenario.cluster.tier is Tier.LOW_PRIORITY
        hits = sum(low and history.dedicated_s > 0 for history in self.histories)
        return self._chance(hits, certain=not hits)

    @property
    def carried_by(self) -> int:
        """On how many histories the means until done rest; all if none stands out."""
        until_done = (self.costs_until_done, self.times_until_done)
        return min(statistics.carried(statistics.finite(values)) for values in until_done)

    def _mean(self, values: list[float]) -> Estimate:
        """Return the mean of the finite values.

        If no history was cancelled, one could have been: the interval allows for another such cost
        up to the bound of that chance.
        """
        estimate, cancelled = statistics.mean(statistics.finite(values)), self.cancelled
        unseen = 0.0 if cancelled.value or self.scenario.is_certain else cancelled.high
        return replace(estimate, high=estimate.high + unseen * estimate.value)

    def _quantile(self, ordered: list[float], q: float) -> Estimate:
        """Return a quantile; exact if all histories are the same."""
        if ordered and self.scenario.is_certain:
            return statistics.exactly(ordered[0])
        return statistics.quantile_interval(ordered, q)

    def _quantiles(self, times: list[float]) -> shape.QuantilesData:
        p5, p50, p95 = (statistics.as_data(self._quantile(times, q)) for q in (0.05, 0.5, 0.95))
        return {"p5": p5, "p50": p50, "p95": p95}

    def document(self) -> shape.SummaryData:
        """Return the row as data."""
        times, late = self.completed, self.late
        preempted = self._average("preempted")
        return {
            "runs": len(self.histories),
            "completed": len(times),
            "completion_s": self._quantiles(times) if times else None,
            "late": None if late is None else statistics.as_data(late),
            "cancelled": statistics.as_data(self.cancelled),
            "failed": self._share([run.status is JobStatus.FAILED for run in self.histories]),
            "cost": {
                "mean": statistics.as_data(self._mean(self.costs)),
                "p95": statistics.as_data(self._quantile(sorted(self.costs), 0.95)),
            },
            "until_done": self._until_done(),
            "preempted_nodes": preempted,
            "preempted_cores": preempted * self.scenario.cluster.cores,
            "lost_node_hours": self._average("lost_node_s") / HOUR,
            "attempts": self._average("attempts"),
            "failed_mini_batches": self._average("failed"),
            "histogram": statistics.histogram(times),
            "curve": statistics.curve(self.times_until_done),
        }

    def _until_done(self) -> shape.UntilDoneData:
        """Return all runs under the policy as data."""
        costs, times = self.costs_until_done, self.times_until_done
        pairs = zip(self._spent, self.histories, strict=True)
        spent = [usd for usd, history in pairs if not history.done]
        by_chance = begins_by_chance(self.scenario.processes)
        waits = [history.waited for history in self.histories]
        return {
            "cost": statistics.known(self._mean(costs)),
            "time_s": statistics.known(self._mean(times)),
            "time_p95_s": statistics.known(self._quantile(sorted(times), 0.95)),
            "runs": self._average("tries"),
            "not_done": self.not_done,
            "p_not_done": statistics.as_data(self.p_not_done),
            "spent": statistics.average(spent) if spent else None,
            "carried_by": self.carried_by,
            "hopeless": sum(history.hopeless for history in self.histories),
            "p_dedicated": statistics.as_data(self.switched),
            "p_waited": self._share(waits, certain=not by_chance),
            "if_available": {
                "cost": self._if_available(costs),
                "time_s": self._if_available(times),
            },
        }

    def _average(self, name: str) -> float:
        return statistics.average([*map(attrgetter(name), self.histories)])

    def _share(self, hits: list[bool], *, certain: bool = False) -> shape.EstimateData:
        return statistics.as_data(self._chance(sum(hits), certain=certain))


LATE = 0.05  # how likely a job may miss its deadline


def misses(row: Mapping[str, Any], most_usd: float | None) -> Iterator[str]:
    """Yield a sentence for each limit that a row, as data, does not keep: deadline and cost.

    A job that is not always done keeps neither.
    """
    until_done, late = row["until_done"], row["late"]
    if late is not None and late["value"] > LATE:
        yield f"it misses the deadline in {late['value']:.0%} of cases; 5 % are allowed"
    cost = until_done["cost"]
    if most_usd is not None and (cost is None or until_done["not_done"]):
        chance = until_done["p_not_done"]["value"]
        yield f"it is never done in {chance:.2g} of cases, at any cost"
    elif most_usd is not None and cost is not None and cost["value"] > most_usd:
        yield f"it costs {cost['value']:,.2f} USD until it is done; {most_usd:g} USD are allowed"
