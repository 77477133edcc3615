"""What keeps a page up to date: looks whether a workspace has changed, and moves virtual time.

A page is told that something has changed, and asks for the parts that it shows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from itertools import takewhile
from pathlib import Path

from mlctl import source
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend
from mlctl.diagnostics import Report
from mlctl.schema.text import counted
from mlctl.service_errors import Permanent, ServiceError
from mlctl.simulator.control_plane import control, replay
from mlctl.simulator.engine import usage
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.studio.history import History

PERIOD_S = 0.5  # between two looks
AZURE_PERIOD_S = 15.0  # the same, where each look is a request across the network
SPEEDS = (1, 10, 60, 600, 3600)  # virtual seconds in a real one
_MOST_STEP_S = 5.0  # real seconds that one step of played time may stand for
_SHARE = 20  # of the time, looking at the files takes one part at most


class Watch:
    """A workspace that is watched: `revision` grows whenever something in it has changed.

    `says` is what a screen reader is told of the last change. On the simulated cloud there are a
    history of its nodes and a speed at which virtual time is played (0: it stands).
    """

    def __init__(self, backend: Backend, folders: Collection[str] = ()) -> None:
        """`folders` are those whose plan is shown: a saved file is a change, too."""
        self.local = backend.observing() if isinstance(backend, LocalBackend) else None
        self.backend = self.local or backend
        self.revision = 1
        self.speed = 0
        self.says = ""
        self.listeners = 0
        self.history: History | None = None
        self._folders = folders
        self._lock = threading.RLock()
        self._follower: replay.Follower | None = None
        self._version: object = None
        self._looked = 0.0
        self.saved: object = None  # what tells one state of the files from another
        self._next_stamp = 0.0
        self._stop = threading.Event()

    def start(self) -> None:
        """Look now and then, in a thread of its own, while anybody listens or time is played."""
        threading.Thread(target=self._run, name="studio", daemon=True).start()

    def stop(self) -> None:
        """End the thread; what it is doing is finished."""
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
        """Move played time on by so many real seconds, and see whether anything has changed.

        Raises:
            ServiceError: the workspace cannot be read.
        """
        self._look_at_files()
        if self.local is None:
            self._looked += elapsed
            if self._looked >= AZURE_PERIOD_S:
                self._looked = 0.0
                self._change()
            return
        if self.speed:
            with self._lock:
                self.advance(min(elapsed, _MOST_STEP_S) * self.speed)
        with self.local.handle.store.read() as db:
            version = (
                db.execute("PRAGMA data_version").fetchone(),
                db.execute("SELECT now FROM world").fetchone(),
            )
        if version != self._version:
            self._version = version
            self.follow()
            self._change()

    def _look_at_files(self) -> None:
        """See whether a file was saved; where that takes long, not at each look."""
        begin = time.monotonic()
        if begin < self._next_stamp:
            return
        stamp = _stamp(self._folders)
        self._next_stamp = begin + _SHARE * (time.monotonic() - begin)
        if stamp != self.saved:
            self.saved = stamp
            self._change()

    def advance(self, seconds: float) -> None:
        """Let virtual time pass.

        Raises:
            ServiceError: there is none here.
        """
        control.wait(self.cloud.handle, seconds)

    @property
    def cloud(self) -> LocalBackend:
        """The simulated cloud.

        Raises:
            ServiceError: the workspace is a real one, of which the studio only reads.
        """
        if self.local is None:
            text = "The studio only reads workspaces on Azure: use the commands to change them."
            raise Permanent("ReadOnly", text, status=403)
        return self.local

    def act(self, action: Callable[[LocalBackend], str]) -> str:
        """Change something in the simulated cloud; what was done, in words.

        Raises:
            ServiceError: refused; or the workspace is a real one.
        """
        with self._lock:
            text = action(self.cloud)
            self.follow()
            self._change(text)
        return text

    def follow(self) -> History:
        """The history of the simulated cloud, up to now.

        Raises:
            ServiceError: there is none here.
        """
        handle = self.cloud.handle
        with self._lock:
            with handle.store.read() as db:
                workspace = handle.state(db).id  # another one once the workspace is made
            history, follower = self.history, self._follower
            is_other = history is None or history.workspace != workspace
            if history is None or is_other or follower is None or follower.was_reset():
                history = self.history = History(workspace)
                follower = self._follower = replay.Follower(handle.store, detail=False)
            is_first = not history.bill.times
            spent = partial(_spent, follower, history.prefix)
            events = history.add(follower.events(), spent)
            history.bill.add(control.now(handle), (spent(),))
            if not is_first:
                self.says = _said(events) or self.says
            return history

    def _change(self, text: str = "") -> None:
        self.says = text or self.says
        self.revision += 1


def _spent(follower: replay.Follower, prefix: str) -> float:
    """What the clusters and pools of a workspace have cost, where prices are known."""
    assert follower.world is not None
    billed = takewhile(lambda row: row.kind != usage.JOB, usage.usage(follower.world))
    return sum(row.cost or 0.0 for row in billed if row.name.startswith(prefix))


def _said(events: Collection[LoggedEvent]) -> str:
    """The last job that ended, or how many nodes were lost, in a sentence."""
    lost = sum(event.event == "PREEMPT" for event in events)
    ended = [event for event in events if event.event == "JOB_ENDED"]
    parts = [f"{counted(lost, 'node')} preempted"] if lost else []
    parts += [
        f"job {event.facts['job']}: {event.facts.get('status', 'ended')}" for event in ended[-1:]
    ]
    return "; ".join(parts)


def _stamp(folders: Collection[str]) -> object:
    """Which files a plan of the folders reads, and when each was saved; None where none can be."""
    stamps = []
    for file in source.discover([*folders], Report()) if folders else ():
        with suppress(OSError):
            status = Path(file.path).stat()
            stamps.append((file.path, status.st_mtime_ns, status.st_size))
    return stamps
