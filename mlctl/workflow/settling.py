"""Read the live state once no operation is running on planned resources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from mlctl.backends.ports.backend import Backend, Live
from mlctl.config.graph import Graph
from mlctl.kinds import Address
from mlctl.kinds.values import moving, state
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Unfinished
from mlctl.planning.refresh import refresh
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import TIMED_OUT, Permanent

_POLL_S = 5.0  # between two polls of an operation


def refresh_settled(
    graph: Graph,
    backend: Backend,
    *,
    timeout: float,
    note: Callable[[str], object],
    of: str | None = None,
    superseded: Collection[Address] = (),
    unfinished: Collection[Unfinished] = (),
) -> LiveState:
    """Return the live state once no operation is running on a resource of the graph or project.

    Raises:
        ServiceError: the backend cannot be read, or an operation takes too long.
    """
    live_state = refresh(graph, backend, of=of, superseded=superseded, unfinished=unfinished)
    ours = {*graph.resources, *live_state.unfinished}
    declared = {address: live for address, live in live_state.live.items() if address in ours}
    declared |= {live.address: live for live in live_state.owned}
    if not wait_until_settled(backend, declared, timeout=timeout, note=note):
        return live_state
    return refresh(graph, backend, of=of, superseded=superseded, unfinished=unfinished)


def wait_until_settled(
    backend: Backend,
    live: Mapping[Address, Live],
    *,
    timeout: float,
    note: Callable[[str], object],
) -> bool:
    """Wait for running operations on live resources; return whether there were any.

    Raises:
        ServiceError: the backend cannot be read, or an operation takes too long.
    """
    states = _in_motion(live)
    for address, now in states.items():
        note(clean(f"{address} is {now}: waiting for it to end..."))
    waited = 0.0
    while states:
        if waited >= timeout:
            address, now = next(iter(states.items()))
            raise Permanent(TIMED_OUT, f"{address} is still {now} after {waited:g} seconds")
        backend.wait(_POLL_S)
        waited += _POLL_S
        states = _in_motion(backend.read(states.keys()))
    return waited > 0.0


def _in_motion(live: Mapping[Address, Live]) -> dict[Address, str]:
    """Return the states of resources with a running operation."""
    return {
        address: state(resource.body) for address, resource in live.items() if moving(resource.body)
    }
