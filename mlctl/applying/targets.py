"""Compare the live targets of steps with the plan: whether they are stale, or as planned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from mlctl import pointer
from mlctl.backends.ports.backend import Backend, Live
from mlctl.kinds import kind_of, routes
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.values import decode, fingerprint, form_of_body, state, stored_values
from mlctl.planning.diff import changed_secrets, differences, failed_operation, written_secrets
from mlctl.planning.model import FieldChange
from mlctl.planning.steps.work import PlanStep, Work
from mlctl.pointer import Data


def stale_targets(work: Work, backend: Backend) -> list[Address]:
    """Return what has changed since the plan was made, other than by this plan's steps.

    So a plan whose apply was interrupted can be applied again.
    """
    live = backend.read(work.read.keys())
    steps = defaultdict[Address, list[PlanStep]](list)
    for step in work.steps:
        steps[step.target].append(step)

    def made_by_this_plan(address: Address, target: Live | None) -> bool:
        exact = target.address if target else address  # of a newest version: that version
        return any(as_planned(step, target, work.scope) for step in steps[exact])

    return [
        address
        for address, planned_fingerprint in work.read.items()
        if live_fingerprint(target := live.get(address), work.scope) != planned_fingerprint
        and not made_by_this_plan(address, target)
    ]


def live_fingerprint(live: Live | None, scope: Scope) -> str | None:
    """Return the fingerprint; what is being deleted counts as missing, as in the plan."""
    if live is None or state(live.body) == "deleting":
        return None
    return fingerprint(live.body, kind_of(live.address), scope)


def as_planned(step: PlanStep, live: Live | None, scope: Scope) -> bool:
    """Whether the target is already as the step would make it."""
    if step.deletes:
        return live is None
    return live is not None and not mismatches_of(step, live, scope)


def _are_equal(left_value: Data, right_value: Data) -> bool:
    """Whether two values are certainly the same; in an object or list, `true` equals 1."""
    return left_value == right_value and repr(left_value) == repr(right_value)


def mismatches_of(
    step: PlanStep, live: Live | None, scope: Scope, written: Mapping[str, Data] | None = None
) -> list[FieldChange]:
    """Return where the target differs from the step, or from the body `written`."""
    if live is None or step.deletes:
        return []
    kind, body = kind_of(step.target), step.body_over(live.body) if written is None else written
    form = form_of_body(kind, body, scope)
    if all(_are_equal(pointer.get(body, at), pointer.get(live.body, at)) for at in form.wires):
        return failed_operation(live)  # equal spelling means equal values
    # A body without a default deployment unsets it; other fields left out are the service's.
    unset = {field.at: routes.nothing(field) for field in kind.route_fields}
    planned = {**unset, **stored_values(body, form, scope, with_service_fields=False)}
    actual = decode(live.body, form, scope, with_service_fields=False)
    changes = [*differences(form.writable, planned, actual, scope), *failed_operation(live)]
    if form.marked_secrets:
        changes += changed_secrets(form, written_secrets(form, body), live)
    return changes


def rewrites_secrets(step: PlanStep) -> bool:
    """Whether the step writes secrets, whose live values cannot be read."""
    forms = kind_of(step.target).forms if step.secrets else ()
    return any(written_secrets(form, step.body) for form in forms)
