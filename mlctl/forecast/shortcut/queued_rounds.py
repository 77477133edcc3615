"""The rounds of a run in the shortcut while mini-batches are certainly queued."""

from __future__ import annotations

from heapq import heappop

from mlctl.forecast.shortcut.nodes import READY
from mlctl.forecast.shortcut.run import ShortRun


def carry_out(run: ShortRun) -> float | None:
    """Continue the run from loss to loss, as long as mini-batches are certainly queued.

    Until when that is: the last rounds begin there, or the run is given up. None: it was cancelled.
    """
    fleet = run.fleet
    events, until = fleet.events, run.until
    # With random delays a node that is lost may be back before another is ready at first.
    safe = run.safe(fleet.now if fleet.plain_s is None else fleet.first_ready)
    while True:
        at = min(events[0][0], fleet.due) if events else fleet.due
        if at >= safe:
            if safe > until:
                return safe
            fleet.note_ready(safe)
            next_at = safe if fleet.up else min(at, until, max(fleet.first_ready, safe))
            following = run.safe(next_at)
            if following <= next_at:
                return next_at
            safe = following
            continue
        if at > until:
            return at
        if fleet.due <= at and fleet.strikes_at(at):
            cancelled = run.lose(fleet.strike())
        else:
            _, kind, _, node, epoch = heappop(events)
            if epoch != fleet.epoch[node] or kind == READY:
                continue
            fleet.now = at
            fleet.note_ready(at)
            cancelled = run.lose((node,))
        if cancelled:
            return None
        fleet.request_lost()
