"""All preflight checks: what the backend would reject, found before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlctl.assets.local_files import JOB_DEFINITION
from mlctl.diagnostics import Diagnostic
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, ActionReason, Change
from mlctl.planning.preflight import (
    immutability,
    names,
    pools,
    protection,
    quota,
    references,
    regions,
)
from mlctl.planning.running_jobs import RUNNING_JOBS

PLAN_RULES = (
    references.MISSING,
    immutability.VERSION_TAKEN,
    immutability.ALTERED,
    quota.QUOTA,
    names.NAME_TAKEN,
    references.IN_USE,
    references.DEFAULT_DELETED,
    pools.POOL_LIMIT,
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
    yield from names.taken(changes, live_state)
    yield from quota.exceeded(before_pruning(changes, live_state), live_state)
    yield from pools.too_large(changes, live_state)
    yield from regions.other(changes, live_state)
    yield from regions.no_cheaper_as_spot(changes, live_state)
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
