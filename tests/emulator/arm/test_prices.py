"""The Azure Retail Prices API of the emulator."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from mlctl.emulator import Request
from tests.builders.azure import emulated


def ask(query: str, page: int = 100) -> Any:
    import json

    answer = emulated(page=page)(Request.to("GET", f"https://x.test/api/retail/prices?{query}"))
    return answer.status, json.loads(answer.body)


def filtered(text: str) -> list[tuple[str, float]]:
    """The names and prices of the meters that a filter lets through."""
    status, body = ask(f"$filter={quote(text)}")
    assert status == 200
    return [(meter["meterName"], meter["retailPrice"]) for meter in body["Items"]]


def test_meters_are_those_of_the_price_list() -> None:
    both = "armSkuName eq 'Standard_DS3_v2' and armRegionName eq 'westus3'"
    assert filtered(both) == [("DS3 v2", 0.229), ("DS3 v2 Spot", 0.025282)]


def test_values_of_filters_are_case_sensitive() -> None:
    assert filtered("armSkuName eq 'standard_ds3_v2'") == []


def test_a_filter_may_contain_and_may_choose() -> None:
    text = "contains(meterName, 'Spot') and (armRegionName eq 'eastus' or armRegionName eq 'x')"
    assert {name[-5:] for name, _ in filtered(text)} == {" Spot"}


def test_pages_lead_to_the_last_meter_and_no_further() -> None:
    status, body = ask("$skip=1", page=1)
    assert (status, body["Count"], len(body["Items"])) == (200, 1, 1)
    assert "$skip=2" in body["NextPageLink"].replace("%24", "$")
    assert ask("$skip=1000000")[1]["NextPageLink"] is None


@pytest.mark.parametrize(
    "query", ["$filter=armSkuName", "$filter=a%20eq%20'b'%20and", "$skip=-1", "api-version=1"]
)
def test_what_is_no_query_is_refused(query: str) -> None:
    assert ask(query)[0] == 400
