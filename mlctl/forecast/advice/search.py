"""Search a job's settings for those that finish it most cheaply.

All configurations have the same luck (keyed draws), and hopeless ones take few histories: after
each rung only the better part continues (successive halving). The rank is the cost until the job is
done, never that of one run: a cluster of one node is the cheapest for one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from math import ceil, fsum, isfinite
from typing import TYPE_CHECKING, NamedTuple

from mlctl import catalog
from mlctl.dataclasses import dataclass, field, replace
from mlctl.forecast import statistics
from mlctl.forecast.batch.policy import History, RecoveryPolicy, Way, parse
from mlctl.forecast.batch.reading import Subject
from mlctl.forecast.batch.study import Study, with_deadline
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.fields import ForecastError, StatedPrices, value_of
from mlctl.forecast.gather import histories
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.statistics import Estimate
from mlctl.pointer import Data
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import PreemptionProcess

if TYPE_CHECKING:
    from concurrent.futures import Executor


RUNGS = (60, 250, 1000)  # histories of a configuration at each rung
_KEPT = 3  # of so many configurations one continues
_LEAST_KEPT, _MOST_SHOWN = 8, 8
_LATE = 0.05  # how likely a recommended configuration may miss the deadline
_ROOM = 2  # a timeout that must grow becomes this multiple of a mini-batch's time

FIELDS = (
    "max_instances",
    "min_instances",
    "instance_count",
    "mini_batch_size",
    "concurrency",
    "timeout",
    "tier",
    "policy",
)
MONTH_S = 730 * HOUR


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a recommended configuration must keep: seconds, USD until done, a chance.

    Such a job comes every `every_s` seconds: the cost of nodes that stay in between is part of each
    configuration's cost.
    """

    deadline_s: float | None = None
    max_cost: float | None = None
    most_cancelled: float | None = None
    every_s: float = MONTH_S / 30


@dataclass(slots=True)
class Candidate:
    """A configuration: the fields that it sets, and its histories so far."""

    settings: Mapping[str, Data]
    study: Study
    place: Place
    wishes: Wishes = Wishes()
    over_quota: str | None = None
    found: list[History] = field(default_factory=list)

    @property
    def summary(self) -> Summary:
        """The summary of its histories."""
        # A configuration that may never complete cannot be recommended, whatever the forecast.
        return Summary(self.study.scenario, self.found, self.wishes.deadline_s)

    @property
    def between(self) -> list[float]:
        """The cost of the nodes of `min_instances` after each history, until the next job.

        Their idle time at the end of a job is already part of the job's cost.
        """
        scenario, every = self.study.scenario, self.wishes.every_s
        price, count = scenario.price / HOUR, scenario.cluster.min_instances
        return [
            price * max(count * (every - history.done_s) - history.staying_s, 0.0)
            for history in self.found
        ]

    @property
    def totals(self) -> list[float]:
        """The USD of each history until done, and between jobs; infinite if never done."""
        costs = self.summary.costs_until_done
        return [cost + idle_cost for cost, idle_cost in zip(costs, self.between, strict=True)]

    @property
    def cost(self) -> float:
        """The average USD until done, with the time between jobs, by which it is ranked.

        Infinite if any history is never done.
        """
        return fsum(self.totals) / len(self.found)

    @property
    def p95_s(self) -> float:
        """The 95th percentile of the time until done."""
        return statistics.quantile(sorted(self.summary.times_until_done), 0.95)

    @property
    def keeps(self) -> bool:
        """Whether it is always done and keeps the wishes, as far as its histories tell."""
        wishes, summary = self.wishes, self.summary
        late, most_cancelled = summary.late, wishes.most_cancelled
        return (
            self.over_quota is None
            and isfinite(self.cost)
            and (late is None or late.value <= _LATE)
            and (wishes.max_cost is None or self.cost <= wishes.max_cost)
            and (most_cancelled is None or summary.cancelled.value <= most_cancelled)
        )


