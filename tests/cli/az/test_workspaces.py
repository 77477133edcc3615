"""`mlctl workspace`: read as az reads them; what makes them is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.backends.ports.backend import SupportsWorkspaces
from mlctl.service_errors import NotFound
from tests.builders.azure import SCOPE, azure, emulated
from tests.builders.shell import Run, cluster

ELSEWHERE = ("-g", "Group", "-w", "other")


def test_the_workspace_at_hand_is_shown(mlctl: Run) -> None:
    done = mlctl("workspace", "show")
    assert (done.code, done.json["name"], done.json["location"]) == (0, "local", "eastus")
    assert done.json["resource_group"] == done.json["resourceGroup"] == "local"
    assert done.json["id"].endswith("/workspaces/local")


def test_others_are_listed_once_something_was_written_to_them(mlctl: Run, tmp_path: Path) -> None:
    names = ("workspace", "list", "--query", "[].name")
    assert mlctl(*names).json == ["local"]
    mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"), *ELSEWHERE)
    assert mlctl(*names).json == ["local", "other"]
    assert "other   Group            eastus\n" in mlctl("workspace", "list", "-o", "table").out
    shown = mlctl("workspace", "show", "-n", "OTHER", "-g", "group", "--query", "name")
    assert shown.json == "other"


def test_another_subscription_is_not_told(mlctl: Run, tmp_path: Path) -> None:
    there = (*ELSEWHERE, "--subscription", "s")
    mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"), *there)
    assert mlctl("workspace", "list", "--query", "[].name").json == ["local"]
    assert mlctl("workspace", "show", "-n", "other", "-g", "Group").code == 3
    assert mlctl("workspace", "show", *there).json["name"] == "other"


def test_a_workspace_that_is_not_there_exits_with_3(mlctl: Run) -> None:
    done = mlctl("workspace", "show", "-n", "nope")
    assert (done.code, "There is no workspace nope" in done.err) == (3, True)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("workspace create -n ws", "azurerm_machine_learning_workspace"),
        ("workspace delete -n ws", "Bicep"),
        ("workspace list-keys", "log in with an identity"),
        ("online-endpoint regenerate-keys -n e", "renews no keys"),
        ("schedule list", "mlctl manages clusters"),
        ("compute attach -n c", "made elsewhere"),
    ],
)
def test_what_az_has_and_mlctl_has_not_is_refused_with_its_reason(
    mlctl: Run, line: str, why: str
) -> None:
    done = mlctl(*line.split())
    assert (done.code, why in done.err, "is not here" in done.err) == (2, True, True)


def test_the_azure_backend_lists_what_the_caller_may_see() -> None:
    asking = azure(emulated())
    path = f"{SCOPE.id}/computes/cpu"
    asking.backend.arm.begin("PUT", path, {"properties": {"computeType": "AmlCompute"}}).wait()
    assert isinstance(asking.backend, SupportsWorkspaces)
    assert [one["name"] for one in asking.backend.workspaces()] == [SCOPE.workspace]
    assert asking.backend.workspace(SCOPE.workspace)["id"] == SCOPE.id


def test_one_workspace_is_read_alone_on_azure() -> None:
    asking = azure(emulated(strict=True))
    with pytest.raises(NotFound):
        asking.backend.workspace("nope")
    assert asking.asked == ["GET nope"]
