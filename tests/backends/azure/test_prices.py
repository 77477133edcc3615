"""Prices over HTTP: pages, throttling, and pages that cannot be read."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any

import pytest

from mlctl.catalog.prices import Price, own_prices
from mlctl.emulator import Response
from mlctl.service_errors import ServiceError
from tests.builders.azure import BASE, Between, ManualClock, emulated, no, says

URL = f"{BASE}/api/retail/prices"
SIZES = ["Standard_DS3_v2", "Standard_B2s"]
TODAY = date(2026, 11, 23)
ASKED = "GET /api/retail/prices"


def fetched(*answers: Response, page: int = 3) -> tuple[dict[tuple[str, str], Price], Any, Any]:
    """The prices of two sizes in two regions, what was asked, and the clock; answers come first."""
    pytest.importorskip("azure.core", reason="the azure extra is not installed")
    import requests
    from azure.core.pipeline.transport import RequestsTransport

    from mlctl.backends.azure.prices import fetch_prices
    from mlctl.backends.azure.retry import Clock
    from mlctl.testing.sdk import InProcess

    service: Any = Between(emulated(page=page), [(ASKED, answer) for answer in answers])
    adapter: Any = InProcess(service)
    session, clock = requests.Session(), ManualClock()
    session.mount(BASE, adapter)
    ticking = Clock(clock.sleep, clock.now, Random(0), 600.0, clock.now)
    transport = RequestsTransport(session=session)
    prices = fetch_prices(URL, SIZES, ["eastus", "westus3"], TODAY, ticking, transport)
    return prices, adapter.seen, clock


def test_prices_are_read_page_by_page_as_the_list_has_them() -> None:
    prices, seen, _ = fetched()
    assert prices == {
        (size, region): own_prices().price(size, region)
        for size in SIZES
        for region in ("eastus", "westus3")
    }
    assert [request.query.get("$skip") for request in seen] == [None, "3"]
    assert {request.header("authorization") for request in seen} == {""}


def test_a_throttled_page_is_asked_again_when_the_service_says() -> None:
    _, seen, clock = fetched(no(429, "TooManyRequests", {"retry-after": "7"}))
    assert (len(seen), 7 <= clock.slept[0] <= 7 * 1.2) == (3, True)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (says(200, "<html><title>Down</title>"), "cannot be read"),
        (says(200, {"Items": {}}), "no `Items` list"),
        (says(200, ["Items"]), "no `Items` list"),
        (says(200, {"Items": [1]}), "not a list of objects"),
        (says(200, {"Items": [{"productName": 3}]}), "`productName` of a meter is 3, not text"),
        (says(200, {"Items": [], "NextPageLink": 3}), "NextPageLink is not a URL"),
        (says(200, {"Items": [], "NextPageLink": "https://evil.test/x"}), "another host"),
        (says(200, {"Items": [], "NextPageLink": f"{BASE}:8443/x"}), "another host"),
        (no(400, "BadRequest"), "BadRequest"),
    ],
)
def test_a_page_that_cannot_be_read_is_an_error(answer: Response, why: str) -> None:
    with pytest.raises(ServiceError, match=why):
        fetched(answer)


def test_pages_that_go_in_a_circle_end() -> None:
    link = {"Items": [], "NextPageLink": f"{BASE}:443/api/retail/prices?a=1"}
    with pytest.raises(ServiceError, match="it has too many pages"):
        fetched(says(200, link), says(200, link))
