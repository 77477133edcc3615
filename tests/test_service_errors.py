"""The family of errors for "the service says no": which class an answer's status makes."""

from __future__ import annotations

import pytest

from mlctl.service_errors import NotFound, Permanent, ServiceError, Transient, from_status
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.control_plane.jobs.records import translate_refusals
from mlctl.simulator.engine.commands import EngineError


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, Permanent),
        (403, Permanent),
        (404, NotFound),
        (408, Transient),
        (409, Permanent),
        (429, Transient),
        (500, Transient),
        (501, Permanent),
        (503, Transient),
    ],
)
def test_the_status_makes_the_class(status: int, expected: type[ServiceError]) -> None:
    error = from_status("Code", "why", status, target="name", details=("more",))
    assert (type(error), error.status, str(error)) == (expected, status, "(Code) why")
    assert (error.target, error.details) == ("name", ("more",))


def test_an_answer_that_says_when_to_ask_again_is_transient() -> None:
    error = from_status("OperationInProgress", "wait", 409, retry_after=3)
    assert isinstance(error, Transient)
    assert (error.retry_after, error.ambiguous) == (3, False)


def test_what_may_have_been_done_is_transient_and_ambiguous() -> None:
    error = CallFault(FaultKind.DROP, status=400).error()
    assert isinstance(error, Transient)
    assert (error.ambiguous, error.retry_after) == (True, None)


def test_each_class_has_a_status_of_its_own() -> None:
    kinds: tuple[type[ServiceError], ...] = (ServiceError, Permanent, NotFound, Transient)
    assert [kind("C", "m").status for kind in kinds] == [400, 400, 404, 503]


@pytest.mark.parametrize(("status", "code"), [(400, "BadArgument"), (409, "Conflict")])
def test_the_engines_refusals_become_the_services(status: int, code: str) -> None:
    with pytest.raises(Permanent) as caught, translate_refusals(7, status):
        raise EngineError("job `7/score` has ended already")
    assert (caught.value.code, caught.value.status) == (code, status)
    assert caught.value.message == "Job `score` has ended already."
