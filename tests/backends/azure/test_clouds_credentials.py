"""Which cloud, as whom, and what is imported for it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("azure.identity", reason="the azure extra is not installed")

from mlctl.backends import open_backend
from mlctl.backends.azure import identify_scope
from mlctl.backends.azure.clouds import AUTH_METHODS, check_auth, choose_cloud, credential
from mlctl.backends.azure.clouds import METADATA_URL_VARIABLE as METADATA_URL
from mlctl.backends.ports.backend import ConnectionOptions
from mlctl.kinds.address import Scope
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from tests.builders.azure import SCOPE, Between, azure, emulated, says
from tests.builders.paths import ROOT

URL = "https://stack.test:8443/metadata/endpoints?api-version=2022-09-01"


METADATA = {METADATA_URL: URL}


def cloud(name: str, manager: str = "https://stack.test:8443/") -> dict[str, Data]:
    login = {"loginEndpoint": "https://login.stack.test/"}
    suffixes = {"storage": "stack.test"}
    return {"name": name, "resourceManager": manager, "authentication": login, "suffixes": suffixes}


def test_an_unknown_way_to_log_in_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Permanent, match="managed-identity"):
        check_auth("password")


@pytest.mark.parametrize(
    ("way", "name"), [row for row in AUTH_METHODS.items() if row[0] != "workload-identity"]
)
def test_every_way_to_log_in_is_azure_identitys_own(way: str, name: str) -> None:
    stack = choose_cloud(None, METADATA, lambda _: cloud("Stack"))
    assert type(credential(way, stack, None)).__name__ == name


def test_a_way_that_lacks_something_says_what(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Permanent, match="workload-identity"):
        credential("workload-identity", choose_cloud(None, {}, lambda _: None), None)


def test_a_subscription_may_be_given_by_its_name() -> None:
    one = {"displayName": "Data Science", "subscriptionId": SCOPE.subscription}
    client = azure(Between(emulated(), [("GET /subscriptions", says(200, {"value": [one]}))] * 2))
    named = Scope("data science", "rg", "ws")
    assert identify_scope(named, client.backend.arm) == SCOPE
    assert identify_scope(SCOPE, client.backend.arm) == SCOPE
    unknown = Scope("nobody's", "rg", "ws")
    assert identify_scope(unknown, client.backend.arm) == unknown


def test_connecting_asks_nothing() -> None:
    backend, where = open_backend("azure", SCOPE, {}, ConnectionOptions(auth="cli", timeout=5))
    assert (backend.name, backend.scope, where) == ("azure", SCOPE, "")
    backend.close()


def modules(*words: str) -> list[str]:
    """The modules of azure.* that a command of the shell imports."""
    code = (
        "import sys, json\nfrom mlctl.cli import main\n"
        f"sys.argv = {['mlctl', *words]!r}\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(json.dumps([one for one in sys.modules if one.split('.')[0] == 'azure']))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("words", [["--version"], ["validate", "samples"], ["plan", "--help"]])
def test_nothing_local_imports_azure(words: list[str]) -> None:
    assert modules(*words) == []


@pytest.mark.slow
def test_a_plan_on_azure_needs_no_azure_ai_ml() -> None:
    scope = ("--subscription", SCOPE.subscription, "-g", "rg", "-w", "ws")
    found = modules("--backend", "azure", "--auth", "env", *scope, "compute", "list")
    assert "azure.core" in found
    assert not [one for one in found if one.startswith(("azure.ai", "azure.storage"))]
