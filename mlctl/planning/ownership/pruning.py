"""What a project owns and no longer declares, as changes that delete it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from mlctl.backends.ports.backend import Live
from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import Address, kind_of
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, ActionReason, Change


@dataclass(frozen=True, slots=True)
class Prune:
    """What may be pruned: at most `limit` resources, None for any number.

    `elsewhere` are the addresses that other files of the project declare: they stay.
    """

    elsewhere: Set[Address] = field(default_factory=frozenset)
    limit: int | None = None


def prune_undeclared(graph: Graph, live_state: LiveState, prune: Prune) -> Iterator[Change]:
    """The deletes of what the project owns and no file declares."""
    for live in undeclared(graph, live_state.owned, prune.elsewhere):
        yield Change(live.address, Action.DELETE, live=live, reason=ActionReason.PRUNED)


def undeclared(graph: Graph, owned: Iterable[Live], elsewhere: Set[Address]) -> Iterator[Live]:
    """What of the project's resources neither these files declare nor others do `elsewhere`.

    A version of an asset is declared while any version of its name is: others may use it, and the
    file only says which one is next.
    """
    for live in owned:
        address = live.address
        name = address.at(None) if kind_of(address).versioned else address
        if not (graph.declared(name) or elsewhere & {address, name}):
            yield live
