"""What Azure Monitor shows of a cluster, folded from the event log.

The names and what they count are those of Microsoft.MachineLearningServices/workspaces in the
supported-metrics reference. Preparing nodes are in none of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import ceil, inf

from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.state import NodeState

MINUTE = 60.0  # how often the service measures

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
    """What is counted; of each there are nodes and cores."""

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
    """From `at` on a cluster has so many nodes in each state, and has lost so many so far."""

    at: float
    nodes: tuple[int, ...]
    preempted: int

    def value(self, metric: Metric) -> int:
        """The nodes that a metric counts."""
        return sum(self.nodes[state] for state in _COUNTED[metric])


@dataclass(frozen=True, slots=True)
class Bucket:
    """A metric over the interval from `start` on.

    `average`, `minimum` and `maximum` are of the number of nodes. `total` sums the averages of its
    minutes; of preempted nodes it is how many were lost, so that intervals add up.
    """

    start: float
    average: float
    minimum: float
    maximum: float
    total: float

    def in_cores(self, cores: int) -> Bucket:
        """The same in cores."""
        numbers = (self.average, self.minimum, self.maximum, self.total)
        return Bucket(self.start, *(number * cores for number in numbers))


def node_counts(events: Iterable[LoggedEvent], cluster: str) -> Iterator[NodeCountSample]:
    """The nodes of a cluster whenever they change, from all events since it was made."""
    states: dict[object, NodeState] = {}
    nodes, losses = [0] * len(NodeState), 0
    for event in events:
        number = event.facts.get("node")
        if event.facts.get("cluster") != cluster or number is None:
            continue
        enters = _ENTERS.get(event.event)
        if enters is None and event.event not in _GOES:
            continue
        before = states.pop(number, None)
        if before is not None:
            nodes[before] -= 1
        if enters is not None:
            states[number] = enters
            nodes[enters] += 1
        losses += event.event == "PREEMPT"
        yield NodeCountSample(event.at, tuple(nodes), losses)


def aggregate(
    series: Iterable[NodeCountSample], metric: Metric, start: float, end: float, interval: float
) -> list[Bucket]:
    """A metric by intervals of `interval` seconds from `start` until `end` is reached, in nodes."""
    known = [NodeCountSample(-inf, (0,) * len(NodeState), 0), *series]
    times = [point.at for point in known]
    buckets = []
    for number in range(ceil((end - start) / interval)):
        opens = start + number * interval
        held = bisect_left(times, opens) - 1  # what held when it opened
        here = known[held : bisect_left(times, opens + interval)]
        buckets.append(_bucket(here, metric, opens, interval))
    return buckets


def _bucket(here: list[NodeCountSample], metric: Metric, opens: float, interval: float) -> Bucket:
    """One interval: what held when it opened, and every change within."""
    values = [point.value(metric) for point in here]
    times = [opens, *(point.at for point in here[1:]), opens + interval]
    lengths = [after - at for at, after in pairwise(times)]
    weighed = sum(value * length for value, length in zip(values, lengths, strict=True))
    seen = [value for value, length in zip(values, lengths, strict=True) if length > 0]
    total = weighed / MINUTE
    if metric is Metric.PREEMPTED:
        total = here[-1].preempted - here[0].preempted
    return Bucket(opens, weighed / interval, min(seen), max(seen), total)
