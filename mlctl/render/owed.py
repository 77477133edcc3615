"""What an apply has yet to put back, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mlctl.backends.ports.backend import Live
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address
from mlctl.kinds.values import moving
from mlctl.planning.model import Change, Plan
from mlctl.planning.owed import Owed
from mlctl.planning.put_back import lost
from mlctl.planning.refresh import LiveState
from mlctl.pointer import dotted
from mlctl.render.terminal import clean


def reason(owed: Owed) -> str:
    """Why a change puts something back."""
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
    if left.deleted:
        return (
            f"{_apply(owed)} deleted {owed.address} and did not make it anew, and this plan does"
            f" not either. What no file said of it is kept in `{owed.file}`"
        )
    declared = change.resource.values if change is not None and change.resource else {}
    if (live is not None and moving(live.body)) or not left.routes.keys() - declared:
        return ""
    names = ", ".join(sorted(one.name for one in left.children))
    return (
        f"{_apply(owed)} took the {_routing(owed)} of {owed.address} away, and this plan does not"
        f" put it back: it goes to {names}. That is kept in `{owed.file}`"
    )


def _of_others(owed: Owed, live: Live, made: Plan) -> str:
    """What others have made of a resource in the meantime, where that differs."""
    fields = [dotted(one.at) for one in lost(owed, live, made.scope)]
    if not fields:
        return ""
    did = "deleted" if owed.deleted else f"took away the {_routing(owed)} of"
    return (
        f"{_apply(owed)} {did} {owed.address}; it has been written since, and this stays"
        f" as it is: {', '.join(fields)}"
    )


def left(addresses: Iterable[Address], file: Path) -> str:
    """What an apply that has ended leaves to the next one."""
    named = ", ".join(map(str, addresses))
    return clean(
        f"note: what {named} had and no file says is not back yet. It is kept in `{file}`, and the"
        " next apply puts it back, as does: mlctl apply --resume"
    )


def _routing(owed: Owed) -> str:
    return kind_of(owed.address).routing


def _apply(owed: Owed) -> str:
    return f"the unfinished apply of {owed.since}"
