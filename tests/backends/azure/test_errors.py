"""Errors there and back: the emulator writes them as ARM's JSON, the azure backend reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from mlctl.emulator.http.messages import COMPLETE, DROPPED, HttpError, Response, error_response
from mlctl.service_errors import NotFound, Permanent, ServiceError, Transient
from tests.builders.replayed import CARDS, answer

pytest.importorskip("azure.core")

from mlctl.backends.azure import errors


@dataclass(frozen=True)
class Answer:
    """A response as the SDK's pipeline gives it."""

    inner: Response
    reason: str = ""

    @property
    def status_code(self) -> int:
        return self.inner.status

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.inner.headers)

    def text(self) -> str:
        return self.inner.body.decode()


@pytest.mark.parametrize(
    "error",
    [
        Permanent("BadArgument", "`x` must be a number.", target="properties.x"),
        Permanent("Conflict", "It is used by others.", status=409, details=("first", "second")),
        NotFound("ResourceNotFound", "There is no such cluster."),
        Transient("TooManyRequests", "Slow down.", status=429, retry_after=7.0),
        Transient("OperationInProgress", "Wait.", status=409, retry_after=2.5),
        Transient("InternalServerError", "Try again.", status=500, ambiguous=True),
    ],
    ids=lambda error: error.code,
)
def test_an_error_is_the_same_on_the_other_side(error: ServiceError) -> None:
    again = errors.error_of(Answer(error_response(error)))
    assert (type(again), vars(again)) == (type(error), vars(error))


def test_an_answer_that_was_lost_is_cut_before_its_first_byte() -> None:
    lost = Transient("ConnectionLost", "No answer came.", status=504, ambiguous=True)
    assert error_response(lost).cut == DROPPED
    assert error_response(Transient("Busy", "Later.", status=503)).cut is COMPLETE


def test_an_error_of_http_keeps_its_headers() -> None:
    error = HttpError("MethodNotAllowed", "No.", status=405, headers={"allow": "GET"})
    answer = error_response(error)
    assert (answer.status, answer.headers["allow"]) == (405, "GET")
    assert type(errors.error_of(Answer(answer))) is Permanent


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "<!DOCTYPE html>\n<html><title>Blocked\n::error::x</title>...",
            "an HTML page: Blocked ::error::x",
        ),
        ("<html><body>no</body></html>", "an HTML page"),
        (
            "<?xml version='1.0'?>\n<Error>Not yours.</Error>",
            "<?xml version='1.0'?> <Error>Not yours.</Error>",
        ),
    ],
)
def test_a_page_of_a_proxy_is_told_on_one_line(body: str, said: str) -> None:
    error = errors.error_of(Answer(Response(403, {}, body.encode())))
    assert error.message == said


def recorded(card: str) -> ServiceError:
    return errors.error_of(Answer(answer(CARDS[card])))


def test_what_is_wrong_with_properties_is_told_one_by_one() -> None:
    refused = recorded("batch-deployment-put-400-no-model")
    assert type(refused) is Permanent
    assert (refused.code, refused.status, refused.details) == ("UserError", 400, ())
    assert refused.message.endswith("Please resolve them and try again.")
    assert [str(one) for one in refused.properties] == [
        "`ModelConfiguration.ModelReference`: 'Model Reference' must not be empty."
    ]
    assert refused.inner == ("BadArgument", "ArgumentInvalid", "InvalidInputArguments")


@pytest.mark.parametrize("rest", ["[", "[1]", '[{"PropertyName": "x"}]', "{}", "[" * 3000])
def test_a_message_with_another_list_stays_as_it_is(rest: str) -> None:
    body = {"error": {"code": "UserError", "message": f"No.\n{rest}"}}
    error = errors.error_of(Answer(Response(400, {}, json.dumps(body).encode())))
    assert error.properties == ()
    assert error.message.startswith("No.\n")


@pytest.mark.parametrize(
    ("card", "inner"),
    [
        ("batch-endpoint-get-404", ()),
        ("model-get-404", ()),
        ("component-container-get-404", ("NotFound", "ComponentNotFound")),
        ("job-put-404-no-workspace", ()),
    ],
)
def test_what_is_not_there_is_not_found_whatever_the_code(
    card: str, inner: tuple[str, ...]
) -> None:
    missing = recorded(card)
    assert (type(missing), missing.inner) == (NotFound, inner)
