"""Who wrote a resource, read from Azure's activity log: the documented shape, odd answers, none."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.backends.ports.monitor import Activity
from mlctl.cli.change.drift import last_writes
from mlctl.emulator import Response
from mlctl.kinds.address import Address
from tests.builders.azure import SCOPE, Azure, Between, azure, emulated, no, says

CPU = Address("compute", "cpu")
LOG = "GET */eventtypes/management/values"


def event(at: str, operation: str, status: str, **more: Any) -> dict[str, Any]:
    """An event as the documentation of Activity Logs - List shows one."""
    return {
        "caller": "admin@contoso.com",
        "operationName": {"value": f"Microsoft.MachineLearningServices/{operation}"},
        "status": {"value": status, "localizedValue": status},
        "eventTimestamp": at,
        **more,
    }


def answered(answer: Response) -> Azure:
    """A backend whose activity log answers so."""
    return azure(Between(emulated(), [(LOG, answer)]))


def test_only_writes_that_took_effect_count_newest_first() -> None:
    made = answered(
        says(
            200,
            {
                "value": [
                    event("2026-01-01T01:00:00Z", "workspaces/computes/write", "Succeeded"),
                    event("2026-01-01T05:00:00Z", "workspaces/computes/write", "Failed"),
                    event(
                        "2026-01-01T04:00:00Z", "workspaces/computes/listNodes/action", "Succeeded"
                    ),
                    event(
                        *("2026-01-01T03:00:00Z", "workspaces/computes/delete", "Accepted"),
                        caller=None,
                        claims={"appid": "an-app"},
                    ),
                    event("2026-01-01T06:00:00Z", "workspaces/computes/write", "Started"),
                ]
            },
        )
    )
    assert made.backend.activity(CPU) == [
        Activity("2026-01-01T03:00:00Z", "delete", "an-app"),
        Activity("2026-01-01T01:00:00Z", "write", "admin@contoso.com"),
    ]
    asked = next(one for one in made.transport.seen if "eventtypes" in one.path)
    assert asked.query_value("api-version") == "2015-04-01"
    assert f"resourceUri eq '{CPU.id(SCOPE)}'" in asked.query_value("$filter")


@pytest.mark.parametrize(
    "refusal",
    [
        no(403, "AuthorizationFailed"),
        says(200, {"value": [{}, {"status": None, "operationName": {}}]}),
        says(200, []),
    ],
)
def test_where_the_log_may_not_be_read_or_says_nothing_the_writer_is_unknown(
    refusal: Response,
) -> None:
    assert last_writes(answered(refusal).backend, [CPU]) == {}


def test_of_many_resources_the_log_of_their_group_is_read_once() -> None:
    made = azure(emulated())
    many = [Address("compute", f"cpu-{number:02}x") for number in range(12)]
    for one in many:
        made.backend.put(one, {"properties": {"computeType": "AmlCompute", "properties": {}}})
    made.transport.seen.clear()
    found = made.backend.last_writes([*many, CPU])
    assert found.keys() == set(many)
    assert {one.verb for one in found.values()} == {"write"}
    (asked,) = made.transport.seen
    assert f"resourceGroupName eq '{SCOPE.resource_group}'" in asked.query_value("$filter")


def test_what_a_very_long_log_leaves_open_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = azure(emulated())
    many = [Address("compute", f"cpu-{number:02}x") for number in range(12)]
    for one in many:
        made.backend.put(one, {"properties": {"computeType": "AmlCompute", "properties": {}}})
    monkeypatch.setattr("mlctl.backends.azure.monitor._LONGEST", 3)
    assert made.backend.last_writes(many).keys() == set(many)
    assert made.backend.last_writes(many[:2]).keys() == set(many[:2])
