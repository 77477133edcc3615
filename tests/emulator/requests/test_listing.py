"""Pages of lists."""

from __future__ import annotations

import pytest

from tests.builders.emulator import (
    BASE,
    CLUSTER,
    VERSION,
    WS,
    world,
)


def test_a_list_is_paged_with_absolute_links_and_nothing_is_left_out() -> None:
    here = world(page=2)
    for name in "edcba":
        here.put(f"{WS}/computes/cpu-{name}", CLUSTER)
    pages = [here.get(f"{WS}/computes?{VERSION}&$skip=")]
    while "nextLink" in pages[-1].data:
        assert pages[-1].data["nextLink"].startswith(BASE)
        pages.append(here.get(pages[-1].data["nextLink"]))
    assert [page.names for page in pages] == [
        ["cpu-a", "cpu-b"],
        ["cpu-c", "cpu-d"],
        ["cpu-e"],
    ]


def test_what_is_written_between_two_pages_moves_nothing() -> None:
    here = world(page=2)
    for name in "bcde":
        here.put(f"{WS}/computes/cpu-{name}", CLUSTER)
    first = here.get(f"{WS}/computes")
    here.put(f"{WS}/computes/cpu-a", CLUSTER)
    assert here.get(first.data["nextLink"]).names == ["cpu-d", "cpu-e"]


def test_a_page_is_the_same_while_a_fault_is_set() -> None:
    here = world(page=2)
    for name in "abc":
        here.put(f"{WS}/computes/cpu-{name}", CLUSTER)
    here.ask("POST", "/mlctl/faults", {"trouble": "fail", "operation": "put"})
    first = here.get(f"{WS}/computes")
    assert [first.names, here.get(first.data["nextLink"]).names] == [
        ["cpu-a", "cpu-b"],
        ["cpu-c"],
    ]


@pytest.mark.parametrize("query", ["$top=0", "$top=x", "$skipToken=x", "$skipToken=WzFd", "$top=٣"])
def test_a_page_that_cannot_be_is_refused(query: str) -> None:
    answer = world().get(f"{WS}/computes?{query}")
    assert (answer.status, answer.code) == (400, "InvalidQueryParameterValue")


def test_top_is_how_many_there_are_in_all() -> None:
    here = world(page=2)
    for name in "abcde":
        here.put(f"{WS}/computes/cpu-{name}", CLUSTER)
    first = here.get(f"{WS}/computes?$top=3")
    second = here.get(first.data["nextLink"])
    assert (first.names, second.names) == (["cpu-a", "cpu-b"], ["cpu-c"])
    assert "nextLink" not in second.data
