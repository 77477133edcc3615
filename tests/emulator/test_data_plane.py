"""Scoring URIs of the emulator: authentication, traffic, errors of the code behind them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from mlctl.pointer import Data
from mlctl.serving.servers import Servers
from tests.builders.emulator import BASE, WS, World, world
from tests.builders.scripts import ONLINE

LIVE = f"{WS}/onlineEndpoints/live"
STORE = f"{BASE}/blob/account/uploads"


def deployment() -> Data:
    return {
        "location": "eastus",
        "properties": {
            "model": f"{WS}/models/m/versions/1",
            "codeConfiguration": {
                "codeId": f"{WS}/codes/c/versions/1",
                "scoringScript": "score.py",
            },
            "instanceType": "Standard_DS3_v2",
        },
        "sku": {"name": "Default", "capacity": 1},
    }


@pytest.fixture
def here() -> Iterator[World]:
    """Blue and green at 90 and 10 percent, with code and model in blobs."""
    servers = Servers(sys.executable, dict(os.environ))
    cloud = world(servers=servers)
    cloud.put(f"{STORE}/h/code/score.py", ONLINE.encode())
    cloud.put(f"{STORE}/h/model/factor.txt", b"3")
    cloud.made(f"{WS}/codes/c/versions/1", {"properties": {"codeUri": f"{STORE}/h/code"}})
    cloud.made(f"{WS}/models/m/versions/1", {"properties": {"modelUri": f"{STORE}/h/model"}})
    cloud.made(LIVE, {"location": "eastus", "properties": {"authMode": "Key"}})
    for name in ("blue", "green"):
        cloud.made(f"{LIVE}/deployments/{name}", deployment())
    traffic = {"authMode": "Key", "traffic": {"blue": 90, "green": 10}}
    cloud.made(LIVE, {"location": "eastus", "properties": traffic})
    yield cloud
    servers.end()


def score(here: World, body: bytes = b'{"data": [2]}', **headers: str) -> tuple[int, str, str]:
    """Status, text and deployment of an answer to a caller with the key."""
    uri = here.get(LIVE).data["properties"]["scoringUri"]
    key = here.ask("POST", f"{LIVE}/listKeys").data["primaryKey"]
    sent = {"authorization": f"Bearer {key}"} | {k.replace("_", "-"): v for k, v in headers.items()}
    answer = here.ask("POST", uri, body, headers=sent)
    text = answer.response.body.decode()
    return answer.status, text, str(answer.header("azureml-model-deployment"))


def test_a_scoring_uri_answers_by_the_traffic_or_by_the_header(here: World) -> None:
    answers = [score(here) for _ in range(40)]
    assert {(status, text) for status, text, _ in answers} == {(200, "[6]")}
    shares = Counter(name for *_, name in answers)
    assert 30 <= shares["blue"] < 40
    assert score(here, azureml_model_deployment="green")[2] == "green"


def test_a_deployment_that_starts_holds_up_no_other(here: World, tmp_path: Path) -> None:
    up, gate = tmp_path / "up", tmp_path / "gate"
    for fifo in (up, gate):
        os.mkfifo(fifo)
    waits = f"open({str(up)!r}, 'w').write('up'); open({str(gate)!r}).read()"
    script = f"def init():\n    {waits}\ndef run(data):\n    return 1\n"
    here.put(f"{STORE}/s/code/score.py", script.encode())
    here.made(f"{WS}/codes/s/versions/1", {"properties": {"codeUri": f"{STORE}/s/code"}})
    slow = deployment()
    slow["properties"]["codeConfiguration"]["codeId"] = f"{WS}/codes/s/versions/1"
    here.made(f"{LIVE}/deployments/slow", slow)
    with ThreadPoolExecutor(2) as threads:
        starting = threads.submit(score, here, azureml_model_deployment="slow")
        assert up.read_text() == "up"
        answered = threads.submit(score, here, azureml_model_deployment="blue")
        done, _ = wait([answered], timeout=20)
        gate.write_text("")
        assert done == {answered}
        assert (answered.result()[:2], starting.result()[:2]) == ((200, "[6]"), (200, "1"))


def test_callers_without_the_key_are_refused(here: World) -> None:
    assert score(here, authorization="Bearer wrong")[0] == 401
    uri = here.get(LIVE).data["properties"]["scoringUri"]
    assert here.ask("POST", uri, b"{}").status == 401


def test_an_error_of_the_script_is_a_424_that_says_the_containers_status(here: World) -> None:
    uri = here.get(LIVE).data["properties"]["scoringUri"]
    key = here.ask("POST", f"{LIVE}/listKeys").data["secondaryKey"]
    answer = here.ask("POST", uri, b"{}", headers={"authorization": f"Bearer {key}"})
    assert (answer.status, answer.header("ms-azureml-model-error-statuscode")) == (424, "500")
    assert "unexpected error" in answer.data["message"]


def test_an_endpoint_says_that_it_lives(here: World) -> None:
    uri = here.get(LIVE).data["properties"]["scoringUri"].removesuffix("/score")
    assert here.get(uri).response.body == b"Healthy"


@pytest.mark.parametrize(("query", "spelling"), [("", "swagger"), ("?version=3", "openapi")])
def test_an_endpoint_describes_itself_to_callers_with_its_key(query: str, spelling: str) -> None:
    cloud = world()
    cloud.made(LIVE, {"location": "eastus", "properties": {"authMode": "Key"}})
    uri = cloud.get(LIVE).data["properties"]["swaggerUri"] + query
    assert cloud.get(uri).status == 401
    key = cloud.ask("POST", f"{LIVE}/listKeys").data["primaryKey"]
    description = cloud.ask("GET", uri, headers={"authorization": f"Bearer {key}"}).data
    assert (spelling in description, description["info"]["title"]) == (True, "live")
    assert [*description["paths"]] == ["/", "/score"]


def test_without_the_flag_the_scoring_uri_leads_here_and_no_code_lives() -> None:
    cloud = world()
    cloud.made(LIVE, {"location": "eastus", "properties": {"authMode": "Key"}})
    uri = cloud.get(LIVE).data["properties"]["scoringUri"]
    assert uri == f"{BASE}/online/sub/rg/ws/live/score"
    assert cloud.get(f"{BASE}/online/sub/rg/ws/live").status == 404


def test_a_command_job_that_is_put_runs_its_code(here: World) -> None:
    here.put(f"{STORE}/h/src/main.py", b"print(open('x.txt', 'w').write('four') * 'a')")
    here.made(f"{WS}/codes/main/versions/1", {"properties": {"codeUri": f"{STORE}/h/src"}})
    properties: Data = {
        "jobType": "Command",
        "command": "python main.py; cp x.txt ${{outputs.o}}; exit ${{inputs.code}}",
        "codeId": f"{WS}/codes/main/versions/1",
        "inputs": {"code": {"jobInputType": "literal", "value": "3"}},
        "outputs": {"o": {"jobOutputType": "uri_folder"}},
    }
    here.made(f"{WS}/jobs/j", {"properties": properties})
    while (status := here.get(f"{WS}/jobs/j").data["properties"]["status"]) != "Failed":
        assert status != "Completed"
    details = here.get(f"{BASE}/history/v1.0{WS}/runs/j/details").data
    assert "exit code 3" in details["error"]["error"]["message"]
    log = here.get(details["logFiles"]["user_logs/std_log.txt"])
    assert log.response.body == b"aaaa\n"
