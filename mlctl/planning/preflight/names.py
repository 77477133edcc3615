"""Names that must be unique in their region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Change

NAME_TAKEN = Rule("MLC406", "name-taken", Severity.ERROR)


def taken(changes: Iterable[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Names of new resources that somebody else in the region has."""
    for change in changes:
        holder = live_state.taken.get(change.address)
        if holder is not None and change.action.creates and change.resource:
            yield Diagnostic(
                NAME_TAKEN,
                f"the name `{change.address.name}` is taken in its region: {holder}",
                change.resource.label(("name",)),
                hint="choose another name; if Azure takes it all the same, --ignore MLC406",
                address=str(change.address),
            )