def candidates(
    places: Sequence[Place],
    processes: tuple[PreemptionProcess, ...],
    vary: Mapping[str, Sequence[Data]],
    policy: RecoveryPolicy,
    seed: str,
    wishes: Wishes = Wishes(),
) -> Iterator[Candidate]:
    """Yield every combination of the varied settings in every place, the current one first.

    `max_instances` alone also sets `instance_count`: a job takes no more nodes. A timeout that
    would end every attempt grows.
    """
    known_scenarios: set[tuple[Scenario, str, str, str]] = set()
    own = places[0]
    plain: Mapping[str, Data] = {}
    tried = (dict(zip(vary, row, strict=True)) for row in product(*vary.values()))
    for place, values in chain([(own, plain)], product(places, list(tried))):
        changed = _varied(place.scenario, values)
        plan = parse(str(values["policy"])) if values.get("policy") is not None else policy
        if str(values.get("tier", own.scenario.cluster.tier.value)) == Tier.DEDICATED.value:
            variant, plan = changed.dedicated, RecoveryPolicy(Way.DEDICATED)
        else:
            variant = changed.under(processes)
        configuration = (variant, str(plan), place.size, place.region)
        if configuration not in known_scenarios:
            known_scenarios.add(configuration)
            settings = _settings(own.scenario, variant, plan, policy)
            if place.size != own.size:
                settings["size"] = place.size
            if place.region != own.region:
                settings["location"] = place.region
            yield Candidate(settings, Study(variant, plan, seed), place, wishes)


def _varied(scenario: Scenario, values: Mapping[str, Data]) -> Scenario:
    settings = {**_fields(scenario), **values}
    most = int(settings["max_instances"])
    if "max_instances" in values and "instance_count" not in values:
        settings["instance_count"] = most
    job = replace(
        scenario.job,
        instance_count=int(settings["instance_count"]),
        mini_batch_size=int(settings["mini_batch_size"]),
        concurrency=int(settings["concurrency"]),
        timeout_s=float(settings["timeout"]),
    )
    work = job.workload
    longest = max(work.trace, default=0.0) or (
        work.per_mini_batch_s + min(job.mini_batch_size, job.files) * work.per_file_s
    )
    if longest > job.timeout_s:
        job = replace(job, timeout_s=float(ceil(_ROOM * longest)))
    least = min(int(settings["min_instances"]), most)
    cluster = replace(scenario.cluster, max_instances=most, min_instances=least)
    return replace(scenario, job=job, cluster=cluster)


def _settings(
    was: Scenario, variant: Scenario, plan: RecoveryPolicy, usual: RecoveryPolicy
) -> dict[str, Data]:
    """Return the fields in which a configuration differs from the current one."""
    old, new = _fields(was), _fields(variant)
    changed = {name: new[name] for name in new if old[name] != new[name]}
    if plan.way is not Way.DEDICATED and plan != usual:
        changed["policy"] = str(plan)
    return changed


def _fields(scenario: Scenario) -> dict[str, Data]:
    job, cluster = scenario.job, scenario.cluster
    return {
        "tier": cluster.tier.value,
        "max_instances": cluster.max_instances,
        "min_instances": cluster.min_instances,
        "instance_count": job.instance_count,
        "mini_batch_size": job.mini_batch_size,
        "concurrency": job.concurrency,
        "timeout": job.timeout_s,
    }


