"""Check policies against resources in files, changes of a plan, and the plan as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import product
from math import prod
from typing import Any

from mlctl import pointer
from mlctl.config.graph import Graph, inline_assets
from mlctl.diagnostics import Diagnostic, Label
from mlctl.kinds import Kind, Resource, Scope, codec, kind_of
from mlctl.kinds.field import Form
from mlctl.kinds.values import Values, decode, form_of_body
from mlctl.planning import cost
from mlctl.planning.model import Action, Change, Plan
from mlctl.pointer import Data, Pointer
from mlctl.policies.policy import CHANGE, COST, ENVIRONMENT, PLAN, Policy, action_name, kind_named

_NOWHERE = Scope("", "", "")  # no value that rules compare depends on the workspace
_Roots = dict[str, Data]
_MOST_CHOICES = 10_000  # of other resources, for one of the first kind


def check_files(
    policies: Iterable[Policy], graph: Graph, today: date, environment: str | None = None
) -> Iterator[Diagnostic]:
    """Yield the resources that break policies on files."""
    about_files = [policy for policy in policies if not policy.needs_plan]
    written = [*_written(graph)] if about_files else []
    for policy in about_files:
        for address, resource in written:
            names = (address, resource.address) if policy.waivers else ()
            if any(policy.waived(str(name), today) for name in names):
                continue
            if policy.on is resource.kind:
                yield from _by_schema(policy, resource, address)
            elif policy.kinds and policy.kinds[0] is resource.kind:
                values = _shown_values(policy, resource.values, resource.form)
                sides = _roots_of(policy, values, resource, graph)
                base: _Roots = {ENVIRONMENT: environment}
                if not _holds(policy, base, sides):
                    yield _finding(policy, resource, address)


def check_plan(
    policies: Iterable[Policy],
    plan: Plan,
    graph: Graph,
    today: date,
    environment: str | None = None,
) -> Iterator[Diagnostic]:
    """Yield what in a plan breaks policies on changes and costs."""
    needing = [policy for policy in policies if policy.needs_plan and not policy.asks(COST)]
    whole = _plan_values(plan) if any(policy.asks(PLAN) for policy in needing) else {}
    for policy in needing:
        rule = policy.rule
        about_changes = policy.asks(CHANGE) or bool(policy.kinds)
        base: _Roots = {PLAN: whole, ENVIRONMENT: environment}
        if rule is None:
            continue
        if not about_changes:
            if not rule.holds(base) and not policy.waived(PLAN, today):
                yield Diagnostic(policy.finding, policy.message, _own_label(policy), policy.hint)
            continue
        for change in plan.changes:
            if change.action is Action.NO_OP and not policy.kinds:
                continue
            if policy.waivers and policy.waived(str(change.address), today):
                continue
            about = {**base, CHANGE: _change_values(change)}
            if not _holds(policy, about, _roots_of_change(policy, change, plan, graph)):
                yield _change_finding(policy, change)


def check_forecast(
    policies: Iterable[Policy],
    forecast: Mapping[str, Any],
    today: date,
    environment: str | None = None,
) -> Iterator[Diagnostic]:
    """Yield what breaks policies on job costs in a plan's forecast (`plan --simulate`).

    A job that is not always done has no cost until done: that is null.
    """
    for policy in policies:
        if policy.rule is None or not policy.asks(COST):
            continue
        for deployment in forecast["deployments"]:
            planned, address = deployment["planned"], deployment["deployment"]
            if planned is None or policy.waived(address, today):
                continue
            until_done = planned["until_done"]
            estimate = None if until_done["not_done"] else until_done["cost"]
            cost = None if estimate is None else estimate["value"]
            if not policy.rule.holds({COST: {"until_done": cost}, ENVIRONMENT: environment}):
                message = f"{policy.message} ({address})"
                yield Diagnostic(policy.finding, message, _own_label(policy), policy.hint)


def _written(graph: Graph) -> Iterator[tuple[str, Resource]]:
    """Yield the declared resources and their inline assets, by declared address."""
    for resource in graph.resources.values():
        if resource.owner is None:
            address = str(resource.address)
            yield address, resource
            yield from ((address, asset) for asset in inline_assets(resource))


def _holds(policy: Policy, base: _Roots, sides: Iterable[Sequence[_Roots]]) -> bool:
    """Whether a rule holds for every combination of its resources; false if there are too many."""
    kinds = [*sides]
    if policy.rule is None:
        return True
    if prod(map(len, kinds)) > _MOST_CHOICES:
        return False
    for choice in product(*kinds):
        roots = dict(base)
        for side in choice:
            roots.update(side)
        if not policy.rule.holds(roots):
            return False
    return True


def _roots_of(
    policy: Policy, values: Mapping[str, Data], resource: Resource | None, graph: Graph
) -> Iterator[Sequence[_Roots]]:
    """Return, for each kind that a rule names, the values that it may stand for.

    `values` are those of the first kind, which `resource` declares. A kind that is not referred to
    has none.
    """
    first, *others = policy.kinds
    yield [_by_both_names(first, values)]
    for kind in others:
        referred = _referred_resources(kind, resource, graph) if resource else ()
        yield [
            _by_both_names(kind, _shown_values(policy, referred_kind.values, referred_kind.form))
            for referred_kind in referred
        ]


def _referred_resources(kind: Kind, resource: Resource, graph: Graph) -> Iterator[Resource]:
    """Yield the resources of a kind that another one refers to or contains, or its parent."""
    yield from (asset for asset in inline_assets(resource) if asset.kind is kind)
    for edge in graph.edges_of(resource.address):
        for address in graph.declared(edge.target):
            if address.kind == kind.name:
                yield graph.resources[address]


def _roots_of_change(
    policy: Policy, change: Change, plan: Plan, graph: Graph
) -> Iterable[Sequence[_Roots]]:
    if not policy.kinds:
        return []
    if kind_of(change.address) is not policy.kinds[0]:
        return [[]]
    return _roots_of(policy, _values_of(policy, change, plan.scope), change.resource, graph)


def _change_values(change: Change) -> dict[str, Data]:
    """Return what rules can ask about a change."""
    return {
        "action": action_name(change.action),
        "address": str(change.address),
        "kind": change.address.kind,
        "name": change.address.name,
        "fields": [pointer.dotted(field.at) for field in change.fields],
    }


def _values_of(policy: Policy, change: Change, scope: Scope) -> dict[str, Data]:
    """Return the values after a change; before it, if the resource is deleted."""
    if change.resource is not None and change.action is not Action.DELETE:
        values = {**change.resource.values, **change.values}
        return _shown_values(policy, values, change.resource.form)
    if change.live is None:
        return {}
    kind = kind_of(change.address)
    form = form_of_body(kind, change.live.body, scope)
    return _nested(decode(change.live.body, form, scope))


def _plan_values(plan: Plan) -> dict[str, Data]:
    """Return what rules can ask about a plan; an unknown amount is null."""
    costs = cost.of_plan(plan)
    actions = [change.action for change in plan.changes]
    summary = plan.summary
    return {
        **{
            action_name(action): actions.count(action)
            for action in Action
            if action is not Action.NO_OP
        },
        "add": summary.add,
        "change": summary.change,
        "destroy": summary.destroy,
        "monthly_floor": costs.after.floor,
        "monthly_ceiling": costs.after.ceiling,
        "monthly_floor_change": _difference(costs.before.floor, costs.after.floor),
        "monthly_ceiling_change": _difference(costs.before.ceiling, costs.after.ceiling),
    }


def _difference(old: float | None, new: float | None) -> float | None:
    return None if old is None or new is None else new - old


def _by_both_names(kind: Kind, values: Mapping[str, Data]) -> _Roots:
    """Return the values under both spellings of the kind's name."""
    return {kind.name: values, kind.name.replace("-", "_"): values}


