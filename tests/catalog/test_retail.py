"""Prices read off the meters of the Azure Retail Prices API."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.catalog import retail
from mlctl.catalog.prices import Price, PriceList, own_prices

TODAY = date(2026, 11, 23)
SERIES = "Virtual Machines DSv3 Series"


def meter(name: str, price: Any, product: str = SERIES, **other: Any) -> dict[str, Any]:
    """A meter of D2s v3 in eastus, with the fields that an answer of August 2026 had."""
    return {
        "currencyCode": "USD",
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": "eastus",
        "effectiveStartDate": "2026-08-01T00:00:00Z",
        "meterName": name,
        "skuName": name,
        "productName": product,
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "armSkuName": "Standard_D2s_v3",
        **other,
    }


ANSWER = [
    meter("D2s v3 Low Priority", 0.075, f"{SERIES} Windows"),
    meter("D2s v3 Low Priority", 0.019),
    meter("D2s v3 Spot", 0.018816),
    meter("D2s v3 Spot", 0.036848, f"{SERIES} Windows"),
    meter("D2s v3", 0.096),
    meter("D2s v3", 0.188, f"{SERIES} Windows"),
    meter("D2s v3", 0.9, "DSv3 Series Cloud Services"),
    meter("D2s v3", 0.01, type="DevTestConsumption"),
    meter("D2s v3", 416, type="Reservation"),
    meter("D2s v3", 0.2, serviceName="Azure Managed Instance for Apache Cassandra"),
]
PAIR = ("Standard_D2s_v3", "eastus")


def test_of_all_meters_of_a_size_those_of_linux_on_demand_and_spot_count() -> None:
    assert retail.read(ANSWER, TODAY) == {PAIR: Price(0.096, 0.018816)}


def test_a_size_without_a_meter_of_spot_has_no_price_of_spot() -> None:
    assert retail.read([meter("D2s v3", 0.096)], TODAY) == {PAIR: Price(0.096, None)}


def test_the_price_that_came_into_effect_last_counts() -> None:
    days = {"2025-01-01": 1.0, "2026-09-01": 2.0, "2027-01-01": 3.0}
    meters = [
        meter("D2s v3", price, effectiveStartDate=f"{day}T00:00:00Z") for day, price in days.items()
    ]
    assert retail.read(meters, TODAY) == {PAIR: Price(2.0)}


@pytest.mark.parametrize(
    "meters",
    [
        [meter("D2s v3", 1), meter("D2s v3", 2), meter("D2s v3 Spot", 0.5)],
        [meter("D2s v3", 0), meter("D2s v3 Spot", 0.5)],
    ],
)
def test_prices_that_contradict_each_other_are_not_known(meters: list[dict[str, Any]]) -> None:
    assert retail.read(meters, TODAY) == {PAIR: Price(None, 0.5)}


def test_spot_above_dedicated_is_not_known() -> None:
    assert retail.read([meter("D2s v3", 1), meter("D2s v3 Spot", 2)], TODAY) == {PAIR: Price(1.0)}


@pytest.mark.parametrize("price", [None, "0.1", -1, float("nan"), float("inf"), 1e300, True, []])
def test_a_price_of_a_wrong_type_is_said(price: Any) -> None:
    with pytest.raises(retail.MeterError, match="the `retailPrice` of a meter is"):
        retail.read([meter("D2s v3", price)], TODAY)


@pytest.mark.parametrize("name", ["productName", "meterName", "effectiveStartDate", "armSkuName"])
def test_a_field_that_is_no_text_is_said(name: str) -> None:
    with pytest.raises(retail.MeterError, match=f"`{name}` of a meter is missing"):
        retail.read([{**meter("D2s v3", 1), name: None}], TODAY)


def test_the_filter_spells_values_as_the_service_does() -> None:
    assert retail.filter_of(["STANDARD_ds3_v2", "Standard_B1s"], ["eastus"]) == (
        "serviceName eq 'Virtual Machines' and priceType eq 'Consumption'"
        " and (armRegionName eq 'eastus')"
        " and (armSkuName eq 'Standard_DS3_v2' or armSkuName eq 'Standard_B1s')"
    )


amounts = st.floats(0.001, 100).map(lambda amount: round(amount, 6))
pairs = st.tuples(amounts, amounts).map(lambda two: Price(max(two), min(two)))


@given(st.dictionaries(st.sampled_from([*own_prices().prices]), pairs | amounts.map(Price)))
def test_meters_made_of_a_list_say_the_list_again(prices: dict[tuple[str, str], Price]) -> None:
    meters = retail.meters_of(PriceList("mine", TODAY, prices))
    assert {
        (size.casefold(), region): price
        for (size, region), price in retail.read(meters, TODAY).items()
    } == prices
