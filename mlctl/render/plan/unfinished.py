"""Sentences about what unfinished applies have left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mlctl.backends.ports.backend import Live
from mlctl.kinds import Address, kind_of
from mlctl.kinds.values import moving
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Change, Plan, Unfinished
from mlctl.planning.unfinished.restore import fields_set_by_others
from mlctl.pointer import dotted
from mlctl.render.terminal.terminal import clean

_UNWANTED = ": delete that if you no longer want it"


def reason(entry: Unfinished) -> str:
    """Say why a change restores something."""
    apply, routing = _apply(entry), _routing(entry)
    if entry.moved and entry.deleted:
        reason_text = f"gets what {apply} should have set and no file declares"
    elif entry.moved:
        reason_text = f"moves the {routing}, as {apply} should have"
    elif entry.deleted:
        reason_text = f"restores what {apply} deleted with it and no file declares"
    else:
        reason_text = f"restores the {routing} that {apply} removed"
    return f"{reason_text}: {entry.file}"


def notes(unfinished: Iterable[Unfinished], live_state: LiveState, plan: Plan) -> Iterator[str]:
    """Say what a plan does not restore, and why, in a line per resource."""
    changes = {change.address: change for change in plan.changes}
    for entry in unfinished:
        change, live = changes.get(entry.address), live_state.live.get(entry.address)
        remaining = live_state.unfinished.get(entry.address)
        text = _note(entry, remaining, live, change, plan)
        if text:
            yield clean(f"note: {text}")
        if entry.secrets and remaining is not None:
            places = ", ".join(f"`{at}`" for at in entry.secrets)
            yield clean(
                f"note: {places} of {entry.address} looked like a secret and was not kept when"
                f" {_apply(entry)} deleted it: set it again"
            )


def _note(
    entry: Unfinished,
    remaining: Unfinished | None,
    live: Live | None,
    change: Change | None,
    plan: Plan,
) -> str:
    if change is not None and change.unfinished is not None:
        return ""  # the plan says so
    if remaining is None:
        return "" if live is None else _set_by_others(entry, live, plan)
    declared = change.resource.values if change is not None and change.resource else {}
    restores = not (remaining.deleted or remaining.routes.keys() - declared)
    if live is not None and (moving(live.body) or restores):
        return ""
    return _not_restored(remaining)


def _not_restored(entry: Unfinished) -> str:
    """Describe an entry that this plan does not restore."""
    if entry.deleted:
        did, rest = "deleted {} and did not create it again", "What no file declared of it"
        if entry.moved:
            did, rest = "did not create {}", "What it should have taken over"
        text = f"{_apply(entry)} {did.format(entry.address)}, and this plan does not either. {rest}"
        return f"{text} is kept in `{entry.file}`{_UNWANTED if entry.moved else ''}"
    names = ", ".join(sorted(child.name for child in entry.children))
    routing = f"the {_routing(entry)} of {entry.address}"
    if entry.moved:
        text = f"{_apply(entry)} did not move {routing} to {names}, and this plan does not either"
        return f"{text}. That is kept in `{entry.file}`{_UNWANTED}"
    text = f"{_apply(entry)} removed {routing}, and this plan does not restore it"
    return f"{text}: it goes to {names}. That is kept in `{entry.file}`"


def _set_by_others(entry: Unfinished, live: Live, plan: Plan) -> str:
    """Name the fields that others have changed in the meantime."""
    fields = [dotted(field.at) for field in fields_set_by_others(entry, live, plan.scope)]
    if not fields:
        return ""
    did = "deleted" if entry.deleted else f"removed the {_routing(entry)} of"
    if entry.moved:
        did = "did not create" if entry.deleted else f"did not move the {_routing(entry)} of"
    return (
        f"{_apply(entry)} {did} {entry.address}; it has been written since, and these"
        f" fields stay as they are: {', '.join(fields)}"
    )


def remaining_work(addresses: Iterable[Address], file: Path, paths: Sequence[str]) -> str:
    """Say what a finished apply of these paths leaves to the next one."""
    names = ", ".join(map(str, addresses))
    return clean(
        f"note: what no file declares of {names} is still missing. It is kept in `{file}`, and "
        "the next"
        f" apply restores it, as does: mlctl apply --resume {' '.join(paths)}".rstrip()
    )


def _routing(entry: Unfinished) -> str:
    return kind_of(entry.address).plan.routing


def _apply(entry: Unfinished) -> str:
    return f"the unfinished apply of {entry.since}"
