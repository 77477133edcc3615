"""The order of the nodes of a panel: layers, each after what leads to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from mlctl.render.graph.drawing import Panel

_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """The nodes in layers. `ways`: what an arrow passes from its source to its target.

    Where an arrow leads over a layer, it has a place of its own in it, which no node has.
    """

    layers: list[list[str]]
    ways: Mapping[tuple[str, str], list[str]]


def layout(panel: Panel) -> Layout:
    """The nodes in layers; arrows lead to later layers but those that close a ring.

    Within a layer, nodes stand near what they are joined to: Sugiyama, Tagawa and Toda, "Methods
    for visual understanding of hierarchical system structures", 1981.
    """
    depth = _depths(panel)
    found: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in panel.nodes:
        found[depth[node]].append(node)
    ways: dict[tuple[str, str], list[str]] = {}
    for arrow in panel.arrows:
        ends = (arrow.source, arrow.target)
        if ends not in ways:
            between = range(depth[arrow.source] + 1, depth[arrow.target])
            passed = [f"{arrow.source}>{arrow.target}>{layer}" for layer in between]
            ways[ends] = [arrow.source, *passed, arrow.target]
            for layer, place in zip(between, passed, strict=True):
                found[layer].append(place)
    pairs = [pair for way in ways.values() for pair in pairwise(way)]
    for turn in range(_ROUNDS):
        forward = turn % 2 == 0
        for index in range(1, len(found)) if forward else range(len(found) - 2, -1, -1):
            beside = found[index - 1 if forward else index + 1]
            place_of = {node: at for at, node in enumerate(beside)}
            found[index].sort(key=lambda node: _middle(node, pairs, place_of))
    return Layout(found, ways)


def ordered(panel: Panel) -> list[str]:
    """All nodes, each after what leads to it, else in the order of the file."""
    depth = _depths(panel)
    return sorted(panel.nodes, key=lambda node: depth[node])


def _depths(panel: Panel) -> dict[str, int]:
    """The length of the longest way to each node; a ring is cut where it was entered."""
    before: dict[str, list[str]] = {node: [] for node in panel.nodes}
    for arrow in panel.arrows:
        if arrow.source != arrow.target:
            before[arrow.target].append(arrow.source)
    depth: dict[str, int] = {}
    for node in panel.nodes:
        _visit(node, before, depth, set())
    return depth


def _visit(node: str, before: dict[str, list[str]], depth: dict[str, int], way: set[str]) -> int:
    if node not in depth:
        way.add(node)
        above = [_visit(one, before, depth, way) for one in before[node] if one not in way]
        way.discard(node)
        depth[node] = max(above, default=-1) + 1
    return depth[node]


def _middle(node: str, pairs: list[tuple[str, str]], place: Mapping[str, int]) -> float:
    near = [place[source] for source, target in pairs if target == node and source in place]
    near += [place[target] for source, target in pairs if source == node and target in place]
    return sum(near) / len(near) if near else len(place) / 2
