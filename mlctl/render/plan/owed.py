"""What an apply has yet to put back, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mlctl.backends.ports.backend import Live
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address
from mlctl.kinds.values import moving
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Change, Plan
from mlctl.planning.unfinished.owed import Owed
from mlctl.planning.unfinished.restore import lost
from mlctl.pointer import dotted
from mlctl.render.terminal.terminal import clean

_UNWANTED = ": delete that, if it is not wanted any more"


def reason(owed: Owed) -> str:
    """Why a change puts something back."""
    if owed.moved and owed.deleted:
        return f"takes over what {_apply(owed)} was to give it and no file says: {owed.file}"
    if owed.moved:
        return f"moves the {_routing(owed)}, as {_apply(owed)} was to: {owed.file}"
    if owed.deleted:
        return f"puts back what {_apply(owed)} had deleted with it and no file says: {owed.file}"
    return f"puts back the {_routing(owed)} that {_apply(owed)} had taken away: {owed.file}"


def notes(owed: Iterable[Owed], live_state: LiveState, made: Plan) -> Iterator[str]:
    """What a plan does not put back of what is owed, and why: a line for each resource."""
    changes = {change.address: change for change in made.changes}
    for one in owed:
        change, there = changes.get(one.address), live_state.live.get(one.address)
        text = _note(one, live_state.owed.get(one.address), there, change, made)
        if text:
            yield clean(f"note: {text}")
        if one.secrets and one.address in live_state.owed:
            places = ", ".join(f"`{at}`" for at in one.secrets)
            yield clean(
                f"note: {places} of {one.address} looked like a secret and was not kept when"
                f" {_apply(one)} deleted it: set it again"
            )


def _note(
    owed: Owed, left: Owed | None, live: Live | None, change: Change | None, made: Plan
) -> str:
    if change is not None and change.owed is not None:
        return ""  # the plan says so
    if left is None:
        return "" if live is None else _of_others(owed, live, made)
    declared = change.resource.values if change is not None and change.resource else {}
    if live is not None and (
        moving(live.body) or not (left.deleted or left.routes.keys() - declared)
    ):
        return ""
    return _not_put_back(left)


def _not_put_back(left: Owed) -> str:
    """What this plan does nothing about."""
    if left.deleted:
        did, kept = "deleted {} and did not make it anew", "What no file said of it"
        if left.moved:
            did, kept = "did not make {}", "What it was to take over"
        text = f"{_apply(left)} {did.format(left.address)}, and this plan does not either. {kept}"
        return f"{text} is kept in `{left.file}`{_UNWANTED if left.moved else ''}"
    names = ", ".join(sorted(one.name for one in left.children))
    routing = f"the {_routing(left)} of {left.address}"
    if left.moved:
        text = f"{_apply(left)} did not move {routing} to {names}, and this plan does not either"
        return f"{text}. That is kept in `{left.file}`{_UNWANTED}"
    text = f"{_apply(left)} took {routing} away, and this plan does not put it back"
    return f"{text}: it goes to {names}. That is kept in `{left.file}`"


def _of_others(owed: Owed, live: Live, made: Plan) -> str:
    """What others have made of a resource in the meantime, where that differs."""
    fields = [dotted(one.at) for one in lost(owed, live, made.scope)]
    if not fields:
        return ""
    did = "deleted" if owed.deleted else f"took away the {_routing(owed)} of"
    if owed.moved:
        did = "did not make" if owed.deleted else f"did not move the {_routing(owed)} of"
    return (
        f"{_apply(owed)} {did} {owed.address}; it has been written since, and this stays"
        f" as it is: {', '.join(fields)}"
    )


def left(addresses: Iterable[Address], file: Path, paths: Sequence[str]) -> str:
    """What an apply of these paths, which has ended, leaves to the next one."""
    named = ", ".join(map(str, addresses))
    return clean(
        f"note: what no file says of {named} is not there yet. It is kept in `{file}`, and the next"
        f" apply puts it there, as does: mlctl apply --resume {' '.join(paths)}".rstrip()
    )


def _routing(owed: Owed) -> str:
    return kind_of(owed.address).plan.routing


def _apply(owed: Owed) -> str:
    return f"the unfinished apply of {owed.since}"
