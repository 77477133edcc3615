"""Stories: which cards belong together, in which order and place; what is learned on the way."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from conformance import Card, CardRequest, CardResponse, load
from conformance.story import Learned, Place, filled, ids, in_known_regions, region, stories
from mlctl import catalog

PLACE = Place("sub", "rg", "ws")
OLD, NEW = "00000000-0000-0000-0000-000000000012", "7b730a2c-ea63-596c-9dde-7360d4a36320"


def card(name: str, *follows: str) -> Card:
    blank = CardRequest("GET", "/"), CardResponse(200, {}, None)
    return Card(name, "k", "get", {}, "1", *blank, follows=follows)


def test_cards_of_a_story_come_in_their_order_and_each_once() -> None:
    cards = [card("c", "b"), card("x"), card("b", "a", "gone"), card("a"), card("d", "a")]
    told = [[each.id for each in story] for story in stories(cards)]
    assert told == [["a", "b", "c", "d"], ["x"]]


def test_an_operation_is_polled_before_its_story_goes_on() -> None:
    poll = replace(card("z", "a"), operation="poll")
    cards = [card("a"), card("b", "a"), poll, replace(card("y", "z"), operation="poll")]
    told = [[each.id for each in story] for story in stories(cards)]
    assert told == [["a", "z", "y", "b"]]


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=3)), max_size=9))
def test_every_card_is_in_one_story_whatever_follows_what(
    links: list[tuple[int, list[int]]],
) -> None:
    cards = {str(one): card(str(one), *map(str, before)) for one, before in links}
    told = [each.id for story in stories(cards.values()) for each in story]
    assert sorted(told) == sorted(cards)


def test_of_the_cards_brought_along_each_comes_after_those_that_it_follows() -> None:
    for story in stories(load()):
        seen: set[str] = set()
        for each in story:
            assert set(each.follows) <= seen
            seen.add(each.id)


def test_placeholders_become_the_names_of_the_place() -> None:
    asked = CardRequest(
        "PUT", "/subscriptions/{subscription}/x", body={"a": "{account}/{workspace}"}
    )
    told = filled(replace(card("a"), request=asked), PLACE, Learned())
    assert told.request.path == "/subscriptions/sub/x"
    assert told.request.body == {"a": "account/ws"}


def test_ids_that_the_service_made_up_are_used_from_then_on() -> None:
    learned = Learned()
    header = {"Azure-AsyncOperation": f"https://management.azure.com/op/be:{OLD}?v=1"}
    ours = {"azure-asyncoperation": f"https://localhost/op/be:{NEW}?v=1"}
    learned.compare(CardResponse(201, header, {"a": f"/x/{OLD}"}), CardResponse(201, ours, {}))
    polled = replace(card("a"), request=CardRequest("GET", f"/op/be:{OLD}"))
    assert filled(polled, PLACE, learned).request.path == f"/op/be:{NEW}"


def test_the_region_is_that_of_the_operations_and_rings_of_tests_are_elsewhere() -> None:
    shown = CardResponse(201, {"a": "https://h/locations/centraluseuap/o"}, {"location": "eastus"})
    told = in_known_regions([replace(card("a"), response=shown)])
    assert catalog.knows_region(region(told))
    assert region(told) != "eastus"
    assert told[0].response.body == {"location": "eastus"}
    assert region([card("a")]) == "eastus"


def test_the_ids_of_a_body_are_found_in_every_spelling() -> None:
    body = {"a": f"azureml:{PLACE.path}/codes/c/versions/1", "b": [PLACE.path + "/computes/d"]}
    assert list(ids([body, body], PLACE)) == [
        f"{PLACE.path}/codes/c/versions/1",
        f"{PLACE.path}/computes/d",
    ]
