"""A saved plan as text and as a picture, from its document alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlctl.planning.model import Action
from mlctl.pointer import Data
from mlctl.render.graph.drawing import Arrow, Panel, PictureNode, Shape
from mlctl.render.plan import text as plan_text
from mlctl.render.plan.tree import DiffBranch, DiffLeaf, lines, node_of, styled_sign
from mlctl.render.terminal.terminal import Style, Styler, clean


def human(document: Mapping[str, Data], *, color: bool = False) -> str:
    """Render a saved plan's changes, sums and findings, with a final line break."""
    styler = Styler(color)
    workspace = document["workspace"]
    scope = f"{workspace['resource_group']}/{workspace['workspace']}"
    parts = [clean(f"A plan for the {document['backend']} backend, workspace {scope}.")]
    parts += ["\n".join(_block(change, styler)) for change in pending(document)]
    summary = document["summary"]
    add, change, destroy = (summary[key] for key in ("add", "change", "destroy"))
    sums = f"Plan: {add} to add, {change} to change, {destroy} to destroy."
    parts.append(styler.apply(sums, Style.BOLD))
    findings = [_finding(diagnostic) for diagnostic in document["diagnostics"]]
    parts += ["\n".join(findings)] if findings else []
    return "\n\n".join(parts) + "\n"


def pending(document: Mapping[str, Data]) -> list[Mapping[str, Any]]:
    """Return the changes with something to do."""
    changes = document["resource_changes"]
    return [change for change in changes if _action(change) is not Action.NO_OP]


def _action(change: Mapping[str, Any]) -> Action:
    return Action(tuple(change["change"]["actions"]))


def _block(change: Mapping[str, Any], styler: Styler) -> Iterator[str]:
    action, sides = _action(change), change["change"]
    source = change.get("source")
    place = f"  ({source['filename']}:{source['line']})" if source else ""
    address = clean(str(change["address"]))
    yield styler.apply(f"  # {address} {plan_text.VERBS[action]}{clean(place)}", Style.BOLD)
    yield f"  {styled_sign(plan_text.SYMBOLS[action], styler)} {address}:"
    branch = node_of(DiffLeaf(sides["before"], sides["after"]))
    if isinstance(branch, DiffBranch) and action is not Action.DELETE:
        branch.word = "attribute"
        yield from lines(branch, styler, 6)


def _finding(diagnostic: Mapping[str, Any]) -> str:
    text = f"{diagnostic['severity']}[{diagnostic['code']}]: {diagnostic['summary']}"
    return clean(text)


def picture(document: Mapping[str, Data], steps: Sequence[tuple[str, str]]) -> Panel:
    """Draw the changes and the order of `steps`, which are (before, after)."""
    changes = {str(change["address"]): change for change in pending(document)}
    nodes = {
        address: PictureNode(address, address, plan_text.VERBS[_action(change)], Shape.RESOURCE)
        for address, change in changes.items()
    }
    arrows = [
        Arrow(first, second)
        for first, second in sorted(set(steps))
        if first in nodes and second in nodes and first != second
    ]
    return Panel("plan", "arrows lead to later steps", nodes, tuple(arrows))
