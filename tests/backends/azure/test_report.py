"""The report of the doctor: the form of what the service answers, and nothing of anybody's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("azure.core", reason="the azure extra is not installed")

from conformance import Card, load
from mlctl.backends.azure.report import form
from tests.builders.azure import SCOPE, Between, azure, emulated, no, says
from tests.builders.emulator import world
from tests.builders.paths import ROOT

WORDS = {"text", "guid", "time", "duration", "id", "uri", "number", "boolean", None}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def leaves(data: Any) -> Iterator[Any]:
    """The values of a form; the lengths of lists and maps are none."""
    if isinstance(data, dict):
        for key, held in data.items():
            if key not in ("items", "keys") or not isinstance(held, int):
                yield from leaves(held)
    elif isinstance(data, list):
        for held in data:
            yield from leaves(held)
    else:
        yield data


@pytest.mark.slow
@given(JSON)
def test_a_form_has_no_value(data: Any) -> None:
    assert set(leaves(form(data))) <= WORDS


@pytest.mark.parametrize("card", load(), ids=lambda card: card.id)
def test_a_form_of_what_was_recorded_has_no_value(card: Card) -> None:
    assert set(leaves(form(card.response.body))) <= WORDS


def test_what_its_owner_chose_is_counted() -> None:
    body = {"tags": {"team": "x"}, "properties": {"properties": {"mine": "y"}, "a": [1, 2, None]}}
    assert form(body) == {
        "tags": {"keys": 1},
        "properties": {
            "properties": {"keys": 1},
            "a": {"items": 3, "forms": ["number", None]},
        },
    }


def test_the_properties_of_a_compute_are_the_services() -> None:
    body = {"properties": {"computeType": "AmlCompute", "properties": {"vmSize": "X", "n": 1}}}
    inner = {"vmSize": "text", "n": "number"}
    assert form(body) == {"properties": {"computeType": "text", "properties": inner}}


def test_only_reads_are_sent_and_no_name_is_told() -> None:
    asking = azure(emulated())
    answers = list(asking.backend.report())
    assert {one.method for one in asking.transport.seen} == {"GET"}
    text = json.dumps(answers)
    for name in (SCOPE.subscription, f'"{SCOPE.resource_group}"', f'"{SCOPE.workspace}"'):
        assert name not in text
    absent = {one["what"]: one for one in answers if one["settles"] == "error-codes"}
    assert {one["status"] for one in absent.values()} == {404}
    without_codes = [name for name, one in absent.items() if not one["codes"]]
    assert all("compute" in name for name in without_codes)  # whose 404 has no body


def test_what_is_there_is_looked_at_too() -> None:
    before = [one["what"] for one in azure(emulated()).backend.report()]
    store = world().store
    made = azure(emulated(store))
    path = f"{SCOPE.id}/models/secret-model/versions/1"
    body = {"properties": {"modelUri": "azureml://jobs/j/outputs/artifacts/paths/m/"}}
    made.backend.arm.begin("PUT", path, body).wait()
    answers = list(azure(emulated(store)).backend.report())
    more = [one["what"] for one in answers if one["what"] not in before]
    assert more == [
        "model: the first",
        "model: the newest version of the first",
        "model: all versions of the first",
    ]
    assert "secret-model" not in json.dumps(answers)


def test_a_refusal_is_told_by_its_codes() -> None:
    inner = {"code": "Outer", "message": "m", "innererror": {"code": "Inner", "innererror": None}}
    answers = [("GET */datastores", says(403, {"error": inner})), ("GET */jobs", no(400))]
    told = list(azure(Between(emulated(), answers)).backend.report())
    by_name = {one["what"]: one for one in told}
    assert by_name["datastore: the list"]["codes"] == ["Outer", "Inner"]
    assert by_name["job: the list"]["status"] == 400


def test_an_answer_that_cannot_be_read_is_told_too() -> None:
    answers = [("GET */datastores", says(200, "<html>"))]
    told = list(azure(Between(emulated(), answers)).backend.report())
    (failed,) = (one for one in told if "failed" in one)
    assert (failed["what"], failed["failed"]) == ("datastore: the list", "GarbledAnswer")


def test_the_page_of_open_points_names_cards_and_answers_that_there_are() -> None:
    page = (ROOT / "docs" / "azure.md").read_text().partition("## What is not verified")[2]
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| ")][2:]
    ids = {card.id for card in load()}
    settled = {one["settles"] for one in azure(emulated()).backend.report()}
    for point, state, told in rows:
        if state.strip().startswith("as recorded"):
            named = told.partition(";")[0].split(",")
            assert {one.strip() for one in named} <= ids, point
        assert set(re.findall(r'"([a-z-]+)"', told)) <= settled | {"newest-version"}, point
    assert len(rows) > 20