def halve(
    field_: Sequence[Candidate],
    executor: Executor | None,
    runs: int,
    note: Callable[[int], None] = lambda _: None,
) -> tuple[list[Candidate], bool]:
    """Return the configurations that deserve all histories, cheapest first; the first one stays.

    Also return whether the search was completed: if Ctrl-C ended it, these are the remaining ones,
    with the histories that each has.

    Raises:
        KeyboardInterrupt: not all of them have their first histories yet.
    """
    remaining = list(field_)
    studies = with_deadline(
        [candidate.study for candidate in remaining], remaining[0].wishes.deadline_s, executor
    )
    for candidate, study in zip(remaining, studies, strict=True):
        candidate.study = study
    try:
        for rung in [*(size for size in RUNGS if size < runs), runs]:
            parts = [
                (candidate.study, range(len(candidate.found), rung)) for candidate in remaining
            ]
            for at, batch_histories in histories(parts, executor):
                remaining[at].found.extend(batch_histories)
                note(len(batch_histories))
            if rung < runs:
                cheapest = rank(remaining)[: max(len(remaining) // _KEPT, _LEAST_KEPT)]
                chosen = {id(choice) for choice in (*cheapest, *front(remaining), field_[0])}
                remaining = [candidate for candidate in remaining if id(candidate) in chosen]
    except KeyboardInterrupt:
        if not all(candidate.found for candidate in remaining):
            raise
        return rank(remaining), False
    return rank(remaining), True


def rank(candidates_: Sequence[Candidate]) -> list[Candidate]:
    """Sort the cheapest first, after those that keep the wishes."""
    return sorted(
        candidates_,
        key=lambda candidate: (
            not candidate.keeps,
            candidate.summary.not_done / len(candidate.found),
            candidate.cost,
        ),
    )


def front(field_: Sequence[Candidate]) -> list[Candidate]:
    """Return those that no other beats in both cost until done and 95th percentile of time."""
    best: list[Candidate] = []
    for candidate in sorted(field_, key=lambda candidate: (candidate.cost, candidate.p95_s)):
        if not best or candidate.p95_s < best[-1].p95_s:
            best.append(candidate)
    return best[:_MOST_SHOWN]


def margin(best: Candidate, rival: Candidate) -> Estimate | None:
    """Return by how many USD `best` is cheaper, history by history on the same draws.

    None if the rival is not always done.
    """
    if not isfinite(rival.cost):
        return None
    count = min(len(best.found), len(rival.found))
    return statistics.difference(rival.totals[:count], best.totals[:count])


ALIKE, ALL_KNOWN = "alike", "all-known"
_MORE_MEMORY = 1.25  # of sizes alike: series of the same shape differ by an eighth or so


class Place(NamedTuple):
    """A VM size in a region, and the job on nodes of it.

    Draws do not hang on it: the job has the same luck everywhere. `eviction_rate` is what the price
    list says of Spot there, in percent an hour; "" is not known.
    """

    size: str
    region: str
    scenario: Scenario
    eviction_rate: str = ""


def own_place(subject: Subject, stated: StatedPrices) -> Place:
    """Return the cluster's own place."""
    size = str(value_of(subject.cluster, "size") or "")
    region = catalog.region(stated.region_of(subject.cluster))
    rate = stated.price_list.price(size, region).eviction_rate
    return Place(size, region, subject.scenario, rate)


def places(
    subject: Subject, stated: StatedPrices, regions: Sequence[str], sizes: Sequence[str]
) -> tuple[list[Place], list[str]]:
    """Return the other places of these regions and sizes (none: its own), and unpriced ones."""
    own = own_place(subject, stated)
    priced = stated.price_list.every_price
    all_regions = sorted({region for _, region in priced})
    chosen = list(_regions(regions, all_regions)) or [own.region]
    tried, unknown = [own], list[str]()
    for size in list(_sizes(sizes, own.size)) or [own.size]:
        for region in chosen:
            if (size.casefold(), region) == (own.size.casefold(), own.region):
                continue
            price, vm_size = stated.price_list.price(size, region), catalog.size_of(size)
            if price.dedicated is None or price.spot is None or vm_size is None:
                unknown.append(f"{size} in {region}")
                continue
            cluster = replace(subject.scenario.cluster, price=price.dedicated, cores=vm_size.vcpus)
            scenario = replace(subject.scenario, cluster=cluster, low_priority_price=price.spot)
            tried.append(Place(size, region, scenario, price.eviction_rate))
    return tried, unknown


def _regions(names: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name == ALL_KNOWN:
            yield from known
        elif catalog.knows_region(name):
            yield catalog.region(name)
        else:
            raise ForecastError(f"`{name}` is not an Azure region: write its name, or {ALL_KNOWN}")


def _sizes(names: Sequence[str], own: str) -> Iterator[str]:
    """Yield the named sizes, or those like its own.

    They have the same cores and GPUs, at least as much memory, and are not to be retired.
    """
    for name in names:
        size = catalog.find_size(own if name == ALIKE else name)
        if size is None:
            raise ForecastError(f"the size `{own if name == ALIKE else name}` is unknown")
        if name != ALIKE:
            yield size.name
            continue
        for candidate in catalog.sizes().values():
            shape = (size.vcpus, size.gpus, size.gpu_type)
            alike = shape == (candidate.vcpus, candidate.gpus, candidate.gpu_type)
            alike = alike and 1 <= candidate.memory_gib / size.memory_gib <= _MORE_MEMORY
            if alike and catalog.retirement(candidate.name) is None:
                yield candidate.name
