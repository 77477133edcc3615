"""Cards held against a service: the same one, and one that answers otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance import Card, CardRequest, CardResponse, load
from conformance.arrange import Service
from conformance.verify import Score, verify
from tests.builders import cards

WS = (
    "/subscriptions/{subscription}/resourceGroups/{resourceGroup}"
    "/providers/Microsoft.MachineLearningServices/workspaces/{workspace}"
)
VERSION = {"api-version": "2024-04-01"}


def counting() -> tuple[Service, list[CardRequest]]:
    """An emulator, and the requests that reach it."""
    inner, seen = cards.service(), list[CardRequest]()

    def answer(request: CardRequest) -> CardResponse:
        seen.append(request)
        return inner(request)

    return answer, seen


def card(request: CardRequest, response: CardResponse, **more: object) -> Card:
    return Card("mine", "compute", "get", {}, "2024-04-01", request, response, **more)  # type: ignore[arg-type]


def put(seen: list[CardRequest]) -> Iterator[str]:
    for each in seen:
        if each.method == "PUT":
            yield each.path.partition("/workspaces/")[2].partition("/")[2]


def test_what_a_deployment_names_is_written_before_it() -> None:
    service, seen = counting()
    (wanted,) = (each for each in load() if each.id == "batch-deployment-put-create")
    (verdict,) = verify([wanted], lambda: service, load(), "1")
    assert verdict.status_agrees
    assert verdict.troubles == ()
    written = [path.split("/")[0] for path in put(seen)]
    assert {"codes", "environments", "computes", "models", "batchEndpoints"} <= {*written}
    assert list(put(seen))[-1].startswith("batchEndpoints/batch-ept-11a618d470304b2/deployments/")


def test_what_was_read_is_written_first_without_what_the_service_says() -> None:
    service, seen = counting()
    path = f"{WS}/models/m/versions/1"
    uri = "azureml://jobs/j/outputs/artifacts/paths/m/"
    shown = {
        "id": path,
        "name": "1",
        "systemData": {"createdBy": "user"},
        "properties": {"modelUri": uri, "description": None, "provisioningState": "Succeeded"},
    }
    mine = card(CardRequest("GET", path, query=VERSION), CardResponse(200, {}, shown))
    (verdict,) = verify([mine], lambda: service, load(), "1")
    assert verdict.status_agrees
    (written,) = (each for each in seen if each.method == "PUT" and "/models/" in each.path)
    assert written.body == {"properties": {"modelUri": uri}}


def test_what_was_not_there_is_not_written() -> None:
    service, seen = counting()
    gone = CardResponse(404, {}, {"error": {"code": "X", "message": ""}})
    mine = card(CardRequest("GET", f"{WS}/models/m/versions/1", query=VERSION), gone)
    (verdict,) = verify([mine], lambda: service, load(), "1")
    assert verdict.status_agrees
    assert not [path for path in put(seen) if path]


def test_what_an_error_calls_missing_is_not_written() -> None:
    service, seen = counting()
    (wanted,) = (each for each in load() if each.id == "job-put-404-no-component")
    (verdict,) = verify([wanted], lambda: service, load(), "1")
    assert verdict.deviations == ()
    assert not [path for path in put(seen) if path.startswith("components/")]


def test_a_name_that_was_blotted_out_of_a_url_is_that_of_the_answer() -> None:
    service, seen = counting()
    (wanted,) = (each for each in load() if each.id == "component-put-anonymous")
    (verdict,) = verify([wanted], lambda: service, load(), "1")
    assert "/body/name" not in [each.at for each in verdict.deviations]
    assert next(path for path in put(seen) if path.startswith("components/")).count("-") == 4


def test_a_poll_of_an_operation_that_no_card_began_is_of_one_begun_now() -> None:
    service, _ = counting()
    (wanted,) = (each for each in load() if each.id == "batch-endpoint-put-poll-running")
    (verdict,) = verify([wanted], lambda: service, load(), "1")
    assert verdict.status_agrees


def test_every_story_has_a_workspace_of_its_own_in_every_run() -> None:
    service, seen = counting()
    wanted = [each for each in load() if each.id in ("locks-list", "code-list-by-hash-none")]
    for run in ("1", "2"):
        assert len(list(verify(wanted, lambda: service, load(), run))) == 2
    places = {each.path.partition("/providers/")[0] for each in seen}
    assert len(places) == 4


def test_a_status_that_differs_counts() -> None:
    teapot = CardResponse(418, {}, {"error": {"code": "Teapot", "message": ""}})
    (verdict,) = verify(
        [card(CardRequest("GET", f"{WS}/models"), CardResponse(200, {}, {"value": []}))],
        lambda: lambda _: teapot,
        (),
        "1",
    )
    assert not verdict.status_agrees
    assert str(Score.of([verdict])) == "status 0 of 1, whole 0 of 1, deviating 1"
    assert json.dumps([each.answered for each in verdict.deviations]).count("Teapot") == 1


def test_what_a_put_goes_over_is_what_was_shown_and_what_was_sent() -> None:
    service, seen = counting()
    (wanted,) = (each for each in load() if each.id == "compute-put-update")
    (verdict,) = verify([wanted], lambda: service, load(), "1")
    assert verdict.unexpected == ()
    first, second = (
        each.body
        for each in seen
        if each.path.endswith("/computes/test325109770914") and each.method == "PUT"
    )
    account = second["properties"]["properties"]["userAccountCredentials"]
    assert first["properties"]["properties"]["userAccountCredentials"] == account
