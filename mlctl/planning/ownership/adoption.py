"""The plan that makes live resources a project's: tags, and nothing else. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from mlctl.kinds import Address, Resource, Scope
from mlctl.kinds.values import stored_values
from mlctl.planning.model import Action, Change, FieldChange, Plan
from mlctl.planning.ownership.owner import (
    PROJECT,
    SPEC_HASH,
    TAGS,
    Ownership,
    owner,
    spec_hash,
    tags,
)
from mlctl.pointer import Data


def adoption(plan: Plan, ownership: Ownership) -> Plan:
    """Of a plan that was made of the files without tags, the one that only tags what is there.

    What differs from its file gets no `mlctl.spec-hash`: it is not what the file says.
    """
    changes = tuple(_adopt(plan, ownership))
    read = {change.address: plan.read[change.address] for change in changes}
    return Plan(plan.backend, plan.scope, changes, read)


def owned_by_others(
    plan: Plan, ownership: Ownership, previous_owners: Collection[str]
) -> dict[Address, str]:
    """What belongs to other projects than the `previous_owners`, from whom it is taken."""
    ours = {ownership.project, *previous_owners}
    lives = [
        (change.address, change.live) for change in plan.changes if change.resource and change.live
    ]
    theirs = ((address, owner(live)) for address, live in lives)
    return {address: name for address, name in theirs if name is not None and name not in ours}


def _adopt(plan: Plan, ownership: Ownership) -> Iterator[Change]:
    for change in plan.changes:
        resource, live = change.resource, change.live
        if resource is None or live is None or resource.owner is not None or change.in_motion:
            continue
        live_tags = tags(live)
        new = _tags(resource, ownership, plan.scope, differs=change.action is not Action.NO_OP)
        fields = tuple(
            FieldChange((*TAGS, key), live_tags.get(key), value)
            for key, value in new.items()
            if live_tags.get(key) != value
        )
        values = {
            **stored_values(live.body, resource.form, plan.scope, with_service_fields=False),
            TAGS: {**live_tags, **new},
        }
        if fields and resource.form.field(TAGS) is not None:
            yield Change(live.address, Action.UPDATE, fields, resource, values, live)


def _tags(
    resource: Resource, ownership: Ownership, scope: Scope, *, differs: bool
) -> Mapping[str, Data]:
    project_tags: dict[str, Data] = {PROJECT: ownership.project}
    return project_tags if differs else {**project_tags, SPEC_HASH: spec_hash(resource, scope)}
