"""The history of clusters' nodes, in a bounded number of points, and the last events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from mlctl.dataclasses import dataclass, field
from mlctl.render.page.svg import Lane, Spell
from mlctl.simulator.control_plane.jobs.job_events import with_resource_names
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.metrics import NodeCounter, entered
from mlctl.simulator.engine.state import NodeState

MOST_POINTS = 600  # of a series; beyond that every second one is dropped
MOST_LANES, MOST_SPELLS = 24, 60  # nodes of a cluster with a row, and spells remembered per node
MOST_EVENTS = 200
BILL_EVERY_S = 60.0  # of virtual time, at the shortest


@dataclass(slots=True)
class Points:
    """A series of rows of numbers over seconds; as it grows, the past gets coarser."""

    times: list[float] = field(default_factory=list)
    rows: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, at: float, row: tuple[float, ...]) -> None:
        """Add a row; of one moment the last row stays."""
        if self.times and self.times[-1] >= at:
            self.rows[-1] = row
            return
        self.times.append(at)
        self.rows.append(row)
        if len(self.times) > MOST_POINTS:
            del self.times[1:-1:2], self.rows[1:-1:2]


class History:
    """The nodes of a workspace's clusters over time, and its last events."""

    def __init__(self, workspace_id: int) -> None:
        self.workspace = workspace_id
        self.prefix = f"{workspace_id}/"
        self._counter = NodeCounter()
        self.nodes: dict[str, Points] = {}
        self.bill = Points()
        self.events: deque[LoggedEvent] = deque(maxlen=MOST_EVENTS)
        self._spells: dict[str, dict[int, deque[tuple[NodeState | None, float]]]] = {}

    def add(self, events: Iterable[LoggedEvent], spent: Callable[[], float]) -> list[LoggedEvent]:
        """Add events of the whole cloud, in order; return the workspace's, under its names.

        `spent` returns what has been billed when an event happens.
        """
        mine = []
        for event in events:
            if not self.bill.times or event.at >= self.bill.times[-1] + BILL_EVERY_S:
                self.bill.add(event.at, (spent(),))
            if not self._is_mine(event.facts):
                continue
            renamed = with_resource_names(event)
            mine.append(renamed)
            change = self._counter.add(event)
            if change is None:
                continue
            cluster = str(renamed.facts["cluster"])
            self.nodes.setdefault(cluster, Points()).add(event.at, change[1].nodes)
            self._remember(cluster, event)
        self.events.extend(mine)
        return mine

    def lanes(self, cluster: str, now: float) -> tuple[float, list[Lane]]:
        """Return the start of the remembered time, and a lane for each of the first nodes.

        Their times are seconds since then.
        """
        spells = self._spells.get(cluster, {})
        start = min((begins[0][1] for begins in spells.values()), default=now)
        lanes = []
        for number in sorted(spells):
            begins = list(spells[number])
            ends = [at for _, at in begins[1:]] + [now]
            lane = [
                Spell(state.name.lower(), begin - start, end - start)
                for (state, begin), end in zip(begins, ends, strict=True)
                if end > begin and state is not None
            ]
            if lane:
                lanes.append(Lane(f"node {number}", tuple(lane)))
        return start, lanes

    def _is_mine(self, facts: Mapping[str, object]) -> bool:
        names = [facts[key] for key in ("job", "cluster", "pool") if key in facts]
        return not names or str(names[0]).startswith(self.prefix)

    def _remember(self, cluster: str, event: LoggedEvent) -> None:
        number = int(str(event.facts["node"]))
        if number >= MOST_LANES:
            return
        nodes = self._spells.setdefault(cluster, {})
        state = entered(event)
        if number not in nodes:
            nodes[number] = deque(maxlen=MOST_SPELLS)
        nodes[number].append((state, event.at))