def _shown_values(policy: Policy, values: Values, form: Form) -> dict[str, Data]:
    """Return the document's values that the policy asks for, with defaults, spelt as by `show`."""
    fields: dict[Pointer, Data] = {}
    for field in policy.fields_read(form):
        value = values.get(field.at, field.default)
        if isinstance(value, str) and field.enum:
            value = codec.decode(codec.encode(value, field, _NOWHERE), field, _NOWHERE)
        if value is not None:
            fields[field.at] = value
    return _nested(fields)


def _nested(values: Values) -> dict[str, Data]:
    data: dict[str, Data] = {}
    for at, value in sorted(values.items(), key=lambda item: len(item[0])):
        pointer.put(data, at, value)
    return data


def _by_schema(policy: Policy, resource: Resource, address: str) -> Iterator[Diagnostic]:
    data = pointer.get(resource.document.data, resource.root)
    if policy.met_by is not None and policy.met_by(data):
        return
    from mlctl.schema import foreign  # noqa: PLC0415  # few documents break a schema

    for at, why in foreign.unmet(data, policy.schema):
        label = resource.label(at)
        message = f"{policy.message}: {why}"
        yield Diagnostic(policy.finding, message, label, policy.hint, address=address)


def _finding(policy: Policy, resource: Resource, address: str) -> Diagnostic:
    """Report at the last field that the rule names and the document sets; else at the document."""
    label = _label(policy, resource)
    return Diagnostic(policy.finding, policy.message, label, policy.hint, address=address)


def _label(policy: Policy, resource: Resource) -> Label:
    paths = policy.rule.paths if policy.rule else ()
    for path in reversed(paths):
        if kind_named(path.root) is resource.kind and resource.get(*map(str, path.at)) is not None:
            return resource.label(path.at)
    return resource.label()


def _change_finding(policy: Policy, change: Change) -> Diagnostic:
    """Report at the line that forces a replacement, or asks for the change; else at the policy."""
    forcing = (change.label_of(field) for field in change.fields if field.forces_replacement)
    label = next((candidate for candidate in forcing if candidate is not None), None)
    if label is None and change.resource is not None:
        label = _label(policy, change.resource)
    message = f"{change.address}: {policy.message}"
    at = label or _own_label(policy)
    return Diagnostic(policy.finding, message, at, policy.hint, address=str(change.address))


def _own_label(policy: Policy) -> Label:
    return policy.document.label((*policy.at, "rule"))
