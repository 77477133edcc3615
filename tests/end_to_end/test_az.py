"""The unmodified az on the emulator: on demand (`MLCTL_TEST_AZ=1`), as it takes a minute."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mlctl.pointer import Data
from tests.builders.emulator import CLUSTER
from tests.builders.served import COMMAND, QUIET, Served
from tests.builders.shell import environment

AZ = shutil.which(os.environ.get("MLCTL_AZ", "az"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("MLCTL_TEST_AZ"), reason="MLCTL_TEST_AZ is not set"),
    pytest.mark.skipif(AZ is None, reason="az is not installed"),
]


def az(served: Served, home: Path, *arguments: str) -> Data:
    """What az prints, in a shell where `eval "$(mlctl emulator env)"` was run."""
    env = " ".join(f"'{word}'" for word in [*COMMAND, "env"])
    ended = subprocess.run(
        ["bash", "-ec", f'eval "$({env})"; exec "$@"', "az", str(AZ), *arguments, "-o", "json"],
        cwd=served.folder,
        env=environment(
            home, **QUIET, AZURE_CONFIG_DIR=str(home), AZURE_CORE_COLLECT_TELEMETRY="0"
        ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout) if ended.stdout.strip() else None


def test_az_logs_in_makes_shows_lists_locks_and_deletes(served: Served, tmp_path: Path) -> None:
    def run(*arguments: str) -> Data:
        return az(served, tmp_path, *arguments)

    cpu, version = f"{served.workspace}/computes/az-cpu", "api-version=2024-04-01"
    run("cloud", "set", "--name", "EmulatorCloud")
    assert run("login", "--identity")[0]["id"] == served.told["subscription"]
    body = json.dumps(CLUSTER)
    made = run("rest", "--method", "put", "--url", f"{cpu}?{version}", "--body", body)
    assert made["properties"]["provisioningState"] == "Creating"
    assert run("resource", "show", "--ids", cpu)["name"] == "az-cpu"
    assert run("resource", "show", "--ids", cpu)["properties"]["provisioningState"] == "Succeeded"
    listed = run("rest", "--method", "get", "--url", f"{served.workspace}/computes?{version}")
    assert "az-cpu" in [each["name"] for each in listed["value"]]
    assert [each["name"] for each in run("group", "list")] == [served.told["resource_group"]]
    group = ("--resource-group", str(served.told["resource_group"]))
    run("lock", "create", "--name", "keep", "--lock-type", "CanNotDelete", *group)
    assert [each["name"] for each in run("lock", "list", *group)] == ["keep"]
    run("lock", "delete", "--name", "keep", *group)
    run("resource", "delete", "--ids", cpu)
    assert served.ask("GET", cpu)[0] == 404


def test_az_resource_makes_updates_lists_and_deletes(served: Served, tmp_path: Path) -> None:
    def run(*arguments: str) -> Data:
        return az(served, tmp_path, *arguments)

    run("cloud", "set", "--name", "EmulatorCloud")
    run("login", "--identity")
    provider, group = "Microsoft.MachineLearningServices", str(served.told["resource_group"])
    kind = ("--namespace", provider, "--resource-type", "computes")
    above = ("--resource-group", group, "--parent", f"workspaces/{served.told['workspace']}")
    named = (*above, *kind, "--name", "az-full")
    full = ("--is-full-object", "--properties", json.dumps(CLUSTER))
    assert run("resource", "create", *named, *full)["name"] == "az-full"
    assert run("resource", "update", *named, "--set", "tags.team=ml")["tags"] == {"team": "ml"}
    assert run("resource", "show", *named)["tags"] == {"team": "ml"}
    listed = run("resource", "list", "--resource-type", f"{provider}/workspaces")
    assert [each["name"] for each in listed] == [served.told["workspace"]]
    assert run("provider", "show", "--namespace", provider)["registrationState"] == "Registered"
    run("resource", "delete", *named)
    path = f"{served.workspace}/computes/az-full"
    assert served.ask("GET", path)[0] == 404


def test_what_the_emulator_refuses_az_tells(served: Served, tmp_path: Path) -> None:
    az(served, tmp_path, "cloud", "set", "--name", "EmulatorCloud")
    az(served, tmp_path, "login", "--identity")
    with pytest.raises(AssertionError, match="Not Found"):  # its 404 has no body, as recorded
        az(served, tmp_path, "resource", "show", "--ids", f"{served.workspace}/computes/nobody")
