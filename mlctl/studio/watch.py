"""Keep pages up to date: notice changes of a workspace, and advance virtual time.

A page is notified of a change, and requests the parts that it shows.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from itertools import takewhile
from pathlib import Path

from mlctl import source
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Report
from mlctl.render.page.svg import Lane, Stretch
from mlctl.schema.text import counted
from mlctl.service_errors import Permanent, ServiceError
from mlctl.simulator.control_plane import control, replay
from mlctl.simulator.control_plane.jobs.job_events import with_resource_names
from mlctl.simulator.engine import usage
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


class NodeHistory:
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
            names = [event.facts[key] for key in ("job", "cluster", "pool") if key in event.facts]
            if names and not str(names[0]).startswith(self.prefix):
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
                Stretch(state.name.lower(), begin - start, end - start)
                for (state, begin), end in zip(begins, ends, strict=True)
                if end > begin and state is not None
            ]
            if lane:
                lanes.append(Lane(f"node {number}", tuple(lane)))
        return start, lanes

    def _remember(self, cluster: str, event: LoggedEvent) -> None:
        number = int(str(event.facts["node"]))
        if number >= MOST_LANES:
            return
        nodes = self._spells.setdefault(cluster, {})
        state = entered(event)
        if number not in nodes:
            nodes[number] = deque(maxlen=MOST_SPELLS)
        nodes[number].append((state, event.at))


PERIOD_S = 0.5  # between two looks
AZURE_PERIOD_S = 15.0  # the same, if each look is a request across the network
SPEEDS = (1, 10, 60, 600, 3600)  # virtual seconds per real second
_MOST_STEP_S = 5.0  # real seconds that one step of played time may cover
_SHARE = 20  # at most this share of the time is spent looking at the files


class Watch:
    """A watched workspace: `revision` grows with every change.

    `says` is what a screen reader announces of the last change. For the simulated cloud it has a
    history of nodes and the speed of virtual time (0: it stands still).
    """

    def __init__(self, backend: Backend, folders: Collection[str] = ()) -> None:
        """Watch a backend; `folders` have the plan that is shown, whose files also count."""
        self.local = backend.observing() if isinstance(backend, LocalBackend) else None
        self.backend = self.local or backend
        self.revision = 1
        self.speed = 0
        self.says = ""
        self.listeners = 0
        self.history: NodeHistory | None = None
        self._folders = folders
        self._lock = threading.RLock()
        self._follower: replay.Follower | None = None
        self._version: object = None
        self._looked = 0.0
        self.saved: object = None  # what distinguishes one state of the files from another
        self._next_stamp = 0.0
        self._stop = threading.Event()

    def start(self) -> None:
        """Look regularly, in a new thread, while anybody listens or time is played."""
        threading.Thread(target=self._run, name="studio", daemon=True).start()

    def stop(self) -> None:
        """End the thread after its current work."""
        self._stop.set()

    def _run(self) -> None:
        last = time.monotonic()
        if self.local is not None:
            with suppress(ServiceError):  # the pages say it
                self.follow()
        while not self._stop.wait(PERIOD_S):
            now = time.monotonic()
            if self.listeners or self.speed:
                try:
                    self.look(now - last)
                except ServiceError as error:
                    self.speed = 0
                    self._change(error.message)
            last = now

    def look(self, elapsed: float) -> None:
        """Advance played time by so many real seconds, and check for changes."""
        self._check_files()
        if self.local is None:
            self._looked += elapsed
            if self._looked >= AZURE_PERIOD_S:
                self._looked = 0.0
                self._change()
            return
        if self.speed:
            with self._lock:
                control.wait(self.local.handle, min(elapsed, _MOST_STEP_S) * self.speed)
        with self.local.handle.store.read() as db:
            version = (
                db.execute("PRAGMA data_version").fetchone(),
                db.execute("SELECT now FROM world").fetchone(),
            )
        if version != self._version:
            self._version = version
            self.follow()
            self._change()

    def _check_files(self) -> None:
        """Check whether a file was saved; less often if that takes long."""
        begin = time.monotonic()
        if begin < self._next_stamp:
            return
        stamp = _stamp(self._folders)
        self._next_stamp = begin + _SHARE * (time.monotonic() - begin)
        if stamp != self.saved:
            self.saved = stamp
            self._change()

    @property
    def cloud(self) -> LocalBackend:
        """Return the simulated cloud.

        Raises:
            ServiceError: the workspace is a real one, which the studio only reads.
        """
        if self.local is None:
            text = "The studio only reads workspaces on Azure: use the commands to change them."
            raise Permanent("ReadOnly", text, status=403)
        return self.local

    def act(self, action: Callable[[LocalBackend], str]) -> str:
        """Change something in the simulated cloud; describe what was done."""
        with self._lock:
            text = action(self.cloud)
            self.follow()
            self._change(text)
        return text

    def follow(self) -> NodeHistory:
        """Return the history of the simulated cloud, up to now."""
        handle = self.cloud.handle
        with self._lock:
            with handle.store.read() as db:
                workspace = handle.state(db).id  # another one once the workspace exists
            history, follower = self.history, self._follower
            is_other = history is None or history.workspace != workspace
            if history is None or is_other or follower is None or follower.was_reset():
                history = self.history = NodeHistory(workspace)
                follower = self._follower = replay.Follower(handle.store, detail=False)
            is_first = not history.bill.times
            spent = partial(_spent, follower, history.prefix)
            events = history.add(follower.events(), spent)
            history.bill.add(control.now(handle), (spent(),))
            if not is_first:
                self.says = _describe(events) or self.says
            return history

    def _change(self, text: str = "") -> None:
        self.says = text or self.says
        self.revision += 1


def _spent(follower: replay.Follower, prefix: str) -> float:
    """Return the cost of a workspace's clusters and pools, if prices are known."""
    assert follower.world is not None
    billed = takewhile(lambda row: row.kind != usage.JOB, usage.usage(follower.world))
    return sum(row.cost or 0.0 for row in billed if row.name.startswith(prefix))


def _describe(events: Collection[LoggedEvent]) -> str:
    """Describe the last job that ended, or how many nodes were lost, in a sentence."""
    lost = sum(event.event == "PREEMPT" for event in events)
    ended = [event for event in events if event.event == "JOB_ENDED"]
    parts = [f"{counted(lost, 'node')} preempted"] if lost else []
    parts += [
        f"job {event.facts['job']}: {event.facts.get('status', 'ended')}" for event in ended[-1:]
    ]
    return "; ".join(parts)


def _stamp(folders: Collection[str]) -> object:
    """Return the files that a plan reads, with times of saving; None if unreadable."""
    stamps = []
    for file in source.discover([*folders], Report()) if folders else ():
        with suppress(OSError):
            status = Path(file.path).stat()
            stamps.append((file.path, status.st_mtime_ns, status.st_size))
    return stamps
