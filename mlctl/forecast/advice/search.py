"""Searches the settings of a job for those that finish it most cheaply.

All configurations have the same luck (keyed draws), and the hopeless ones cost few histories: after
each rung only the better part goes on (successive halving). Ranked is the cost until the job is
done, never that of a run: a cluster of one node is the cheapest for a run.
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


RUNGS = (60, 250, 1000)  # histories of a configuration that got that far
_KEPT = 3  # of so many configurations one goes on
_LEAST_KEPT, _MOST_SHOWN = 8, 8
_LATE = 0.05  # how likely a recommended configuration may miss the deadline
_ROOM = 2  # a timeout that has to grow becomes so many times the time of a mini-batch

FIELDS = (
    *("max_instances", "min_instances", "instance_count", "mini_batch_size", "concurrency"),
    *("timeout", "tier", "policy"),
)
MONTH_S = 730 * HOUR


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a recommended configuration has to keep: seconds, USD until done, a chance.

    Such a job comes every `every_s` seconds: what the nodes that stay cost in between is a part of
    what each costs.
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
        """What its histories come to."""
        # One run that comes to nothing is no configuration to recommend, however it is forecast.
        return Summary(self.study.scenario, self.found, self.wishes.deadline_s)

    @property
    def between(self) -> list[float]:
        """What the nodes of `min_instances` cost after each history, until the next job.

        Their idle time at the end of a job is a part of what the job costs.
        """
        scenario, every = self.study.scenario, self.wishes.every_s
        price, count = scenario.price / HOUR, scenario.cluster.min_instances
        return [
            price * max(count * (every - history.done_s) - history.staying_s, 0.0)
            for history in self.found
        ]

    @property
    def totals(self) -> list[float]:
        """USD until done of each history, and what is between; infinite where it is never done."""
        costs = self.summary.costs_until_done
        return [cost + idle_cost for cost, idle_cost in zip(costs, self.between, strict=True)]

    @property
    def cost(self) -> float:
        """USD until done, on average, and what is between: what is ranked.

        Infinite where some history is never done.
        """
        return fsum(self.totals) / len(self.found)

    @property
    def p95_s(self) -> float:
        """The 95th percentile of the time until done."""
        return statistics.quantile(sorted(self.summary.times_until_done), 0.95)

    @property
    def keeps(self) -> bool:
        """Whether it is always done and keeps what is wished, as far as its histories tell."""
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
    """Every combination of what may vary, in every place; the first place as it is comes first.

    `max_instances` alone sets `instance_count` too: a job takes no more nodes than that. A timeout
    that would end every attempt grows.
    """
    known_scenarios: set[tuple[Scenario, str, str, str]] = set()
    own = places[0]
    plain: Mapping[str, Data] = {}
    tried = (dict(zip(vary, row, strict=True)) for row in product(*vary.values()))
    for place, values in chain([(own, plain)], product(places, list(tried))):
        changed = _varied(place.scenario, values)
        plan = _policy(values.get("policy"), policy)
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
    job, cluster = scenario.job, scenario.cluster
    max_instances = int(values.get("max_instances", cluster.max_instances))
    nodes = int(
        values.get(
            "instance_count", max_instances if "max_instances" in values else job.instance_count
        )
    )
    job = replace(
        job,
        instance_count=nodes,
        mini_batch_size=int(values.get("mini_batch_size", job.mini_batch_size)),
        concurrency=int(values.get("concurrency", job.concurrency)),
        timeout_s=float(values.get("timeout", job.timeout_s)),
    )
    work = job.workload
    longest = max(work.trace, default=0.0) or (
        work.per_mini_batch_s + min(job.mini_batch_size, job.files) * work.per_file_s
    )
    if longest > job.timeout_s:
        job = replace(job, timeout_s=float(ceil(_ROOM * longest)))
    least = min(int(values.get("min_instances", cluster.min_instances)), max_instances)
    cluster = replace(cluster, max_instances=max_instances, min_instances=least)
    return replace(scenario, job=job, cluster=cluster)


def _policy(text: Data, policy: RecoveryPolicy) -> RecoveryPolicy:
    return policy if text is None else parse(str(text))


def _settings(
    was: Scenario, variant: Scenario, plan: RecoveryPolicy, usual: RecoveryPolicy
) -> dict[str, Data]:
    """The fields in which a configuration differs from what there is."""
    pairs: dict[str, tuple[Data, Data]] = {
        "tier": (was.cluster.tier.value, variant.cluster.tier.value),
        "max_instances": (was.cluster.max_instances, variant.cluster.max_instances),
        "min_instances": (was.cluster.min_instances, variant.cluster.min_instances),
        "instance_count": (was.job.instance_count, variant.job.instance_count),
        "mini_batch_size": (was.job.mini_batch_size, variant.job.mini_batch_size),
        "concurrency": (was.job.concurrency, variant.job.concurrency),
        "timeout": (was.job.timeout_s, variant.job.timeout_s),
    }
    changed = {name: new for name, (old, new) in pairs.items() if old != new}
    if plan.way is not Way.DEDICATED and plan != usual:
        changed["policy"] = str(plan)
    return changed


def halve(
    field_: Sequence[Candidate],
    executor: Executor | None,
    runs: int,
    note: Callable[[int], None] = lambda _: None,
) -> tuple[list[Candidate], bool]:
    """The configurations that are worth all histories, the cheapest first; the first one stays.

    And whether that was carried out to its end: where Ctrl-C ended it, these are the ones that were
    left, by the histories that each has.

    Raises:
        KeyboardInterrupt: not even the first histories of all of them are there.
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
                remaining = _better(remaining, field_[0])
    except KeyboardInterrupt:
        if not all(candidate.found for candidate in remaining):
            raise
        return ranked(remaining), False
    return ranked(remaining), True


