"""What the doctor finds, and what is to be done about it."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest

pytest.importorskip("azure.core")

from mlctl.backends.azure import health as checker
from mlctl.backends.ports.monitor import HealthCheck, HealthStatus
from mlctl.emulator import Response
from mlctl.pointer import Data
from mlctl.render.cloud import health
from tests.builders.azure import (
    SCOPE,
    TOKEN,
    Azure,
    Between,
    azure,
    emulated,
    no,
    says,
)
from tests.builders.bodies import CPU, cluster

WORKSPACE = f"GET *workspaces/{SCOPE.workspace}"
NOW = 1_000_000.0
LOCKS = "/providers/Microsoft.Authorization/locks"


def client(*answers: tuple[str, Response], **options: Any) -> Azure:
    return azure(Between(emulated(), list(answers)), **options)


def looked(*answers: tuple[str, Response], **options: Any) -> dict[str, HealthCheck]:
    """What was found, by name; of several findings the last one."""
    return {one.name: one for one in client(*answers, **options).backend.check_health(NOW)}


def found(name: str, *answers: tuple[str, Response]) -> tuple[HealthStatus, str]:
    """One finding, and what is said of it."""
    check = looked(*answers)[name]
    return check.status, health.line(check)


def test_a_workspace_in_order_has_nothing_wrong() -> None:
    fine = {HealthStatus.OK, HealthStatus.SKIPPED}
    assert {one.status for one in looked().values()} == fine
    assert (
        looked()["clock"].status is HealthStatus.SKIPPED
    )  # an emulator in memory has no clock to tell


def test_nothing_is_changed() -> None:
    asking = client()
    list(asking.backend.check_health(NOW))
    assert {one.method for one in asking.transport.seen} == {"GET"}


def test_without_credentials_nothing_else_is_looked_at() -> None:
    class Nobody:
        def get_token(self, *_: str, **__: Any) -> Any:
            from azure.core.exceptions import ClientAuthenticationError

            raise ClientAuthenticationError("Please run az login.")

    checks = looked(credential=Nobody())
    assert checks.pop("credentials").status is HealthStatus.FAILED
    assert {one.status for one in checks.values()} == {HealthStatus.SKIPPED}


def test_a_token_is_described_and_not_shown() -> None:
    verdict, text = found("credentials")
    assert verdict is HealthStatus.OK
    assert TOKEN not in text


@pytest.mark.parametrize(("status", "words"), [(404, "nobody"), (403, "Compute Operator")])
def test_a_workspace_that_cannot_be_seen_ends_it(status: int, words: str) -> None:
    answer = says(status, {"error": {"code": "X", "message": "nobody there"}})
    verdict, text = found("workspace", (WORKSPACE, answer))
    assert verdict is HealthStatus.FAILED
    assert words in text
    assert looked((WORKSPACE, answer))["quota"].status is HealthStatus.SKIPPED


@pytest.mark.parametrize(
    ("ahead", "verdict"),
    [(2, HealthStatus.OK), (90, HealthStatus.WARNING), (-400, HealthStatus.FAILED)],
)
def test_a_clock_that_is_wrong_is_noticed(ahead: float, verdict: HealthStatus) -> None:
    date = {"date": formatdate(NOW - ahead, usegmt=True)}
    body = says(200, {"location": "eastus"}, date)
    assert found("clock", *[(WORKSPACE, body)] * 2)[0] is verdict


def test_a_provider_that_is_not_registered_is_to_be_registered() -> None:
    answer = says(200, {"registrationState": "NotRegistered"})
    verdict, text = found("provider", ("GET */providers/Microsoft.MachineLearningServices", answer))
    assert verdict is HealthStatus.FAILED
    assert "az provider register" in text


def test_a_cloud_without_our_version_is_noticed() -> None:
    types = [{"resourceType": "workspaces/computes", "apiVersions": ["2020-01-01"]}]
    answer = says(200, {"registrationState": "Registered", "resourceTypes": types})
    verdict, text = found("provider", ("GET */providers/Microsoft.MachineLearningServices", answer))
    assert verdict is HealthStatus.WARNING
    assert "computes" in text


def test_versions_that_are_retired_are_named_with_their_day() -> None:
    verdict, text = found("provider")
    assert verdict is HealthStatus.OK
    assert "with api-version 2024-04-01 and 2024-10-01" in text
    assert "retired: batch endpoints of a preview version (2026-03-16)" in text


def test_a_retired_version_that_is_asked_for_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    types = {"computes": "2024-04-01", "batchEndpoints": "2023-02-01-preview"}
    monkeypatch.setattr(checker, "_versions_by_type", lambda: types)
    verdict, text = found("provider")
    assert verdict is HealthStatus.WARNING
    assert "retired since 2026-03-16: batch endpoints of a preview version" in text


def permitted(*roles: dict[str, Data]) -> tuple[HealthStatus, str]:
    answer = says(200, {"value": list(roles)})
    return found("permissions", ("GET */permissions", answer))


ML = "Microsoft.MachineLearningServices"


@pytest.mark.parametrize(
    ("roles", "verdict", "words"),
    [
        ([{"actions": ["*"]}], HealthStatus.OK, "read and write"),
        ([{"actions": ["*/read"]}], HealthStatus.WARNING, "AzureML Data Scientist"),
        ([], HealthStatus.FAILED, "so planning is impossible"),
        (
            [{"actions": ["*"], "notActions": [f"{ML}/workspaces/computes/*"]}],
            HealthStatus.FAILED,
            "",
        ),
        (
            [{"actions": ["*"], "notActions": [f"{ML}/workspaces/computes/write"]}],
            HealthStatus.WARNING,
            "AzureML Compute Operator",
        ),
        (
            [{"actions": [f"{ML}/workspaces/*"]}, {"actions": [], "notActions": ["*"]}],
            HealthStatus.OK,
            "",
        ),
    ],
)
def test_permissions_are_told_with_the_role_that_lacks(
    roles: list[dict[str, Data]], verdict: HealthStatus, words: str
) -> None:
    told, text = permitted(*roles)
    assert told is verdict
    assert words in text


@pytest.mark.parametrize(
    ("scope", "verdict"),
    [
        ("", HealthStatus.WARNING),
        ("/resourceGroups/RG", HealthStatus.WARNING),
        (SCOPE.id.partition(SCOPE.subscription)[2], HealthStatus.WARNING),
        ("/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/s", HealthStatus.OK),
    ],
)
def test_locks_on_the_workspace_or_above_it_are_told(scope: str, verdict: HealthStatus) -> None:
    lock = {
        "id": f"/subscriptions/{SCOPE.subscription}{scope}{LOCKS}/keep",
        "name": "keep",
        "properties": {"level": "CanNotDelete"},
    }
    answers = [("GET */locks", says(200, {"value": [lock]}))] * 2
    told, text = found("locks", *answers)
    assert told is verdict
    assert ("resizing 0 -> 0" in text) is (verdict is HealthStatus.WARNING)


def test_a_cluster_that_is_stuck_is_explained() -> None:
    inner = {"allocationState": "Resizing", "currentNodeCount": 0, "targetNodeCount": 0}
    stuck = {"name": "c", "properties": {"computeType": "AmlCompute", "properties": inner}}
    verdict, text = found("clusters", ("GET */computes", says(200, {"value": [stuck]})))
    assert verdict is HealthStatus.WARNING
    assert "compute/c is resizing (0 -> 0)" in text
    assert "resource locks" in text


def test_a_cluster_that_failed_says_why() -> None:
    errors = [{"error": {"code": "X", "message": "no room"}}]
    failed = {
        "name": "c",
        "properties": {"provisioningState": "Failed", "provisioningErrors": errors},
    }
    _, text = found("clusters", ("GET */computes", says(200, {"value": [failed]})))
    assert "compute/c is Failed: (X) no room" in text


def quotas(*rows: tuple[str, str, int, int]) -> list[HealthCheck]:
    """What is said of rows of usages: (type, name, used, limit)."""
    lines = [
        {"type": f"x/{sort}/usages", "currentValue": used, "limit": limit, "name": {"value": name}}
        for sort, name, used, limit in rows
    ]
    asking = client(("GET */usages", says(200, {"value": lines})))
    return [one for one in asking.backend.check_health(NOW) if one.name == "quota"]


def test_a_quota_that_is_used_up_is_told() -> None:
    total = ("totalDedicatedCores", "TotalDedicatedCores", 95, 100)
    (check,) = quotas(total, ("vmFamily/dedicatedCores", "standardDFamily", 0, 6))
    assert check.status is HealthStatus.WARNING
    assert check.found == "95 of 100 used of all dedicated cores"


def test_low_priority_without_any_cores_is_told() -> None:
    (check,) = quotas(("totalLowPriorityCores", "TotalLowPriorityCores", 0, 0))
    assert (check.status, check.found) == (
        HealthStatus.WARNING,
        "0 allowed of the low-priority cores",
    )


def test_families_without_cores_are_information_on_one_line() -> None:
    names = [f"standardN{letter}Family" for letter in "HGFEDCBA"]
    rows = [("vmFamily/dedicatedCores", name, 0, 0) for name in names]
    room, none = quotas(*rows, ("vmFamily/lowPriorityCores", names[0], 0, -1))
    assert (room.status, none.status) == (HealthStatus.OK, HealthStatus.INFO)
    assert none.found == (
        "no cores in eastus for 8 VM families: standardNAFamily, standardNBFamily,"
        " standardNCFamily, standardNDFamily, standardNEFamily, standardNFFamily and 2 more"
    )
    assert len(health.line(none).splitlines()) == 1
    assert health.summary([room, none]) == "Everything is in order."


def test_a_look_that_is_refused_is_a_finding_with_advice() -> None:
    verdict, text = found("quota", ("GET */usages", no(403)))
    assert verdict is HealthStatus.FAILED
    assert "request a role" in text


def test_the_locks_of_the_emulator_are_found() -> None:
    asking = client()
    body = {"properties": {"level": "ReadOnly"}}
    group = f"/subscriptions/{SCOPE.subscription}/resourceGroups/rg"
    asking.backend.arm.begin("PUT", f"{group}{LOCKS}/all", body).wait()
    (found,) = [one for one in asking.backend.check_health(NOW) if one.name == "locks"]
    assert found.found == f"`all` (ReadOnly) on {group}"
    with pytest.raises(Exception, match="ScopeLocked"):
        asking.backend.put(CPU, cluster())


def test_the_summary_counts_what_is_wrong() -> None:
    checks = [
        HealthCheck("a", HealthStatus.FAILED, ""),
        HealthCheck("b", HealthStatus.WARNING, ""),
    ] * 2
    assert health.summary(checks) == "2 checks failed, 2 warnings."
    assert health.summary(checks[:1]) == "1 check failed."
    assert health.summary([]) == "Everything is in order."
