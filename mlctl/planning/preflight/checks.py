"""All preflight checks: what the backend would reject, found before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlctl.assets.local_files import JOB_DEFINITION
from mlctl.diagnostics import Diagnostic
from mlctl.planning.model import Change
from mlctl.planning.preflight import immutability, names, pools, quota, references
from mlctl.planning.refresh import LiveState

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
)


def findings(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """What the backend would reject of a plan, beyond what is found resource by resource.

    Warnings are about what it takes and does not do.
    """
    yield from names.taken(changes, live_state)
    yield from quota.exceeded(changes, live_state)
    yield from pools.too_large(changes, live_state)
    yield from references.in_use(changes, live_state)


def deletion_findings(changes: Sequence[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """What the backend would reject of a plan that only deletes."""
    yield from references.in_use(changes, live_state)
    yield from references.default_deleted(changes, live_state)
