"""Drop scheduled events that have become void, since their node's state has changed.

A preempted node is to be abandoned after two days; it is restored after minutes, but the event
stays in the queue. With frequent preemptions, the queue would grow for two days of virtual time.
"""

from __future__ import annotations

from heapq import heapify

from mlctl.simulator.engine.state import EventKind, ScheduledEvent, World

_ROOM = 1_000  # queue length below which nothing is dropped


def is_void(world: World, event: ScheduledEvent) -> bool:
    """Whether an event's node is gone, or has had another state since."""
    _, _, _, kind, name, number, epoch = event
    if kind > EventKind.RECYCLED or kind is EventKind.MINI_BATCH_END:
        return False
    cluster = world.clusters.get(name)
    node = cluster.nodes.get(number) if cluster is not None else None
    return node is None or epoch not in (node.epoch, node.loss_epoch)


def drop(world: World) -> None:
    """Drop void events from a queue that has doubled since the last time."""
    if len(world.queue) > max(world.queue_kept * 2, _ROOM):
        world.queue[:] = [event for event in world.queue if not is_void(world, event)]
        heapify(world.queue)
        world.queue_kept = len(world.queue)
