"""Searches the settings of a job for those that finish it most cheaply.

All configurations have the same luck (keyed draws), and the hopeless ones cost few histories: after
each rung only the better part goes on (successive halving). Ranked is the cost until the job is
done, never that of a run: a cluster of one node is the cheapest for a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import product
from math import ceil

from mlctl.forecast import statistics
from mlctl.forecast.policy import History, Policy, Way, parse
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.statistics import Estimate
from mlctl.forecast.study import Study, histories, with_deadline
from mlctl.forecast.summary import Summary
from mlctl.pointer import Data
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.processes import PreemptionProcess

RUNGS = (60, 250, 1000)  # histories of a configuration that got that far
_KEPT = 3  # of so many configurations one goes on
_LEAST_KEPT, _MOST_SHOWN = 8, 8
_LATE = 0.05  # how likely a recommended configuration may miss the deadline
_ROOM = 2  # a timeout that has to grow becomes so many times the time of a mini-batch

FIELDS = ("max_instances", "instance_count", "mini_batch_size", "concurrency", "tier", "policy")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a recommended configuration has to keep: seconds, USD until done, a chance."""

    deadline_s: float | None = None
    budget: float | None = None
    most_cancelled: float | None = None


@dataclass(slots=True)
class Candidate:
    """A configuration: the fields that it sets, and its histories so far."""

    settings: Mapping[str, Data]
    study: Study
    found: list[History] = field(default_factory=list)

    def summary(self, wishes: Wishes) -> Summary:
        """What its histories come to."""
        return Summary(self.study.scenario, self.found, wishes.deadline_s)

    @property
    def cost(self) -> float:
        """USD until done, on average."""
        return statistics.mean(Summary(self.study.scenario, self.found).costs_until_done).value

    @property
    def p95_s(self) -> float:
        """The 95th percentile of the time until done."""
        return statistics.quantile(sorted(one.done_s for one in self.found), 0.95)

    def keeps(self, wishes: Wishes) -> bool:
        """Whether it keeps what is wished, as far as its histories tell."""
        summary = self.summary(wishes)
        late = summary.late
        if late is not None and late.value > _LATE:
            return False
        if wishes.budget is not None and self.cost > wishes.budget:
            return False
        most = wishes.most_cancelled
        return most is None or summary.cancelled.value <= most


def candidates(
    scenario: Scenario,
    processes: tuple[PreemptionProcess, ...],
    vary: Mapping[str, Sequence[Data]],
    policy: Policy,
    seed: str,
) -> Iterator[Candidate]:
    """Every combination of what may vary; the scenario as it is comes first.

    `max_instances` alone sets `instance_count` too: a job takes no more nodes than that.
    """
    seen: set[Scenario | tuple[Scenario, str]] = set()
    plain: Mapping[str, Data] = {}
    for values in [plain, *(dict(zip(vary, row, strict=True)) for row in product(*vary.values()))]:
        changed = _with(scenario, values)
        plan = _policy(values.get("policy"), policy)
        if str(values.get("tier", scenario.cluster.tier.value)) == Tier.DEDICATED.value:
            there, plan = changed.dedicated, Policy(Way.DEDICATED)
        else:
            there = changed.under(processes)
        if (there, str(plan)) not in seen:
            seen.add((there, str(plan)))
            yield Candidate(_told(scenario, there, plan, policy), Study(there, plan, seed))


def _with(scenario: Scenario, values: Mapping[str, Data]) -> Scenario:
    job, cluster = scenario.job, scenario.cluster
    most = int(values.get("max_instances", cluster.max_instances))
    nodes = int(
        values.get("instance_count", most if "max_instances" in values else job.instance_count)
    )
    job = replace(
        job,
        instance_count=nodes,
        mini_batch_size=int(values.get("mini_batch_size", job.mini_batch_size)),
        concurrency=int(values.get("concurrency", job.concurrency)),
    )
    work = job.workload
    longest = max(work.trace, default=0.0) or (
        work.per_mini_batch_s + min(job.mini_batch_size, job.files) * work.per_file_s
    )
    if longest > job.timeout_s:
        job = replace(job, timeout_s=float(ceil(_ROOM * longest)))
    cluster = replace(cluster, max_instances=most, min_instances=min(cluster.min_instances, most))
    return replace(scenario, job=job, cluster=cluster)


def _policy(text: Data, policy: Policy) -> Policy:
    return policy if text is None else parse(str(text))


def _told(was: Scenario, there: Scenario, plan: Policy, usual: Policy) -> dict[str, Data]:
    """The fields in which a configuration differs from what there is."""
    pairs: dict[str, tuple[Data, Data]] = {
        "tier": (was.cluster.tier.value, there.cluster.tier.value),
        "max_instances": (was.cluster.max_instances, there.cluster.max_instances),
        "instance_count": (was.job.instance_count, there.job.instance_count),
        "mini_batch_size": (was.job.mini_batch_size, there.job.mini_batch_size),
        "concurrency": (was.job.concurrency, there.job.concurrency),
        "timeout": (was.job.timeout_s, there.job.timeout_s),
    }
    told = {name: new for name, (old, new) in pairs.items() if old != new}
    if plan.way is not Way.DEDICATED and plan != usual:
        told["policy"] = str(plan)
    return told


def halve(
    field_: Sequence[Candidate], wishes: Wishes, executor: Executor | None, most: int
) -> tuple[list[Candidate], bool]:
    """The configurations that are worth all histories, the cheapest first; the first one stays.

    And whether that was carried out to its end: where Ctrl-C ended it, these are the ones that were
    left, by the histories that each has.

    Raises:
        KeyboardInterrupt: not even the first histories of all of them are there.
    """
    left = list(field_)
    if wishes.deadline_s is not None:
        for one in left:
            one.study = with_deadline(one.study, wishes.deadline_s)
    try:
        for rung in [*(each for each in RUNGS if each < most), most]:
            for one in left:
                for chunk in histories(one.study, range(len(one.found), rung), executor):
                    one.found.extend(chunk)
            if rung < most:
                left = _better(left, wishes, field_[0])
    except KeyboardInterrupt:
        if not all(one.found for one in left):
            raise
        return _ranked(left, wishes), False
    return _ranked(left, wishes), True


def _better(left: Sequence[Candidate], wishes: Wishes, now: Candidate) -> list[Candidate]:
    """The part of the configurations that goes on."""
    kept = _ranked(left, wishes)[: max(len(left) // _KEPT, _LEAST_KEPT)]
    chosen = {id(one) for one in (*kept, *front(left), now)}
    return [one for one in left if id(one) in chosen]


def _ranked(left: Sequence[Candidate], wishes: Wishes) -> list[Candidate]:
    return sorted(left, key=lambda one: (not one.keeps(wishes), one.cost))


def front(field_: Sequence[Candidate]) -> list[Candidate]:
    """Those that no other beats in both the cost until done and the 95th percentile of the time."""
    best: list[Candidate] = []
    for one in sorted(field_, key=lambda each: (each.cost, each.p95_s)):
        if not best or one.p95_s < best[-1].p95_s:
            best.append(one)
    return best[:_MOST_SHOWN]


def margin(best: Candidate, other: Candidate) -> Estimate:
    """By how many USD until done `best` is cheaper, history by history on the same draws."""
    ours = Summary(best.study.scenario, best.found).costs_until_done
    theirs = Summary(other.study.scenario, other.found).costs_until_done
    return statistics.difference(theirs, ours)
