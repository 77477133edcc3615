"""Requests to online endpoints, their keys, and the logs of deployments, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlctl.kinds.address import Address
from tests.builders.azure import azure, emulated
from tests.builders.shell import Run

NAME = ("-n", "scores")
DEPLOYMENT = """\
name: blue
endpoint_name: scores
model: azureml://registries/azureml/models/bart/versions/1
instance_type: Standard_D2as_v4
instance_count: 1
"""


@pytest.fixture
def request_file(mlctl: Run, tmp_path: Path) -> str:
    """A request, and an endpoint to send it to."""
    assert mlctl("online-endpoint", "create", *NAME).code == 0
    (tmp_path / "request.json").write_text('{"data": [1]}')
    return str(tmp_path / "request.json")


@pytest.fixture
def deployed(mlctl: Run, request_file: str, tmp_path: Path) -> str:
    """A request, and a deployment that gets all traffic."""
    (tmp_path / "blue.yml").write_text(DEPLOYMENT)
    file = str(tmp_path / "blue.yml")
    assert mlctl("online-deployment", "create", "-f", file, "--all-traffic").code == 0
    return request_file


def test_a_request_is_answered_by_an_echo_of_the_deployment_with_traffic(
    mlctl: Run, deployed: str
) -> None:
    answer = json.loads(mlctl("online-endpoint", "invoke", *NAME, "-r", deployed).json)
    assert (answer["endpoint"], answer["deployment"]) == ("scores", "blue")
    assert answer["request"] == {"data": [1]}
    assert "no code was run" in answer["mlctl"]


def test_an_endpoint_without_traffic_names_the_flag(mlctl: Run, request_file: str) -> None:
    done = mlctl("online-endpoint", "invoke", *NAME, "-r", request_file)
    assert (done.code, "--deployment-name" in done.err) == (1, True)
    done = mlctl("online-endpoint", "invoke", *NAME, "-r", request_file, "-d", "green")
    assert (done.code, "There is no online-deployment/scores/green" in done.err) == (3, True)


@pytest.mark.parametrize(
    ("text", "why"), [("no", "is not JSON"), (None, "cannot read"), ("[", "is not JSON")]
)
def test_a_request_that_is_no_json_is_not_sent(
    mlctl: Run, tmp_path: Path, text: str | None, why: str
) -> None:
    file = tmp_path / "r.json"
    if text is not None:
        file.write_text(text)
    done = mlctl("online-endpoint", "invoke", *NAME, "-r", str(file))
    assert (done.code, why in done.err) == (1, True)


def test_keys_are_made_on_first_use_and_stay(mlctl: Run, request_file: str) -> None:
    first = mlctl("online-endpoint", "get-credentials", *NAME).json
    assert first == mlctl("online-endpoint", "get-credentials", *NAME).json
    assert len({*first.values()}) == len(first) == 2
    assert first["primaryKey"] not in mlctl("online-endpoint", "show", *NAME).out
    assert mlctl("online-endpoint", "get-credentials", "-n", "none").code == 3


def test_a_key_is_replaced_and_the_other_one_stays(mlctl: Run, request_file: str) -> None:
    line = ("online-endpoint", "regenerate-keys", *NAME)
    first = mlctl("online-endpoint", "get-credentials", *NAME).json
    assert mlctl(*line).code == 0
    second = mlctl("online-endpoint", "get-credentials", *NAME).json
    assert mlctl(*line, "--key-type", "secondary").code == 0
    third = mlctl("online-endpoint", "get-credentials", *NAME).json
    assert [second[name] == first[name] for name in sorted(first)] == [False, True]
    assert [third[name] == second[name] for name in sorted(first)] == [True, False]
    assert mlctl("online-endpoint", "regenerate-keys", "-n", "none").code == 3


def test_a_key_is_replaced_on_azure() -> None:
    backend = azure(emulated()).backend
    endpoint = Address("online-endpoint", "scores")
    backend.put(endpoint, {"properties": {"authMode": "Key"}, "location": "eastus"}).wait()
    first = backend.credentials(endpoint)
    backend.regenerate_key(endpoint, "Secondary").wait()
    second = backend.credentials(endpoint)
    assert second["primaryKey"] == first["primaryKey"]
    assert second["secondaryKey"] != first["secondaryKey"]


def test_an_endpoint_of_tokens_gives_a_token_in_full(mlctl: Run) -> None:
    mlctl("online-endpoint", "create", *NAME, "--auth-mode", "aml_token")
    line = ("online-endpoint", "get-credentials", *NAME, "--query", "accessToken", "-o", "tsv")
    token = mlctl(*line).out.strip()
    assert len(token) > 30
    assert "*" not in token


def test_logs_of_a_deployment_are_its_events(mlctl: Run, deployed: str) -> None:
    line = ("online-deployment", "get-logs", "-e", "scores", "-n")
    assert "blue write" in mlctl(*line, "blue").json
    assert mlctl(*line, "green").code == 3


@pytest.mark.parametrize("flags", [("-e", "scores"), ("--set", "endpoint_name=scores")])
def test_a_file_updates_the_deployment_that_the_command_line_names(
    mlctl: Run, deployed: str, flags: tuple[str, ...]
) -> None:
    file = Path(deployed).with_name("blue.yml")
    text = DEPLOYMENT.replace("scores", "${ENDPOINT}").replace("count: 1", "count: 2")
    file.write_text(text)
    assert mlctl("online-deployment", "update", "-f", str(file), *flags).code == 0
    shown = mlctl("online-deployment", "show", "-n", "blue", "-e", "scores").json
    assert (shown["endpoint_name"], shown["instance_count"]) == ("scores", 2)
