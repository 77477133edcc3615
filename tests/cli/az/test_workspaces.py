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


def test_of_a_group_only_its_own_workspaces_are_listed(mlctl: Run) -> None:
    mlctl("workspace", "create", "-n", "mine", "-g", "GroupA")
    mlctl("workspace", "create", "-n", "theirs", "-g", "GroupB")
    names = ("workspace", "list", "--query", "[].name")
    assert mlctl(*names, "-g", "groupa").json == ["mine"]
    assert mlctl(*names, "-g", "none").json == []
    assert mlctl(*names).json == ["local", "mine", "theirs"]


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
        ("workspace diagnose -n ws", "mlctl doctor"),
        ("workspace list-keys", "log in with an identity"),
        ("feature-set list", "does not manage feature stores"),
        ("compute attach -n c", "exists elsewhere"),
    ],
)
def test_what_az_has_and_mlctl_has_not_is_refused_with_its_reason(
    mlctl: Run, line: str, why: str
) -> None:
    done = mlctl(*line.split())
    assert (done.code, why in done.err, "is not supported" in done.err) == (2, True, True)


def test_the_azure_backend_lists_what_the_caller_may_see() -> None:
    asking = azure(emulated())
    path = f"{SCOPE.id}/computes/cpu"
    asking.backend.arm.begin("PUT", path, {"properties": {"computeType": "AmlCompute"}}).wait()
    assert isinstance(asking.backend, SupportsWorkspaces)
    for group in (None, SCOPE.resource_group):
        assert [body["name"] for body in asking.backend.workspaces(group)] == [SCOPE.workspace]
    assert asking.backend.workspace(SCOPE.workspace)["id"] == SCOPE.id


def test_one_workspace_is_read_alone_on_azure() -> None:
    asking = azure(emulated(strict=True))
    with pytest.raises(NotFound):
        asking.backend.workspace("nope")
    assert asking.asked == ["GET nope"]


FILE = """\
$schema: https://azuremlschemas.azureedge.net/latest/workspace.schema.json
name: mlw-prod
location: westeurope
display_name: For production
managed_network:
  isolation_mode: allow_internet_outbound
customer_managed_key:
  key_vault: /subscriptions/s/resourceGroups/g/providers/Microsoft.KeyVault/vaults/v
  key_uri: https://v.vault.azure.net/keys/k/1
tags:
  purpose: demonstration
"""


def test_a_workspace_of_a_file_is_made_at_once_and_lists_with_its_names_and_tags(
    mlctl: Run, tmp_path: Path
) -> None:
    path = tmp_path / "ws.yml"
    path.write_text(FILE)
    made = mlctl("workspace", "create", "-f", str(path), "-g", "rg", "--tags", "team=ds").json
    assert (made["name"], made["location"], made["display_name"]) == (
        "mlw-prod",
        "westeurope",
        "For production",
    )
    assert made["tags"] == {"purpose": "demonstration", "team": "ds"}
    assert made["managed_network"] == {"isolation_mode": "allow_internet_outbound"}
    assert made["customer_managed_key"]["key_uri"] == "https://v.vault.azure.net/keys/k/1"
    assert mlctl("workspace", "list", "--query", "[].name").json == ["local", "mlw-prod"]
    there = ("-g", "rg", "-w", "mlw-prod")
    mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"), *there)
    assert mlctl("compute", "list", "--query", "[].location", *there).json == ["westeurope"]


def test_a_workspace_is_updated_by_what_is_said_alone(mlctl: Run) -> None:
    mlctl("workspace", "create", "-n", "ws1", "-d", "First", "--tags", "a=1")
    done = mlctl("workspace", "update", "-n", "ws1", "--set", "description=For trials").json
    assert (done["display_name"], done["description"], done["tags"]) == (
        "First",
        "For trials",
        {"a": "1"},
    )
    missing = mlctl("workspace", "update", "-n", "nope")
    assert (missing.code, "There is no workspace nope" in missing.err) == (3, True)


def test_a_deleted_workspace_takes_its_resources_along_and_frees_its_name(
    mlctl: Run, tmp_path: Path
) -> None:
    there = ("-g", "rg", "-w", "ws1")
    mlctl("workspace", "create", "-n", "ws1", "-g", "rg", "-l", "westus")
    mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"), *there)
    mlctl("batch-endpoint", "create", "-n", "scores", *there)
    assert mlctl("workspace", "delete", "-n", "ws1", "-g", "rg", "-y").code == 0
    assert mlctl("workspace", "list", "--query", "[].name").json == ["local"]
    made = mlctl("workspace", "create", "-n", "ws1", "-g", "rg", "-l", "eastus2").json
    assert made["location"] == "eastus2"
    assert mlctl("compute", "list", *there).json == []
    assert mlctl("compute", "create", "-f", cluster(tmp_path / "cpu.yml"), *there).code == 0


def test_a_managed_network_is_provisioned_where_there_is_one(mlctl: Run) -> None:
    mlctl("workspace", "create", "-n", "ws1", "-m", "allow_only_approved_outbound")
    done = mlctl("workspace", "provision-network", "-n", "ws1", "--include-spark")
    assert done.json == {"spark_ready": True, "status": "Active"}
    without = mlctl("workspace", "provision-network")
    assert without.json == {"spark_ready": False, "status": "Inactive"}
    assert "no managed network" in without.err


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("create -n a/b", "3 to 33 letters"),
        ("create -n ws1 -l mars", "is not available"),
        ("create -n ws1 -m all", "is none of disabled"),
        ("create -n ws1 --public-network-access maybe", "neither Enabled nor Disabled"),
        ("create -n ws1 --set descripton=x", "did you mean `description`"),
        ("create -n ws1 --set description", "write KEY=VALUE"),
    ],
)
def test_what_no_workspace_can_be_is_refused_before_one_is_made(
    mlctl: Run, line: str, why: str
) -> None:
    done = mlctl("workspace", *line.split())
    assert (done.code != 0, why in done.err) == (True, True)
    assert mlctl("workspace", "list", "--query", "[].name").json == ["local"]


@pytest.mark.parametrize("verb", ["create", "update", "delete -y", "provision-network"])
def test_a_workspace_of_azure_is_left_to_bicep_and_terraform(mlctl: Run, verb: str) -> None:
    done = mlctl("--backend", "azure", "workspace", *verb.split(), "-n", "ws1")
    assert done.code == 2
    assert "workspaces@2024-04-01" in done.err
    assert "azurerm_machine_learning_workspace" in done.err


def test_a_workspace_that_the_emulator_makes_is_changed_and_deleted() -> None:
    arm = azure(emulated()).backend.arm
    path = SCOPE.id.replace(SCOPE.workspace, "second")
    arm.begin("PUT", path, {"location": "eastus", "properties": {"description": "a"}}).wait()
    changed = arm.send("PATCH", path, "2024-04-01", body={"tags": {"a": "b"}})[0]
    assert (changed["tags"], changed["properties"]["description"]) == ({"a": "b"}, "a")
    assert arm.post(f"{path}/provisionManagedNetwork", {})["status"] == "Inactive"
    arm.begin("DELETE", path).wait()
    every = arm.pages(path.rpartition("/")[0])
    assert [body["name"] for body in every] == [SCOPE.workspace]
