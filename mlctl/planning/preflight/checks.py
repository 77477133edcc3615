"""All preflight checks: what the backend would reject, found before anything is written."""

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
    """New content for a version that exists."""
    fixed = [field for field in change.fields if field.forces_replacement]
    names = ", ".join(f"`{pointer.dotted(field.at)}`" for field in fixed)
    return Diagnostic(
        VERSION_TAKEN,
        f"{change.address} exists, and {names} would change: the content of a version never does",
        resource.label(("version",)),
        hint="give the new content a new `version`, or another `name`",
        address=str(change.address),
    )


def altered(change: Change, resource: Resource) -> Iterator[Diagnostic]:
    """Add-only properties with another value than the one that is there."""
    for changed in change.fields:
        field = resource.form.field(changed.at[:-1])
        if field is not None and field.additive and changed.before is not None:
            yield Diagnostic(
                ALTERED,
                f"`{pointer.dotted(changed.at)}` is {changed.before!r} and cannot be altered",
                resource.label(changed.at),
                hint=f"write {changed.before!r}, or use another key",
                address=str(change.address),
            )


def lost_secret(resource: Resource, live: Live) -> Iterator[Diagnostic]:
    """A secret that a write takes away: a PUT has all of a resource, and no GET returns it."""
    if any(field.at in resource.values for field, _ in resource.form.marked_secrets):
        return
    for field, marks in resource.form.marked_secrets:
        if any(pointer.get(live.body, at) == word for at, word in marks.items()):
            yield Diagnostic(
                LOST_SECRET,
                f"{live.address} has a secret that no file gives, and the change would lose it",
                resource.label(("name",)),
                hint=f"give it as `{pointer.dotted(field.at)}: ${{{{ env.NAME }}}}`; or delete"
                f" {live.address} first, and it is created to use identities",
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
    """What the backend would reject of a plan, beyond what is found resource by resource.

    Warnings are about what it takes and does not do.
    """
    yield from regions.taken(changes, live_state)
    yield from quota.exceeded(before_pruning(changes, live_state), live_state)
    yield from quota.too_large(changes, live_state)
    yield from regions.other(changes, live_state)
    yield from regions.spot(changes, live_state)
    yield from references.in_use(changes, live_state)
    yield from references.default_deleted(changes, live_state)


def before_pruning(changes: Sequence[Change], live_state: LiveState) -> list[Change]:
    """The changes without those that are deleted only after others have been written.

    Nothing may wait for the quota that these give back: what is updated may wait for that itself.
    """
    abandoned = references.leaving(changes, live_state.scope)
    return [
        change
        for change in changes
        if change.action is not Action.DELETE
        or not (change.address in abandoned or change.reason is ActionReason.SUPERSEDED)
    ]


def deletion_findings(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """What the backend would reject of a plan that only deletes."""
    yield from references.in_use(changes, live_state)
    yield from references.default_deleted(changes, live_state)
