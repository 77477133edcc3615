"""The form of answers: what counts as a deviation, and what varies."""

from __future__ import annotations

import pytest

from conformance import CardResponse, load
from conformance.form import ABSENT, compare, compare_data
from mlctl.pointer import Data

ID = "/subscriptions/s/resourceGroups/g/providers/P/workspaces/w/models/m/versions/{}"


@pytest.mark.parametrize(
    ("recorded", "answered"),
    [
        ("2024-07-24T08:52:22.8992568+00:00", "2026-01-01T00:00:00.5+00:00"),
        ("2023-11-27T21:03:06.8266742Z", "2026-01-01T00:00:00Z"),
        ("2025-11-04 09:28:29", "2026-01-01 00:00:00"),
        ("00000000-0000-0000-0000-000000000010", "7b730a2c-ea63-596c-9dde-7360d4a36320"),
        ("code-00000000-0000-0000-0000-000000000040", "code-7b730a2c-ea63-596c-9dde-7360d4a36320"),
        ("https://management.azure.com/a/b?api-version=1", "https://localhost:8/a/b?api-version=2"),
        ("https://{account}.blob.core.windows.net/c", "https://x.blob.core.windows.net/c"),
        ("https://a.b/c?REDACTED", "https://a.b/c?sig=1&se=2"),
        ("REDACTED", "anything at all"),
        ("https://x.inference.ml.azure.com/jobs", "https://127.0.0.1:8443/jobs"),
        ("azureml://eastus.api.azureml.ms/mlflow/v1.0/a?", "azureml://127.0.0.1/mlflow/v1.0/a?"),
        (
            "be:00000000-0000-0000-0000-000000000010:00000000-0000-0000-0000-000000000011",
            "bebes:7b730a2c-ea63-596c-9dde-7360d4a36320:7b730a2c-ea63-596c-9dde-7360d4a36321",
        ),
        (
            "s:00000000-0000-0000-0000-000000000010:SouAcOFo4BuapKqBAIDk_ywqmulFAeL08mneDz-vrEQ",
            "s:7b730a2c-ea63-596c-9dde-7360d4a36320:KHO7QQM24I4oRUFaw_BG3pIs8a2TR11-JzMAAAAAAAM",
        ),
        ("00000000000000000000000000000001", "7b730a2cea63596c9dde7360d4a36320"),
        (1721897442, 1767312120),
        ("user", "somebody"),
        ("/jobs/any/x", "/jobs/one/x"),
        ("blue_store_3k1gd32x", "red_moon_00aa11bb"),
    ],
)
def test_what_varies_is_compared_by_its_form(recorded: Data, answered: Data) -> None:
    assert list(compare_data(recorded, answered)) == []


@pytest.mark.parametrize(
    ("recorded", "answered"),
    [
        ("2024-07-24T08:52:22.8992568+00:00", "2024-07-24T08:52:22.8992568Z"),
        ("2024-07-24T08:52:22.8992568+00:00", "2024-07-24 08:52:22"),
        ("2025-11-04 09:28:29", "2025-11-04T09:28:29Z"),
        ("PT2M", "PT120S"),
        ("Info", "info"),
        ("bebes:00000000-0000-0000-0000-000000000010", "00000000-0000-0000-0000-000000000010"),
        ("azureml://datastores/a/paths/b", "azureml://datastores/a/paths/c"),
        ("https://a.b/c", "ftp://a.b/c"),
        ("https://management.azure.com/a/b?api-version=1", "https://h/a/b?api-version=1&more=2"),
        ("https://management.azure.com/a/b?api-version=1", "https://h/a/c?api-version=1"),
        ("https://x.inference.ml.azure.com/jobs", "https://127.0.0.1/a/jobs"),
        ("/a/resourceGroups/b", "/a/resourcegroups/b"),
        (None, ABSENT),
        (None, ""),
        (True, "True"),
        (1, 1.0),
        (3, 4),
        ([], None),
        ({}, None),
        ([1], [1, 2]),
        ({"a": None}, {}),
        ({}, {"a": None}),
    ],
)
def test_everything_else_is_compared_letter_by_letter(recorded: Data, answered: Data) -> None:
    (deviation,) = compare_data(recorded, answered)
    assert ABSENT in (deviation.recorded, deviation.answered) or deviation.recorded == recorded


def test_every_card_has_the_form_of_itself() -> None:
    assert [card.id for card in load() if compare(card.response, card.response)] == []


def row(name: str, **more: Data) -> Data:
    return {"id": ID.format(name), "name": name, "properties": {"n": 1, **more}}


def test_rows_are_compared_with_those_of_the_same_id_and_in_their_order() -> None:
    recorded = {"value": [row("2"), row("1", kind="x")]}
    (kind,) = compare_data(recorded, {"value": [row("2"), row("1", kind="y")]})
    assert kind.at == "/value/1/properties/kind"
    (order,) = compare_data(recorded, {"value": [row("1", kind="x"), row("2")]})
    assert order.at == "/value"
    (missing,) = compare_data(recorded, {"value": [row("2")]})
    assert missing.answered == ABSENT


def test_other_rows_have_the_form_of_the_nearest_recorded_one() -> None:
    recorded = {"value": [{"name": "a", "unit": "Count", "limit": -1}, {"name": "b", "gpus": [1]}]}
    assert not list(compare_data(recorded, {"value": [{"name": "c", "unit": "Count", "limit": 7}]}))
    (unit,) = compare_data(recorded, {"value": [{"name": "c", "unit": "Cores", "limit": 7}]})
    assert unit.at == "/value/0/unit"
    (more,) = compare_data(recorded, {"value": [{"name": "c", "gpus": [2], "more": None}]})
    assert more.at == "/value/0/more"
    (empty,) = compare_data({"value": []}, recorded)
    assert empty.at == "/value"


def test_headers_that_lead_on_are_compared_both_ways_and_limits_by_name() -> None:
    said = {"Location": "https://management.azure.com/a", "x-ms-ratelimit-remaining-a": "11999"}
    recorded = CardResponse(201, said, None)
    told = {"location": "https://h/a", "x-ms-ratelimit-remaining-a": "3", "x-other": "1"}
    assert compare(recorded, CardResponse(201, told, None)) == ()
    more = {**told, "retry-after": "1"}
    (extra,) = compare(recorded, CardResponse(201, more, None))
    assert extra.at == "/headers/retry-after"
    (missing,) = compare(recorded, CardResponse(201, {"location": "https://h/a"}, None))
    assert missing.answered == ABSENT


def test_of_an_error_in_place_of_an_answer_nothing_else_is_compared() -> None:
    recorded = CardResponse(200, {}, {"a": 1})
    refused = CardResponse(404, {}, {"error": {"code": "NotFound", "message": "No."}})
    status, body = compare(recorded, refused)
    assert (status.at, body.answered) == ("/status", "NotFound: No.")
