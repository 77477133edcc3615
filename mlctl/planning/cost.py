"""What the nodes of a plan cost per month: at least, and at most.

A cluster scales between two numbers of nodes, so its bill lies between two amounts: `min_instances`
all month, and `max_instances` all month. An amount is unknown (None) if size, region and tier have
no known price; no nodes cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from mlctl import catalog
from mlctl.catalog.prices import UNKNOWN, Price, PriceList, own_prices
from mlctl.dataclasses import dataclass
from mlctl.kinds import Address, kind_of
from mlctl.kinds.facts import Effective, NodeRange
from mlctl.kinds.values import effective, effective_in_body
from mlctl.planning.model import Action, Change, Plan

HOURS = 730  # per month, as in Azure's price calculator


@dataclass(frozen=True, slots=True)
class Monthly:
    """USD per month, at least and at most; None is unknown."""

    floor: float | None = 0.0
    ceiling: float | None = 0.0


NOTHING = Monthly()


@dataclass(frozen=True, slots=True)
class CostChange:
    """The cost of a resource before and after a change; `nodes` are those in `region`.

    `pending` says whether the plan changes it.
    """

    address: Address
    nodes: NodeRange
    region: str
    before: Monthly
    after: Monthly
    pending: bool


@dataclass(frozen=True)
class PlanCost:
    """The cost of all resources with nodes, in the order of the plan, by a price list."""

    changes: tuple[CostChange, ...]
    prices: PriceList | None = None

    @cached_property
    def pending(self) -> tuple[CostChange, ...]:
        """The resources that the plan changes."""
        return tuple(change for change in self.changes if change.pending)

    @cached_property
    def before(self) -> Monthly:
        """The sum before; unknown if any part is."""
        return total(change.before for change in self.changes)

    @cached_property
    def after(self) -> Monthly:
        """The sum after; unknown if any part is."""
        return total(change.after for change in self.changes)

    @property
    def price_lists(self) -> list[PriceList]:
        """The price lists that were used, oldest first."""
        whole = self.prices or own_prices()
        if whole.below is None or not self.changes:
            return [whole]
        lists = [whole.of(change.nodes.size, change.region) for change in self.changes]
        return sorted({part.origin: part for part in lists}.values(), key=lambda part: part.as_of)

    @property
    def has_low_priority(self) -> bool:
        """Whether it includes low-priority prices, which vary."""
        return any(change.nodes.low_priority for change in self.changes)


def of_plan(plan: Plan) -> PlanCost:
    """Compute the cost of what the plan declares, changes and destroys."""
    costs = (_cost_of_change(change, plan) for change in plan.changes)
    return PlanCost(tuple(cost for cost in costs if cost is not None), plan.prices)


def total(costs: Iterable[Monthly]) -> Monthly:
    """Sum costs; unknown if any part is."""
    parts = [*costs]
    return Monthly(_sum(part.floor for part in parts), _sum(part.ceiling for part in parts))


def known_total(costs: Iterable[Monthly]) -> Monthly:
    """Sum the known costs."""
    parts = [*costs]
    return Monthly(
        sum(part.floor or 0.0 for part in parts), sum(part.ceiling or 0.0 for part in parts)
    )


def monthly(nodes: NodeRange | None, price: Price) -> Monthly:
    """Compute the cost of nodes at the price of their size in their region."""
    if nodes is None:
        return NOTHING
    amount = price.of_tier(low_priority=nodes.low_priority)
    return Monthly(_amount(nodes.least, amount), _amount(nodes.most, amount))


def _cost_of_change(change: Change, plan: Plan) -> CostChange | None:
    kind = kind_of(change.address)
    if kind.quota.nodes is None:
        return None
    live = None if change.live is None else effective_in_body(kind, change.live.body, plan.scope)
    live_nodes = None if live is None else kind.quota.nodes(live)
    live_region, region = _regions(change, plan.location)
    before = monthly(live_nodes, _price(plan, live_nodes, live_region))
    if change.action is Action.NO_OP:
        if live_nodes is None:
            return None
        return CostChange(change.address, live_nodes, region, before, before, pending=False)
    deleted = change.action is Action.DELETE
    planned_nodes = None if deleted else kind.quota.nodes(_planned_fields(change, live))
    nodes = planned_nodes or live_nodes
    if nodes is None:
        return None
    after = monthly(planned_nodes, _price(plan, planned_nodes, region))
    return CostChange(change.address, nodes, region, before, after, pending=True)


def _regions(change: Change, default: str) -> tuple[str, str]:
    """Return a resource's region before and after the change."""
    live_region = change.live.body.get("location") if change.live is not None else None
    written = change.resource.values.get(("location",)) if change.resource is not None else None
    region = live_region or default
    return catalog.region(region), catalog.region(written or region)


def _price(plan: Plan, nodes: NodeRange | None, region: str) -> Price:
    return UNKNOWN if nodes is None else (plan.prices or own_prices()).price(nodes.size, region)


def _planned_fields(change: Change, live: Effective | None) -> Effective:
    """Return a field lookup after the change: as written, else as live, else the default."""
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
