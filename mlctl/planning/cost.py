"""What the nodes of a plan cost in a month: at least, and at most.

A cluster scales between two numbers of nodes, so the bill lies between two amounts: the floor, its
`min_instances` all month, and the ceiling, its `max_instances` all month. An amount is unknown
(None) where the catalog has no price for the size; nodes that there are none of cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from mlctl import catalog
from mlctl.catalog import prices
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.claim import NodeRange
from mlctl.kinds.facts import Effective
from mlctl.kinds.values import effective, effective_in_body
from mlctl.planning.model import Action, Change, Plan

HOURS = 730  # a month, as Azure's price calculator has it


@dataclass(frozen=True, slots=True)
class Monthly:
    """USD in a month, at least and at most; None is unknown."""

    floor: float | None = 0.0
    ceiling: float | None = 0.0


NOTHING = Monthly()


@dataclass(frozen=True, slots=True)
class CostChange:
    """What a resource costs before and after a change; `nodes` is what it has, or had.

    `pending`: whether the plan does anything with it.
    """

    address: Address
    nodes: NodeRange
    before: Monthly
    after: Monthly
    pending: bool


@dataclass(frozen=True)
class PlanCost:
    """What all resources of a plan with nodes cost, in the order of the plan."""

    changes: tuple[CostChange, ...]

    @cached_property
    def pending(self) -> tuple[CostChange, ...]:
        """Those with which the plan does something."""
        return tuple(change for change in self.changes if change.pending)

    @cached_property
    def before(self) -> Monthly:
        """The sum before; unknown as soon as one is."""
        return total(change.before for change in self.changes)

    @cached_property
    def after(self) -> Monthly:
        """The sum after; unknown as soon as one is."""
        return total(change.after for change in self.changes)

    @property
    def has_low_priority(self) -> bool:
        """Whether the price of low-priority nodes is in it, which is an assumption."""
        return any(change.nodes.low_priority for change in self.changes)


def of_plan(plan: Plan) -> PlanCost:
    """The costs of what the plan declares, changes and destroys."""
    costs = (_of_change(change, plan.scope) for change in plan.changes)
    return PlanCost(tuple(cost for cost in costs if cost is not None))


def total(costs: Iterable[Monthly]) -> Monthly:
    """The sum of costs; unknown as soon as one is."""
    parts = [*costs]
    return Monthly(_sum(part.floor for part in parts), _sum(part.ceiling for part in parts))


def monthly(nodes: NodeRange | None) -> Monthly:
    """The cost of nodes, at the catalog's price; low priority at its share of the dedicated one."""
    if nodes is None:
        return NOTHING
    size = catalog.find_size(nodes.size)
    price = size.usd_per_hour if size else None
    if price is not None and nodes.low_priority:
        price *= prices.LOW_PRIORITY_RATIO
    return Monthly(_amount(nodes.least, price), _amount(nodes.most, price))


def _of_change(change: Change, scope: Scope) -> CostChange | None:
    kind = kind_of(change.address)
    if kind.quota.nodes is None:
        return None
    live = None if change.live is None else effective_in_body(kind, change.live.body, scope)
    live_nodes = None if live is None else kind.quota.nodes(live)
    pending, deleted = change.action is not Action.NO_OP, change.action is Action.DELETE
    planned_nodes = live_nodes
    if pending:
        planned_nodes = None if deleted else kind.quota.nodes(_wanted(change, live))
    nodes = planned_nodes or live_nodes
    if nodes is None:
        return None
    return CostChange(change.address, nodes, monthly(live_nodes), monthly(planned_nodes), pending)


def _wanted(change: Change, live: Effective | None) -> Effective:
    """What fields are after the change: as written, else as they are, else the default."""
    form = change.resource.form if change.resource else kind_of(change.address).forms[-1]
    values = effective(change.values, form)
    return lambda name: values(name) if live is None or (name,) in change.values else live(name)


def _amount(nodes: int, price: float | None) -> float | None:
    if not nodes:
        return 0.0
    return None if price is None else nodes * price * HOURS


def _sum(amounts: Iterable[float | None]) -> float | None:
    all_amounts = [*amounts]
    known_amounts = [amount for amount in all_amounts if amount is not None]
    return sum(known_amounts) if len(known_amounts) == len(all_amounts) else None
