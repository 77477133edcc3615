"""By which names the emulator may be called."""

from __future__ import annotations

import json

import pytest

from mlctl.emulator import Request, Response
from mlctl.emulator.http.host_check import with_host_check


def status(host: str, *, bound: str = "127.0.0.1", more: tuple[str, ...] = ()) -> int:
    answer = with_host_check(lambda _: Response(200), bound, more)
    return answer(Request("GET", "/tenants", headers={"host": host})).status


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8443",
        "127.0.0.1",
        "localhost:1",
        "LocalHost.",
        "[::1]:443",
        "127.9.9.9",
        "a.localhost",
    ],
)
def test_loopback_is_always_its_own(host: str) -> None:
    assert status(host, bound="10.0.0.5") == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evillocalhost",
        "10.0.0.6",
        "",
        "[",
        "@",
        "a:b:c",
    ],
)
def test_any_other_host_is_refused(host: str) -> None:
    assert status(host, bound="10.0.0.5") == 421


def test_a_refusal_is_arms_and_says_what_to_do() -> None:
    answer = with_host_check(lambda _: Response(200), "127.0.0.1", ())
    response = answer(Request("GET", "/", headers={"host": "evil.example:1"}))
    error = json.loads(response.body)["error"]
    assert (error["code"], "--allow-host" in error["message"]) == ("MisdirectedRequest", True)


def test_the_address_that_it_is_bound_to_and_names_that_were_given_are_its_own() -> None:
    assert status("10.0.0.5:9", bound="10.0.0.5") == 200
    assert status("Box.Example:9", more=("box.example",)) == 200


@pytest.mark.parametrize("bound", ["0.0.0.0", "::"])
def test_on_all_interfaces_every_address_is_its_own_and_no_name(bound: str) -> None:
    assert [status(each, bound=bound) for each in ("10.0.0.6", "evil.example")] == [200, 421]


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({}, 200),
        ({"origin": "http://127.0.0.1:8080"}, 200),
        ({"origin": "http://127.0.0.1:8080", "sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:3000"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_a_web_page_of_another_origin_is_refused(headers: dict[str, str], wanted: int) -> None:
    answer = with_host_check(lambda _: Response(200), "127.0.0.1", ())
    base = "http://127.0.0.1:8080"
    told = {"host": "127.0.0.1:8080", "content-type": "text/plain", **headers}
    assert answer(Request("POST", "/mlctl/faults", headers=told, base=base)).status == wanted
