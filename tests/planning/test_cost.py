"""What the nodes of a plan cost in a month."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import catalog
from mlctl.catalog import prices
from mlctl.kinds.facts import NodeRange
from mlctl.planning.cost import HOURS, Monthly, PlanCost, monthly, of_plan
from tests.builders.plans import plan, workspace
from tests.builders.resources import CLUSTER, ENDPOINT

DS3, SPOT = 0.293, 0.03223  # USD an hour in eastus: the price list's
MINE = f"{CLUSTER}size: Standard_DS3_v2\nmin_instances: 1\nmax_instances: 4\n"


def cost(*texts: str, before: tuple[str, ...] = (), destroying: bool = False) -> PlanCost:
    """The cost of a plan of `texts`, where `before` is applied."""
    return of_plan(plan(*texts, backend=workspace(*before), destroying=destroying).plan)


def test_the_price_that_these_tests_know_is_the_catalog_s() -> None:
    assert prices.own_prices().price("standard_ds3_v2", "East US") == prices.Price(DS3, SPOT)
    assert HOURS == 730


def test_a_new_cluster_costs_between_its_least_and_its_most_nodes() -> None:
    found = cost(MINE)
    assert found.before == Monthly(0.0, 0.0)
    assert found.after == Monthly(1 * DS3 * 730, 4 * DS3 * 730)


def test_low_priority_costs_what_spot_costs() -> None:
    found = cost(f"{MINE}tier: low_priority\n")
    assert found.after == Monthly(SPOT * 730, 4 * SPOT * 730)
    assert found.has_low_priority


def test_low_priority_of_a_size_whose_spot_costs_as_much_as_dedicated_saves_nothing() -> None:
    h100 = MINE.replace("DS3_v2", "ND96isr_H100_v5").replace("max_instances: 4", "max_instances: 2")
    assert cost(h100).after == cost(f"{h100}tier: low_priority\n").after
    assert cost(h100).after.ceiling == pytest.approx(143_547.2)


def test_nodes_cost_what_they_cost_where_they_are() -> None:
    there = cost(f"{MINE}location: West US 3\n")
    assert there.after.ceiling == pytest.approx(4 * 0.229 * 730)
    assert there.changes[0].region == "westus3"
    assert cost(f"{MINE}location: westeurope\n").after == Monthly(None, None)


def test_a_cluster_that_moves_costs_the_price_of_either_region() -> None:
    found = cost(f"{MINE}location: westus3\n", before=(MINE,))
    assert found.before.floor == pytest.approx(DS3 * 730)
    assert found.after.floor == pytest.approx(0.229 * 730)


def test_what_a_file_leaves_out_counts_as_it_is_sent() -> None:
    assert cost(CLUSTER).after == Monthly(0.0, 4 * DS3 * 730)


def test_a_change_says_what_it_costs_more() -> None:
    found = cost(MINE.replace("max_instances: 4", "max_instances: 5"), before=(MINE,))
    (one,) = found.pending
    assert one.before == Monthly(DS3 * 730, 4 * DS3 * 730)
    assert one.after == Monthly(DS3 * 730, 5 * DS3 * 730)


def test_a_new_size_costs_what_it_costs() -> None:
    found = cost(MINE.replace("DS3", "DS4"), before=(MINE,))
    assert (found.before.ceiling, found.after.ceiling) == (4 * DS3 * 730, 4 * 0.585 * 730)


def test_what_is_destroyed_costs_nothing_any_more() -> None:
    found = cost(MINE, before=(MINE,), destroying=True)
    assert (found.before, found.after) == (Monthly(DS3 * 730, 4 * DS3 * 730), Monthly(0.0, 0.0))


def test_what_stays_counts_and_is_not_pending() -> None:
    found = cost(MINE, before=(MINE,))
    assert not found.pending
    assert found.before == found.after == Monthly(DS3 * 730, 4 * DS3 * 730)


def test_what_has_no_nodes_is_not_in_it() -> None:
    assert cost(ENDPOINT).changes == ()


def test_a_size_without_a_price_costs_something_unknown() -> None:
    found = cost(MINE.replace("DS3_v2", "D4x_v5"))
    assert found.after == Monthly(None, None)


def test_no_node_of_a_size_without_a_price_costs_nothing() -> None:
    assert monthly(NodeRange("Standard_D4x_v5", False, 0, 2), prices.UNKNOWN) == Monthly(0.0, None)


def test_a_sum_with_something_unknown_is_unknown() -> None:
    odd = MINE.replace("DS3_v2", "D4x_v5").replace("cpu-cluster", "odd")
    assert cost(MINE, odd).after == Monthly(None, None)


@given(
    least=st.integers(0, 50),
    more=st.integers(0, 50),
    low=st.booleans(),
    size=st.sampled_from([*catalog.sizes()]),
)
def test_no_floor_is_above_its_ceiling(least: int, more: int, low: bool, size: str) -> None:
    price = prices.own_prices().price(size, "eastus")
    found = monthly(NodeRange(size, low, least, least + more), price)
    if found.floor is not None and found.ceiling is not None:
        assert 0 <= found.floor <= found.ceiling
