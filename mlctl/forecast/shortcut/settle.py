"""The end of a history in the shortcut: until when nodes that are left are billed."""

from __future__ import annotations

from math import inf

from mlctl.forecast.shortcut.nodes import Fleet


def settle(fleet: Fleet) -> None:
    """Bill nodes until their idle time is over, or until they are lost."""
    ends = {node: since + fleet.idle_s for node, since in fleet.idle_since.items()}
    ends |= {node: fleet.since[node] + fleet.idle_s for node in fleet.coming}
    last = max(ends.values(), default=0.0)
    while ends and fleet.due <= last:
        _settle_until(fleet, ends, fleet.due)
        for node in fleet.strike():
            if ends.pop(node, None) is not None:
                _leave(fleet, node)
    _settle_until(fleet, ends, inf)


def _settle_until(fleet: Fleet, ends: dict[int, float], at: float) -> None:
    """Bill the nodes whose time is over before `at`."""
    loss = fleet.loss
    for node in [one for one, end in ends.items() if end < at or loss[one] < at]:
        fleet.now = min(ends.pop(node), loss[node])
        _leave(fleet, node)


def _leave(fleet: Fleet, node: int) -> None:
    fleet.stop(node)
    fleet.up.pop(node, None)
    fleet.coming.pop(node, None)
