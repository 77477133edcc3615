"""Run all preflight checks, which find what the backend would reject before any write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlctl import pointer
from mlctl.assets.local_files import JOB_DEFINITION
from mlctl.backends.ports.backend import Live
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, ActionReason, Change
from mlctl.planning.preflight import protection, quota, references, regions
from mlctl.planning.running_jobs import RUNNING_JOBS

VERSION_TAKEN = Rule("MLC403", "immutable-version", Severity.ERROR)
ALTERED = Rule("MLC404", "altered-property", Severity.ERROR)
LOST_SECRET = Rule("MLC420", "lost-secret", Severity.ERROR)


def immutable_version(change: Change, resource: Resource) -> Diagnostic:
    """Report new content for an existing version."""
    fixed = [field for field in change.fields if field.forces_replacement]
    names = ", ".join(f"`{pointer.dotted(field.at)}`" for field in fixed)
    message = f"{change.address} already exists with another {names}, and versions cannot change"
    hint = "give the new content a new `version`, or another `name`"
    return change.finding(VERSION_TAKEN, message, resource.label(("version",)), hint)


def altered(change: Change, resource: Resource) -> Iterator[Diagnostic]:
    """Yield changes of add-only properties."""
    for changed in change.fields:
        field = resource.form.field(changed.at[:-1])
        if field is not None and field.additive and changed.before is not None:
            message = f"`{pointer.dotted(changed.at)}` is {changed.before!r} and cannot change"
            hint = f"write {changed.before!r}, or use another key"
            yield change.finding(ALTERED, message, resource.label(changed.at), hint)


def lost_secret(resource: Resource, live: Live) -> Iterator[Diagnostic]:
    """Report a secret that a PUT would remove, since no GET returns it and no file has it."""
    if any(field.at in resource.values for field, _ in resource.form.marked_secrets):
        return
    for field, marks in resource.form.marked_secrets:
        if any(pointer.get(live.body, at) == word for at, word in marks.items()):
            yield Diagnostic(
                LOST_SECRET,
                f"{live.address} has a secret that no file has, and the change would remove it",
                resource.label(("name",)),
                hint=f"set `{pointer.dotted(field.at)}: ${{{{ env.NAME }}}}`, or delete"
                f" {live.address} first to have it created with identities",
                address=str(live.address),
            )


PLAN_RULES = (
    references.MISSING,
    references.NO_DATASTORE,
    VERSION_TAKEN,
    ALTERED,
    LOST_SECRET,
    quota.QUOTA,
    regions.NAME_TAKEN,
    references.IN_USE,
    references.DEFAULT_DELETED,
    quota.POOL_LIMIT,
    JOB_DEFINITION,
    protection.PROTECTED,
    protection.PRUNE_LIMIT,
    protection.FOREIGN_DELETE,
    protection.FOREIGN_UPDATE,
    regions.OTHER_REGION,
    regions.SAVES_NOTHING,
    RUNNING_JOBS,
)


def findings(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield what the backend would reject of a plan as a whole.

    Warnings are about what it accepts without doing.
    """
    yield from regions.taken(changes, live_state)
    yield from quota.exceeded(before_pruning(changes, live_state), live_state)
    yield from quota.too_large(changes, live_state)
    yield from regions.other(changes, live_state)
    yield from regions.spot(changes, live_state)
    yield from references.in_use(changes, live_state)
    yield from references.default_deleted(changes, live_state)


def before_pruning(changes: Sequence[Change], live_state: LiveState) -> list[Change]:
    """Return the changes without those deleted only after others have been written.

    Nothing can wait for the quota that these release: an update may itself wait for it.
    """
    abandoned = references.leaving(changes, live_state.scope)
    return [
        change
        for change in changes
        if change.action is not Action.DELETE
        or not (change.address in abandoned or change.reason is ActionReason.SUPERSEDED)
    ]


def deletion_findings(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield what the backend would reject of a plan that only deletes."""
    yield from references.in_use(changes, live_state)
    yield from references.default_deleted(changes, live_state)
