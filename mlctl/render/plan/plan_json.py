"""A plan as JSON, in the shape of `terraform show -json`.

`before` and `after` are the whole resource under the YAML's field names. Values that the service
sets are in `before`, and are true in `after_unknown` until it has set them. A secret is null, and
true in `before_sensitive` or `after_sensitive`; since secrets cannot be read back, the service is
assumed to have those that the file sets.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlctl import pointer
from mlctl.diagnostics import Report
from mlctl.kinds import Scope
from mlctl.kinds.field import Mutability
from mlctl.planning.cost import PlanCost, of_plan
from mlctl.planning.model import Action, Change, Plan
from mlctl.pointer import Data, Pointer
from mlctl.render.cloud import resources
from mlctl.render.findings import machine
from mlctl.render.plan import cost
from mlctl.render.plan import text as plan_text
from mlctl.version import __version__

FORMAT_VERSION = "1.0"


def document(plan: Plan) -> dict[str, Data]:
    """Return the plan as plain data without secrets, including changes with nothing to do."""
    lazy = lazy_document(plan)
    changes, costs = lazy["resource_changes"], lazy["monthly_cost"]
    whole_costs = {**costs, "resources": list(costs["resources"])}
    return {**lazy, "resource_changes": list(changes), "monthly_cost": whole_costs}


def lazy_document(plan: Plan, costs: PlanCost | None = None) -> dict[str, Data]:
    """Return the data of `document`, with the parts of each resource computed on demand.

    `costs` are those of the plan, if they were computed already.
    """
    report, summary, scope = Report(), plan.summary, plan.scope
    report.extend((*plan.errors, *plan.warnings))
    return {
        "format_version": FORMAT_VERSION,
        "mlctl_version": __version__,
        "backend": plan.backend,
        "workspace": {
            "subscription": scope.subscription,
            "resource_group": scope.resource_group,
            "workspace": scope.workspace,
        },
        "resource_changes": (_resource_change(change, scope) for change in plan.changes),
        "in_motion": [str(change.address) for change in plan.in_motion],
        "orphans": [str(address) for address in plan.orphans],
        "summary": {"add": summary.add, "change": summary.change, "destroy": summary.destroy},
        "monthly_cost": cost.lazy_document(costs or of_plan(plan)),
        "diagnostics": machine.diagnostics(report),
        "refused": bool(plan.refusals),
        "applyable": plan.applyable,
    }


def _resource_change(change: Change, scope: Scope) -> dict[str, Data]:
    place = plan_text.source(change)
    return {
        "address": str(change.address),
        "kind": change.address.kind,
        "name": change.address.name,
        "change": _change(change, scope),
        "action_reason": change.reason.value if change.reason else None,
        "dependents": [str(address) for address in change.dependents],
        "owed": {"since": change.unfinished.since, "journal": change.unfinished.file}
        if change.unfinished
        else None,
        "running_jobs": None
        if change.jobs is None
        else [{"name": job.name, "status": job.status} for job in change.jobs],
        "source": {"filename": place[0], "line": place[1]} if place else None,
    }


def _change(change: Change, scope: Scope) -> dict[str, Data]:
    before, after = _before(change, scope), _after(change, scope)
    secrets = _secrets(change)
    for side in (before, after):
        for at in secrets:
            if side is not None:
                pointer.put(side, at, None)
    marks = _marks(secrets)
    return {
        "actions": list(change.action.value),
        "before": before,
        "after": after,
        "after_unknown": _marks(_unknown(change)),
        "before_sensitive": marks if before is not None else False,
        "after_sensitive": marks if after is not None else False,
        "replace_paths": [list(field.at) for field in change.fields if field.forces_replacement],
    }


def _before(change: Change, scope: Scope) -> dict[str, Data] | None:
    if change.live is None:
        return None
    return resources.resource(change.live, scope, change.resource.form if change.resource else None)


def _after(change: Change, scope: Scope) -> dict[str, Data] | None:
    """Return the live body with the changes applied, or the declared values for a new resource."""
    if change.action is Action.DELETE:
        return None
    after = _before(change, scope)
    if after is None:
        return pointer.nest({**change.address.name_fields, **change.values})
    for field in change.fields:
        if field.after is None:
            pointer.drop(after, field.at)
        elif not field.sensitive:
            pointer.put(after, field.at, field.after)
    for at in _unknown(change):
        pointer.drop(after, at)
    return after


def _unknown(change: Change) -> Iterable[Pointer]:
    """Return the service's own fields of a resource that does not exist yet."""
    if change.action not in (Action.CREATE, Action.REPLACE) or change.resource is None:
        return []
    fields = change.resource.form.fields
    writable = {field.at[0] for field in fields if field.mutability is not Mutability.READ_ONLY}
    given_keys = {at[0] for at in change.values}
    return [
        field.at
        for field in fields
        if field.mutability is Mutability.READ_ONLY
        and (field.at[0] in given_keys or field.at[0] not in writable)
    ]


def _secrets(change: Change) -> list[Pointer]:
    """Return the secrets that the file sets."""
    if change.resource is None:
        return []
    declared = change.resource.values
    return [
        field.at for field in change.resource.form.fields if field.secret and field.at in declared
    ]


def _marks(pointers: Iterable[Pointer]) -> dict[str, Data]:
    """Build `{"ssh_settings": {"admin_password": true}}`."""
    return pointer.nest(dict.fromkeys(pointers, True))
