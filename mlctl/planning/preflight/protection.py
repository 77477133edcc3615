"""Check what a project forbids: deleting protected or foreign resources, pruning too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, ActionReason, Change
from mlctl.planning.ownership.owner import PROTECT, TAGS, Ownership, owner, tags, truth
from mlctl.schema.text import counted

PROTECTED = Rule("MLC412", "protected", Severity.ERROR)
PRUNE_LIMIT = Rule("MLC413", "prune-limit", Severity.ERROR)
FOREIGN_DELETE = Rule("MLC415", "owned-by-another-project", Severity.ERROR)
FOREIGN_UPDATE = Rule("MLC416", "changed-for-another-project", Severity.WARNING)

_DONE = {Action.UPDATE: "changed", Action.REPLACE: "replaced", Action.DELETE: "deleted"}


def findings(
    changes: Sequence[Change], live_state: LiveState, ownership: Ownership, limit: int | None = None
) -> Iterator[Diagnostic]:
    """Yield what the project forbids of a plan as errors, and what it discourages as warnings."""
    yield from _find_protected(changes, live_state, ownership)
    yield from _find_foreign(changes, live_state, ownership)
    yield from _check_limit(changes, limit)


def _find_protected(
    changes: Sequence[Change], live_state: LiveState, ownership: Ownership
) -> Iterator[Diagnostic]:
    """Yield the protected resources that would be deleted or replaced, with the declaration."""
    for change in changes:
        if not change.action.deletes:
            continue
        first = next(_protections(change, live_state, ownership), None)
        if first is None:
            continue
        (why, place), label = first, change.label
        message = f"{change.address} would be {_DONE[change.action]}, but is protected by {why}"
        hint = "keep it, or end the protection first, in a separate change"
        related = (label,) if label is not None and place is not None else ()
        yield replace(change.finding(PROTECTED, message, place or label, hint), related=related)


def _find_foreign(
    changes: Sequence[Change], live_state: LiveState, ownership: Ownership
) -> Iterator[Diagnostic]:
    """Yield other projects' resources: an error if deleted, a warning if changed."""
    for change in changes:
        live = change.live or live_state.live.get(change.address)
        theirs = owner(live) if live is not None and change.action is not Action.NO_OP else None
        if ownership.project is None or theirs in (None, ownership.project):
            continue
        rule = FOREIGN_DELETE if change.action.deletes else FOREIGN_UPDATE
        message = (
            f"{change.address} would be {_DONE[change.action]}, but belongs to the project"
            f" `{theirs}`"
        )
        hint = f"leave it to that project, or take it over first: mlctl import PATH --from {theirs}"
        yield change.finding(rule, message, change.label, hint)


def _check_limit(changes: Sequence[Change], limit: int | None) -> Iterator[Diagnostic]:
    """Report more to prune than the limit."""
    count = sum(change.reason is ActionReason.PRUNED for change in changes)
    if limit is not None and count > limit:
        pruned = counted(count, "resource")
        message = f"{pruned} would be pruned, but `--prune-limit` allows {limit}"
        hint = f"check what is deleted; if it is intended, pass `--prune-limit {count}`"
        yield Diagnostic(PRUNE_LIMIT, message, None, hint)


def _protections(
    change: Change, live_state: LiveState, ownership: Ownership
) -> Iterator[tuple[str, Label | None]]:
    for protected in ownership.protected:
        if protected.covers(change.address):
            yield f"`{protected.pattern}` in mlctl.yml", protected.at
    declared_tags = change.resource.values.get(TAGS) if change.resource else None
    is_protected = isinstance(declared_tags, dict) and truth(declared_tags.get(PROTECT))
    if change.resource is not None and is_protected:
        yield f"its tag `{PROTECT}`", change.resource.label((*TAGS, PROTECT))
    live = change.live or live_state.live.get(change.address)
    if live is not None and truth(tags(live).get(PROTECT)):
        yield f"its tag `{PROTECT}` in the workspace", None
