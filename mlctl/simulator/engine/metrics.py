"""Azure Monitor's metrics of a cluster, computed from the event log.

Names and meanings are those of Microsoft.MachineLearningServices/workspaces in Azure Monitor's
reference of supported metrics. None of them counts preparing nodes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import pairwise
from math import ceil, inf

from mlctl.dataclasses import dataclass
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.state import NodeState

MINUTE = 60.0  # seconds; the interval at which Azure Monitor samples

_ENTERS = {
    "SCALE_UP": NodeState.ALLOCATING,
    "ALLOCATED": NodeState.PREPARING,
    "READY": NodeState.IDLE,
    "DISPATCH": NodeState.RUNNING,
    "LAST_SLOT_FREE": NodeState.IDLE,
    "START_FAIL": NodeState.UNUSABLE,
    "LEAVING": NodeState.LEAVING,
    "PREEMPT": NodeState.PREEMPTED,
}
_GOES = frozenset({"LEFT", "RECYCLED", "NOT_WANTED", "RESTORE_EXPIRED"})


class Metric(Enum):
    """What is counted; each metric exists in nodes and in cores."""

    ACTIVE = "Active"
    IDLE = "Idle"
    UNUSABLE = "Unusable"
    LEAVING = "Leaving"
    PREEMPTED = "Preempted"
    TOTAL = "Total"


_COUNTED: dict[Metric, tuple[NodeState, ...]] = {
    Metric.ACTIVE: (NodeState.RUNNING,),
    Metric.IDLE: (NodeState.IDLE,),
    Metric.UNUSABLE: (NodeState.UNUSABLE,),
    Metric.LEAVING: (NodeState.LEAVING,),
    Metric.PREEMPTED: (NodeState.PREEMPTED,),
}
_COUNTED[Metric.TOTAL] = tuple(state for states in _COUNTED.values() for state in states)


@dataclass(frozen=True, slots=True)
class NodeCountSample:
    """A cluster's nodes by state from the second `at` on, and how many it has lost so far."""

    at: float
    nodes: tuple[int, ...]
    preempted: int

    def value(self, metric: Metric) -> int:
        """The number of nodes that a metric counts."""
        return sum(self.nodes[state] for state in _COUNTED[metric])


@dataclass(frozen=True, slots=True)
class Bucket:
    """A metric aggregated over the interval that begins at `start`.

    `average`, `minimum` and `maximum` are numbers of nodes. `total` is the sum of one-minute
    averages; for preempted nodes it is the number of preemptions, so that totals of intervals add
    up.
    """

    start: float
    average: float
    minimum: float
    maximum: float
    total: float

    def in_cores(self, cores: int) -> Bucket:
        """The same in cores, for nodes of this many cores."""
        numbers = (self.average, self.minimum, self.maximum, self.total)
        return Bucket(self.start, *(number * cores for number in numbers))


def entered(event: LoggedEvent) -> NodeState | None:
    """Return the state that an event puts a node into; None if it goes, or stays as it is."""
    return _ENTERS.get(event.event)


class NodeCounter:
    """Counts the nodes of clusters by state, from all events since their creation, in order."""

    def __init__(self) -> None:
        self._states: dict[str, dict[object, NodeState]] = {}
        self._counts: dict[str, tuple[list[int], int]] = {}

    def add(self, event: LoggedEvent) -> tuple[str, NodeCountSample] | None:
        """Return the cluster whose nodes an event changes, and its new counts; else None."""
        facts = event.facts
        enters, number, cluster = entered(event), facts.get("node"), facts.get("cluster")
        if number is None or cluster is None or (enters is None and event.event not in _GOES):
            return None
        name = str(cluster)
        states = self._states.setdefault(name, {})
        nodes, losses = self._counts.get(name) or ([0] * len(NodeState), 0)
        old_state = states.pop(number, None)
        if old_state is not None:
            nodes[old_state] -= 1
        if enters is not None:
            states[number] = enters
            nodes[enters] += 1
        losses += event.event == "PREEMPT"
        self._counts[name] = nodes, losses
        return name, NodeCountSample(event.at, tuple(nodes), losses)


def node_counts(events: Iterable[LoggedEvent], cluster: str) -> Iterator[NodeCountSample]:
    """A cluster's node counts at each change, from all events since the cluster was created."""
    counter = NodeCounter()
    for event in events:
        if event.facts.get("cluster") == cluster:
            change = counter.add(event)
            if change is not None:
                yield change[1]


def aggregate(
    series: Iterable[NodeCountSample], metric: Metric, start: float, end: float, interval: float
) -> list[Bucket]:
    """A metric in nodes, by intervals of `interval` seconds from `start` until at least `end`."""
    samples = [NodeCountSample(-inf, (0,) * len(NodeState), 0), *series]
    times = [point.at for point in samples]
    buckets = []
    for number in range(ceil((end - start) / interval)):
        opens = start + number * interval
        first = bisect_left(times, opens) - 1  # the sample that holds when the interval opens
        current = samples[first : bisect_left(times, opens + interval)]
        buckets.append(_bucket(current, metric, opens, interval))
    return buckets


def _bucket(
    samples: list[NodeCountSample], metric: Metric, opens: float, interval: float
) -> Bucket:
    """Aggregate one interval from its samples; the first one holds at its beginning."""
    values = [point.value(metric) for point in samples]
    times = [opens, *(point.at for point in samples[1:]), opens + interval]
    lengths = [next_at - at for at, next_at in pairwise(times)]
    weighed = sum(value * length for value, length in zip(values, lengths, strict=True))
    values_seen = [value for value, length in zip(values, lengths, strict=True) if length > 0]
    total = weighed / MINUTE
    if metric is Metric.PREEMPTED:
        total = samples[-1].preempted - samples[0].preempted
    return Bucket(opens, weighed / interval, min(values_seen), max(values_seen), total)
