"""Rules of batch jobs as arithmetic, for the event engine and for the shortcut of forecasts."""

from __future__ import annotations

from collections.abc import Iterable


def useful_nodes(mini_batches: int, concurrency: int, instance_count: int) -> int:
    """R2: the number of nodes that so many mini-batches, which are not over, can use."""
    return min(instance_count, -(-mini_batches // concurrency))


def progress(seconds: float, mini_batch_s: float) -> tuple[int, float]:
    """R5: what a slot at work has done: mini-batches completed, and seconds in the next one."""
    completed = int(seconds // mini_batch_s)
    return completed, seconds - completed * mini_batch_s


def lost_node_s(now: float, starts: Iterable[float], concurrency: int) -> float:
    """R6: the node-seconds of attempts, by their starts, that end with the node they ran on."""
    return sum([(now - start) / concurrency for start in starts])


def lost_last_node(usable_nodes: int, *, cancels: bool, was_usable: bool) -> bool:
    """R7: whether the loss of a node cancels its job, which has so many usable nodes left."""
    return cancels and was_usable and not usable_nodes
