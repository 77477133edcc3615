"""ARM's manners: paths, versions, ids, error bodies, headers, pages."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mlctl.emulator import Emulator, EmulatorSettings, Request
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.emulator import (
    BASE,
    CLUSTER,
    VERSION,
    WS,
    Answer,
    Wall,
    World,
    deployment,
    with_deployment,
    world,
)


def test_a_request_without_an_api_version_is_refused() -> None:
    answer = world().get(f"{BASE}{WS}/computes?other=1&api-version=")
    assert (answer.status, answer.code) == (400, "MissingApiVersionParameter")


@pytest.mark.parametrize("version", ["2023-08-01-preview", "2021-01-01", "anything"])
def test_any_api_version_is_answered(version: str) -> None:
    assert world().get(f"{BASE}{WS}/computes?api-version={version}").data == {"value": []}


def test_names_of_query_parameters_have_no_case() -> None:
    assert world().get(f"{BASE}{WS}/computes?API-Version=2024-04-01").status == 200


def test_paths_have_no_case_and_ids_have_one_spelling() -> None:
    here = world()
    here.made(f"{WS}/computes/Cpu", CLUSTER)
    answer = here.get(f"{WS}/computes/Cpu".lower())
    assert answer.data["id"] == f"{WS}/computes/Cpu"


def test_a_workspace_keeps_the_spelling_of_its_first_use() -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    answer = here.get(WS.replace("/ws", "/WS").replace("/rg", "/RG"))
    assert answer.data["id"] == WS


def test_doubled_and_trailing_slashes_do_not_matter() -> None:
    assert world().get(f"/{WS.replace('/workspaces', '//workspaces')}/computes/").status == 200


def test_percent_signs_are_decoded() -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    assert here.get(f"{WS}/computes/c%70u").data["name"] == "cpu"


@pytest.mark.parametrize("name", ["a%2Fb", "a%00b", "a%0Ab", "%FF", "a%5Cb", "x" * 2000])
def test_names_that_no_name_can_be_are_refused(name: str) -> None:
    answer = world().put(f"{WS}/computes/{name}", CLUSTER)
    assert (answer.status, answer.code) == (400, "InvalidResourceName")


@pytest.mark.parametrize("path", ["/", "/nothing", f"{WS}/toasters", f"{WS}/computes/a/b/c"])
def test_a_path_to_nothing_is_not_found(path: str) -> None:
    answer = world().get(path)
    assert (answer.status, answer.code) == (404, "InvalidResourceType")


def test_a_method_that_a_path_does_not_know_names_those_that_it_does() -> None:
    answer = world().ask("POST", f"{WS}/computes/cpu")
    assert (answer.status, answer.code) == (405, "MethodNotAllowed")
    assert answer.header("allow") == "DELETE, GET, PATCH, PUT"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b"[" * 100_000,
        b'{"properties": ' + b'{"a": ' * 100 + b"1" + b"}" * 101,
        b'{"properties": 5}',
        b'{"properties": {"properties": []}}',
    ],
    ids=lambda body: repr(body[:30]),
)
def test_a_body_that_is_no_object_of_the_right_shape_is_refused(body: bytes) -> None:
    answer = world().put(f"{WS}/computes/cpu", body)
    assert (answer.status, answer.code) == (400, "InvalidRequestContent")


def test_an_error_body_has_all_that_arm_puts_there() -> None:
    error = world().get(f"{WS}/onlineEndpoints/e").data["error"]
    assert set(error) == {"code", "message", "details", "additionalInfo"}
    assert error["additionalInfo"][0]["info"] == {"value": "managementfrontend"}


def test_the_404_of_a_cluster_has_no_body() -> None:
    here = world()
    for answer in (here.get(f"{WS}/computes/cpu"), here.ask("POST", f"{WS}/computes/cpu/stop")):
        assert (answer.status, answer.response.body) == (404, b"")
        assert answer.header("x-ms-response-type") == "standard"


def test_every_answer_names_the_request() -> None:
    here = world()
    first, second = (here.get(WS, headers={"X-Ms-Client-Request-Id": "me"}) for _ in range(2))
    assert first.header("x-ms-request-id") != second.header("x-ms-request-id")
    assert first.header("x-ms-client-request-id") == "me"


def test_a_correlation_id_is_kept() -> None:
    answer = world().get(WS, headers={"x-ms-correlation-request-id": "mine"})
    assert answer.header("x-ms-correlation-request-id") == "mine"


def test_deployments_are_listed_by_endpoint_and_need_one() -> None:
    here = with_deployment()
    assert here.get(f"{WS}/batchEndpoints/SCORING/deployments").names == ["blue"]
    assert here.get(f"{WS}/batchEndpoints/none/deployments").status == 404


def test_the_urls_of_an_endpoint_lead_back_to_the_emulator() -> None:
    endpoint = with_deployment().get(f"{WS}/batchEndpoints").data["value"][0]
    assert endpoint["properties"]["scoringUri"] == f"{BASE}{WS}/batchEndpoints/scoring/jobs"


def test_the_settings_of_a_pipeline_are_never_left_out() -> None:
    here, where = with_deployment(), f"{WS}/batchEndpoints/scoring/deployments/pipe"
    component = {"referenceType": "Id", "assetId": "azureml://registries/r/components/c/versions/1"}
    configured = {"deploymentConfigurationType": "PipelineComponent", "componentId": component}
    body = {"location": "eastus", "properties": {"deploymentConfiguration": configured}}
    shown = here.put(where, body).data["properties"]["deploymentConfiguration"]
    assert shown["settings"] == {}


def test_of_a_repeated_query_name_the_first_one_counts() -> None:
    answer = world().get(f"{BASE}{WS}/computes?{VERSION}&$top=1&$top=x")
    assert answer.status == 200


def test_a_head_is_a_get() -> None:
    assert world().ask("HEAD", WS).status == 200


def test_the_data_planes_front_end_is_the_control_plane() -> None:
    here = with_deployment()
    answer = here.get(f"/mferp/managementfrontend{WS}/batchEndpoints/scoring")
    assert answer.data["name"] == "scoring"


def test_a_missing_reference_is_refused_with_the_clouds_own_words() -> None:
    here = with_deployment()
    answer = here.put(
        f"{WS}/batchEndpoints/scoring/deployments/green", deployment(compute=f"{WS}/computes/none")
    )
    assert (answer.status, answer.code) == (404, "ComputeNotFound")


def test_a_bug_is_told_and_answered_without_a_traceback() -> None:
    told: list[Exception] = []
    moments = iter([0.0])  # the clock breaks after the first look at it
    emulator = Emulator(
        Store(":memory:"), EmulatorSettings(pace=1.0, now=lambda: next(moments), bug=told.append)
    )
    answer = Answer(emulator(Request.to("GET", f"{BASE}{WS}?{VERSION}")))
    assert (answer.status, answer.code) == (500, "InternalServerError")
    assert [type(each) for each in told] == [StopIteration]


def test_a_state_that_cannot_be_used_is_an_error_that_says_so() -> None:
    here = world()
    here.store.close()
    answer = here.get(WS)
    assert (answer.status, "it was closed" in answer.data["error"]["message"]) == (500, True)


def virtual_now(here: World) -> float:
    with here.store.read() as db:
        return float(db.execute("SELECT now FROM world").fetchone()[0])


def paced(pace: float) -> tuple[World, Wall]:
    wall = Wall()
    return world(pace=pace, now=wall), wall


def test_the_virtual_clock_goes_on_when_the_systems_clock_is_set_back() -> None:
    here, wall = paced(60.0)
    started = virtual_now(here)
    wall.time -= 3600.0
    here.get(WS)
    wall.time += 1.0
    here.get(WS)
    assert virtual_now(here) - started == pytest.approx(60.0)


def test_the_virtual_clock_stops_at_its_end() -> None:
    here, wall = paced(1e9)
    wall.time += 3600.0
    assert here.get(WS).status == 200
    assert virtual_now(here) == clock.END


def test_a_file_that_another_process_holds_is_busy_and_soon_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    store = Store(path, patience=0.01)
    here = World(Emulator(store), store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = here.put(f"{WS}/computes/cpu", CLUSTER)
    other.close()
    assert (answer.status, answer.code, answer.header("retry-after")) == (503, "ServerBusy", "1")
    assert here.put(f"{WS}/computes/cpu", CLUSTER).status == 201
    store.close()


@pytest.mark.parametrize("idle", ["P99999999999999999999D", f"P{'9' * 400}D", f"PT{'9' * 5000}S"])
def test_a_duration_that_no_clock_can_hold_is_refused(idle: str) -> None:
    scale = {"maxNodeCount": 1, "nodeIdleTimeBeforeScaleDown": idle}
    properties = {"computeType": "AmlCompute", "properties": {"scaleSettings": scale}}
    assert world().put(f"{WS}/computes/cpu", {"properties": properties}).status == 400
