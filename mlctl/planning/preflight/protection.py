"""What a project forbids: to delete or replace what is protected, to prune more than was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlctl.backends.ports.backend import Live
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity
from mlctl.planning.model import Action, ActionReason, Change
from mlctl.planning.ownership import PROTECT, TAGS, Ownership, tags, truth
from mlctl.planning.refresh import LiveState

PROTECTED = Rule(
    "MLC412",
    "protected",
    Severity.ERROR,
    "something protected would be deleted or replaced",
    'What `protect:` in `mlctl.yml` covers, or what has the tag `mlctl.protect: "true"`, in its'
    " file or in the workspace, is neither deleted nor replaced: not by `apply`, `--prune` or"
    " `destroy`, and not by the `delete` commands. The exit code is 5.",
    "Keep it; or end the protection first, in a change of its own: remove the pattern, or apply the"
    ' tag with the value `"false"`.',
)
PRUNE_LIMIT = Rule(
    "MLC413",
    "prune-limit",
    Severity.ERROR,
    "more would be pruned than `--prune-limit` allows",
    "A pipeline cannot be asked whether it means to delete so much. A folder that was moved, or"
    " half a checkout, looks like many files that were removed. The exit code is 5.",
    "Look at what the plan deletes, and pass a higher limit if it is meant.",
)


def protected(
    changes: Sequence[Change], live_state: LiveState, ownership: Ownership
) -> Iterator[Diagnostic]:
    """What would be deleted or replaced although it is protected, with the place that says so."""
    for change in changes:
        if not change.action.deletes:
            continue
        for why, place in _protections(change, live_state, ownership):
            verb = "replaced" if change.action is Action.REPLACE else "deleted"
            asked = change.label
            yield Diagnostic(
                PROTECTED,
                f"{change.address} would be {verb}, and is protected by {why}",
                place or asked,
                "keep it, or end the protection in a change of its own first",
                (asked,) if asked is not None and place is not None else (),
                str(change.address),
            )
            break


def too_many(changes: Sequence[Change], limit: int | None) -> Iterator[Diagnostic]:
    """More to prune than the limit."""
    count = sum(change.reason is ActionReason.PRUNED for change in changes)
    if limit is not None and count > limit:
        yield Diagnostic(
            PRUNE_LIMIT,
            f"{count} resources would be pruned, and `--prune-limit` allows {limit}",
            None,
            f"look at what is deleted; if all of it is meant, pass `--prune-limit {count}`",
        )


def _protections(
    change: Change, live_state: LiveState, ownership: Ownership
) -> Iterator[tuple[str, Label | None]]:
    for one in ownership.protected:
        if one.covers(change.address):
            yield f"`{one.pattern}` in mlctl.yml", one.at
    said = change.resource.values.get(TAGS) if change.resource else None
    if change.resource is not None and isinstance(said, dict) and truth(said.get(PROTECT)):
        yield f"its tag `{PROTECT}`", change.resource.label((*TAGS, PROTECT))
    live: Live | None = change.live or live_state.live.get(change.address)
    if live is not None and truth(tags(live).get(PROTECT)):
        yield f"the tag `{PROTECT}` that it has in the workspace", None