def _better(remaining: Sequence[Candidate], now: Candidate) -> list[Candidate]:
    """The part of the configurations that goes on."""
    cheapest = ranked(remaining)[: max(len(remaining) // _KEPT, _LEAST_KEPT)]
    chosen = {id(candidate) for candidate in (*cheapest, *front(remaining), now)}
    return [candidate for candidate in remaining if id(candidate) in chosen]


def ranked(candidates_: Sequence[Candidate]) -> list[Candidate]:
    """The cheapest first, after those that keep what is wished."""
    return sorted(
        candidates_,
        key=lambda candidate: (
            not candidate.keeps,
            candidate.summary.not_done / len(candidate.found),
            candidate.cost,
        ),
    )


def front(field_: Sequence[Candidate]) -> list[Candidate]:
    """Those that no other beats in both the cost until done and the 95th percentile of the time."""
    best: list[Candidate] = []
    for candidate in sorted(field_, key=lambda candidate: (candidate.cost, candidate.p95_s)):
        if not best or candidate.p95_s < best[-1].p95_s:
            best.append(candidate)
    return best[:_MOST_SHOWN]


def margin(best: Candidate, rival: Candidate) -> Estimate | None:
    """By how many USD `best` is cheaper, history by history on the same draws.

    None where the rival is not always done: there is nothing to compare then.
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
    """Where the cluster is."""
    size = str(value_of(subject.cluster, "size") or "")
    region = catalog.region(stated.region_of(subject.cluster))
    rate = stated.price_list.price(size, region).eviction_rate
    return Place(size, region, subject.scenario, rate)


def places(
    subject: Subject, stated: StatedPrices, regions: Sequence[str], sizes: Sequence[str]
) -> tuple[list[Place], list[str]]:
    """The other places of these regions and sizes (none: its own), and those without a price."""
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
            raise ForecastError(f"`{name}` is no region of Azure: write its name, or {ALL_KNOWN}")


def _sizes(names: Sequence[str], own: str) -> Iterator[str]:
    """The sizes of these names; those that are like its own.

    They have the same cores and GPUs, at least as much memory, and are not to be retired.
    """
    for name in names:
        size = catalog.find_size(own if name == ALIKE else name)
        if size is None:
            raise ForecastError(f"the size `{own if name == ALIKE else name}` is not known")
        if name != ALIKE:
            yield size.name
            continue
        for candidate in catalog.sizes().values():
            shape = (size.vcpus, size.gpus, size.gpu_type)
            alike = shape == (candidate.vcpus, candidate.gpus, candidate.gpu_type)
            alike = alike and 1 <= candidate.memory_gib / size.memory_gib <= _MORE_MEMORY
            if alike and catalog.retirement(candidate.name) is None:
                yield candidate.name
