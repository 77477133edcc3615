"""How often a read is asked again, and for how long."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest

from mlctl.emulator import Response
from mlctl.emulator.http.messages import DROPPED
from mlctl.service_errors import Permanent, ServiceError, Transient
from tests.builders.azure import (
    Azure,
    Between,
    azure,
    emulated,
    no,
    says,
)
from tests.builders.bodies import CPU

COMPUTE = "GET */computes/cpu-cluster"


def behind(*answers: tuple[str, Response], **options: Any) -> Azure:
    """A client of an emulator that gives some answers not of its own."""
    return azure(Between(emulated(), list(answers)), **options)


def refusal(client: Azure) -> ServiceError:
    """What reading a cluster ends in."""
    with pytest.raises(ServiceError) as caught:
        client.backend.read([CPU])
    return caught.value


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "7"}, 7, 8.4),
        ({"x-ms-retry-after-ms": "1500"}, 1.5, 1.8),
        ({"retry-after": formatdate(90, usegmt=True), "date": formatdate(60, usegmt=True)}, 30, 36),
        ({"retry-after": "soon"}, 0.5, 0.6),
        ({}, 0.5, 0.6),
    ],
)
def test_a_read_that_is_refused_for_now_is_asked_again_when_it_says(
    headers: dict[str, str], least: float, most: float
) -> None:
    client = behind((COMPUTE, no(429, headers=headers)))
    assert client.backend.read([CPU]) == {}
    (slept,) = client.clock.slept
    assert least <= slept <= most


def test_the_waits_between_reads_grow() -> None:
    client = behind(*[(COMPUTE, no(503))] * 3)
    assert client.backend.read([CPU]) == {}
    assert [round(one, 1) // 0.5 for one in client.clock.slept] == [1, 2, 4]


def test_the_waits_of_many_are_not_the_same() -> None:
    client = behind(*[(COMPUTE, no(429, headers={"retry-after": "10"}))] * 3)
    assert client.backend.read([CPU]) == {}
    slept = client.clock.slept
    assert len(set(slept)) == 3
    assert all(10 < one <= 12 for one in slept)


def test_a_read_that_is_always_refused_ends() -> None:
    client = behind(*[(COMPUTE, no(503, "Busy", {"x-ms-request-id": "r-1"}))] * 9)
    error = refusal(client)
    assert isinstance(error, Transient)
    assert (error.code, error.status, error.request_id) == ("Busy", 503, "r-1")
    assert client.asked.count("GET cpu-cluster") == 4


def test_a_read_that_is_lost_is_asked_again() -> None:
    client = behind((COMPUTE, says(200, cut=DROPPED)))
    assert client.backend.read([CPU]) == {}


@pytest.mark.parametrize("status", [400, 401, 403, 409])
def test_a_read_that_is_refused_for_good_is_asked_once(status: int) -> None:
    client = behind((COMPUTE, no(status)))
    assert isinstance(refusal(client), Permanent)
    assert client.asked.count("GET cpu-cluster") == 1


def test_no_attempt_takes_longer_than_is_left_of_the_time_limit() -> None:
    client = behind(limit=7.0)
    client.backend.read([CPU])
    assert client.transport.patience[-1] == (7.0, 7.0)


def test_a_read_that_is_lost_when_its_time_is_over_has_timed_out() -> None:
    client = behind(*[(COMPUTE, says(200, cut=DROPPED))] * 4, limit=1.0)
    error = refusal(client)
    assert (error.code, "https://" in error.message) == ("TimedOut", False)


LEFT = "x-ms-ratelimit-remaining-subscription-resource-requests"


def written(*left: str) -> list[float]:
    """The pauses between writes of deployments whose answers say how many are left."""
    answers = [(f"PUT */{number}", says(200, {}, {LEFT: told})) for number, told in enumerate(left)]
    client = behind(*answers)
    for number in range(len(left)):
        at = f"/subscriptions/s/x/deployments/{number}"
        client.backend.arm.begin("PUT", at, {})
    return client.clock.slept


def test_writes_slow_down_where_few_more_are_allowed() -> None:
    assert written("24", "23", "6", "5", "") == []
    slept = written("4", "2", "0", "9", "9")
    assert [int(one / 5) for one in slept] == [1, 3, 5]


def test_a_limit_that_is_not_told_any_more_is_counted_down() -> None:
    assert [int(one / 5) for one in written("5", "", "", "")] == [1, 2]


def test_reads_and_writes_of_other_kinds_do_not_wait() -> None:
    client = behind(("PUT */deployments/*", says(200, {}, {LEFT: "0"})))
    client.backend.arm.begin("PUT", "/subscriptions/s/x/deployments/a", {})
    client.backend.arm.find("/subscriptions/s/x/deployments/a")
    with pytest.raises(ServiceError):
        client.backend.arm.begin("PUT", "/subscriptions/s/x/computes/a", {})
    assert client.clock.slept == []
