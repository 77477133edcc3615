"""Spot prices and eviction rates over HTTP: pages, throttling, and pages that cannot be read."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from mlctl.catalog.prices import Price, PriceList
from mlctl.emulator import Request, Response
from mlctl.pointer import Data
from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.azure import Between, azure, emulated, no, says

ASKED = "POST /providers/Microsoft.ResourceGraph/resources"
SIZES, REGIONS = ["Standard_DS3_v2", "Standard_B2s"], ["eastus", "westus3"]
KNOWN = {
    ("standard_ds3_v2", "eastus"): Price(0.3, 0.03, "5-10"),
    ("standard_ds3_v2", "westus3"): Price(0.2, 0.02),
    ("standard_b2s", "eastus"): Price(0.1, None, "20+"),
    ("standard_b2s", "westeurope"): Price(0.1, 0.05, "0-5"),
    ("standard_d4s_v3", "eastus"): Price(0.1, 0.05, "0-5"),
}


def cloud(page: int = 2) -> Any:
    """An emulator whose price list knows eviction rates."""
    store = Store(":memory:")
    store.price_list = lambda: PriceList("mine", date(2026, 11, 1), KNOWN)
    return emulated(store, page=page)


def fetched(*answers: Response, page: int = 2) -> tuple[dict[tuple[str, str], Price], Any, Any]:
    """What the tables say of two sizes in two regions, the requests and the clock."""
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    from mlctl.backends.azure.prices import fetch_spot_tables

    told = azure(Between(cloud(page), [(ASKED, answer) for answer in answers]))
    return fetch_spot_tables(told.backend.arm, SIZES, REGIONS), told.transport.seen, told.clock


@pytest.mark.parametrize(("page", "requests"), [(1, 4), (2, 2), (100, 2)])
def test_both_tables_are_read_page_by_page(page: int, requests: int) -> None:
    prices, seen, _ = fetched(page=page)
    pairs = [(size.casefold(), region) for size in SIZES for region in REGIONS]
    listed = {pair: replace(KNOWN[pair], dedicated=None) for pair in pairs if pair in KNOWN}
    assert (prices, len(seen)) == (listed, requests)
    assert all(request.header("authorization") for request in seen)


def test_a_throttled_page_is_asked_again_when_the_service_says() -> None:
    _, seen, clock = fetched(no(429, "TooManyRequests", {"retry-after": "7"}))
    assert (len(seen), 7 <= clock.slept[0] <= 7 * 1.2) == (3, True)


def page(*rows: Data, **more: Data) -> Response:
    return says(200, {"data": [*rows], **more})


DS3 = {"skuName": "standard_ds3_v2", "location": "eastus"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (says(200, "<html><title>Down</title>"), "cannot be read"),
        (says(200, {}), "none of objects"),
        (says(200, {"data": {}}), "none of objects"),
        (page(1), "none of objects"),
        (page({}), "no `skuName` and `location` of text"),
        (page({**DS3, "skuName": 3}), "no `skuName` and `location` of text"),
        (page({**DS3, "priceUSD": "0.1"}), "no price and no rate"),
        (page({**DS3, "priceUSD": -1}), "no price and no rate"),
        (page({**DS3, "priceUSD": 1e300}), "no price and no rate"),
        (page({**DS3, "evictionRate": 5}), "no price and no rate"),
        (page(**{"$skipToken": 3}), "have no end"),
        (no(400, "BadRequest"), "BadRequest"),
        (no(401, "Unauthorized"), "Unauthorized"),
    ],
)
def test_a_page_that_cannot_be_read_is_an_error(answer: Response, why: str) -> None:
    with pytest.raises(ServiceError, match=why):
        fetched(answer)


def test_pages_that_go_in_a_circle_end() -> None:
    circle = page(**{"$skipToken": "x"})
    with pytest.raises(ServiceError, match="have no end"):
        fetched(circle, circle)


def test_a_rate_that_nobody_knows_is_left_out() -> None:
    prices, _, _ = fetched(page({**DS3, "evictionRate": "50+"}), page({**DS3, "priceUSD": 0.5}))
    assert prices == {("standard_ds3_v2", "eastus"): Price(None, 0.5)}


def asked(body: Data) -> tuple[int, Any]:
    """What the emulator answers to a query."""
    import json

    path = "https://x.test/providers/Microsoft.ResourceGraph/resources?api-version=2022-10-01"
    request = Request.to(
        "POST", path, {"content-type": "application/json"}, json.dumps(body).encode()
    )
    answer = cloud()(request)
    return answer.status, json.loads(answer.body)


def test_the_sample_of_the_documentation_is_understood() -> None:
    text = """SpotResources
    | where type =~ 'microsoft.compute/skuspotevictionrate/location'
    | where sku.name in~ ('Standard_DS3_v2', 'standard_b2s')
    | where location in~ ('eastus', 'southcentralus')
    | project skuName = tostring(sku.name), spotEvictionRate = tostring(properties.evictionRate)
    | order by skuName asc"""
    status, body = asked({"query": text})
    assert (status, [row["spotEvictionRate"] for row in body["data"]]) == (200, ["20+", "5-10"])
    assert ("$skipToken" in body, body["resultTruncated"]) == (False, "false")


def test_pages_need_the_id_among_the_columns() -> None:
    for columns, leads_on in (("project id, location", True), ("project location", False)):
        _, body = asked({"query": f"spotresources | {columns}"})
        assert (body["resultTruncated"], "$skipToken" in body) == ("true", leads_on)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": 3},
        {"query": "Resources"},
        {"query": "SpotResources | where a has 'b'"},
        {"query": "SpotResources | project f(x, y)"},
        {"query": "SpotResources", "options": []},
        {"query": "SpotResources", "options": {"$skipToken": "x"}},
        {"query": "SpotResources", "options": {"$top": "all"}},
    ],
)
def test_what_is_no_query_is_refused(body: Data) -> None:
    assert asked(body)[0] == 400
