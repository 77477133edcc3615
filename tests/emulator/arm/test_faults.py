"""Faults over HTTP: what is set, what strikes, and what the caller sees."""

from __future__ import annotations

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.emulator.http.messages import DROPPED
from mlctl.kinds.address import Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import HttpFault, HttpFaultKind
from tests.builders.emulator import CLUSTER, WS, Answer, World, world

FAULTS = "/mlctl/faults"
CPU = f"{WS}/computes/cpu"


def faulty(**fields: Data) -> World:
    here = world()
    here.made(CPU, CLUSTER)
    assert here.ask("POST", FAULTS, fields).status == 201
    return here


def statuses(here: World, count: int) -> list[int]:
    return [here.get(CPU).status for _ in range(count)]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_refusal_comes_without_a_retry_after_unless_one_is_asked_for(status: int) -> None:
    answer = faulty(trouble="refuse", status=status, code="Busy").get(CPU)
    assert (answer.status, answer.code, answer.header("retry-after")) == (status, "Busy", None)


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "TooManyRequests"), (500, "InternalServerError"), (599, "ServiceUnavailable")],
)
def test_a_refusal_has_the_code_of_its_status_unless_one_is_given(status: int, code: str) -> None:
    assert faulty(trouble="refuse", status=status).get(CPU).code == code


@pytest.mark.parametrize(
    ("form", "header", "value"),
    [
        ("seconds", "retry-after", "2.5"),
        ("ms", "x-ms-retry-after-ms", "2500"),
        ("date", "retry-after", "Thu, 01 Jan 2026 00:00:02 GMT"),
    ],
)
def test_a_refusal_says_in_any_form_when_to_ask_again(form: str, header: str, value: str) -> None:
    answer = faulty(trouble="refuse", status=503, retry_after=form, seconds=2.5).get(CPU)
    assert (answer.status, answer.header(header)) == (503, value)


def test_a_throttled_call_of_the_cloud_says_it_in_seconds() -> None:
    answer = faulty(trouble="throttle", operation="get", seconds=3).get(CPU)
    assert (answer.status, answer.header("retry-after")) == (429, "3")


def test_a_fault_strikes_the_nth_request_and_so_many_more() -> None:
    here = faulty(trouble="refuse", path="*/computes/*", nth=2, times=2)
    assert statuses(here, 5) == [200, 503, 503, 200, 200]


def test_a_fault_may_strike_each_nth_request_without_end() -> None:
    assert statuses(faulty(trouble="refuse", nth=2, every=True, times=0), 6) == [200, 503] * 3


def test_a_fault_strikes_only_what_it_names() -> None:
    here = faulty(trouble="refuse", method="put", path="*/computes/*", times=0)
    assert (here.get(CPU).status, here.put(CPU, CLUSTER).status) == (200, 503)


def test_a_hang_up_does_nothing_and_answers_nothing() -> None:
    here = faulty(trouble="hang-up", method="DELETE")
    assert here.ask("DELETE", CPU).response.cut == DROPPED
    assert here.get(CPU).data["properties"]["provisioningState"] == "Succeeded"


def test_a_drop_does_it_and_answers_nothing() -> None:
    here = faulty(trouble="drop", operation="delete")
    assert here.ask("DELETE", CPU).response.cut == DROPPED
    assert here.get(CPU).data["properties"]["provisioningState"] == "Deleting"


def test_a_slow_answer_waits() -> None:
    assert faulty(trouble="slow", seconds=1.5).get(CPU).response.wait == 1.5


def test_a_truncated_answer_breaks_off() -> None:
    here = faulty(trouble="truncate", bytes=10)
    assert [here.get(CPU).response.cut for _ in range(2)] == [10, None]


def test_an_error_too_comes_late_and_breaks_off() -> None:
    answers = [faulty(trouble="slow", seconds=3), faulty(trouble="truncate", bytes=10)]
    late, short = (here.get(f"{WS}/models/absent").response for here in answers)
    assert (late.status, late.wait, short.status, short.cut) == (404, 3, 404, 10)


def test_an_answer_that_is_short_enough_does_not_break_off() -> None:
    assert faulty(trouble="truncate", bytes=10**6).get(CPU).response.cut is None


def test_an_ignored_immutable_is_accepted_and_not_applied() -> None:
    here = faulty(trouble="ignore", operation="put")
    sized = {"computeType": "AmlCompute", "properties": {"vmSize": "STANDARD_DS2_V2"}}
    answer = here.put(CPU, {"location": "eastus", "properties": sized})
    assert (answer.status, answer.data["properties"]["properties"]["vmSize"]) == (
        201,
        "STANDARD_DS3_V2",
    )


def test_faults_are_listed_with_what_they_have_seen_and_cleared() -> None:
    here = faulty(trouble="refuse", nth=9)
    here.ask("POST", FAULTS, {"trouble": "fail", "operation": "list", "nth": 9})
    statuses(here, 2)
    seen = {each["trouble"]: each["seen"] for each in here.get(FAULTS).data["value"]}
    assert seen == {"fail": 0, "refuse": 2}
    assert here.ask("DELETE", FAULTS).data == {"removed": 2}
    assert here.get(FAULTS).data == {"value": []}


def test_a_fault_never_strikes_the_faults() -> None:
    here = faulty(trouble="refuse", times=0)
    assert here.get(FAULTS).status == 200


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"trouble": "gremlins"},
        {"trouble": "refuse", "nth": 0},
        {"trouble": "refuse", "nth": "1"},
        {"trouble": "refuse", "status": 99},
        {"trouble": "refuse", "unknown": 1},
        {"trouble": "slow", "seconds": -1},
        {"trouble": "fail", "nth": 0},
        {"trouble": "fail", "unknown": 1},
        {"trouble": "style", "style": "telepathy"},
    ],
    ids=str,
)
def test_what_is_no_fault_is_refused(fields: Data) -> None:
    answer: Answer = world().ask("POST", FAULTS, fields or {"nth": 1})
    assert (answer.status, answer.code) == (400, "InvalidFault")


def test_a_fault_ordered_beside_the_emulator_strikes_its_requests() -> None:
    here = world()
    local = LocalBackend(here.store, Scope("any", "other", "workspace"))
    control.add_fault(local.handle, HttpFault(HttpFaultKind.REFUSE, status=429, times=None))
    assert (here.get(CPU).status, here.get(FAULTS).data["value"][0]["seen"]) == (429, 1)
    control.clear_faults(local.handle)
    assert here.get(CPU).status == 404
