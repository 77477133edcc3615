"""Batch jobs as far as they are written down; and nodes."""

from __future__ import annotations

from mlctl.simulator.control_plane.jobs import workloads
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.emulator import (
    CLUSTER,
    WS,
    World,
    deployment,
    with_deployment,
    world,
)

ENDPOINT = f"{WS}/batchEndpoints/scoring"
NAMED = {"azureml-model-deployment": "blue"}


def invoked(times: int = 1, **settings: object) -> World:
    here = with_deployment(**settings)
    for _ in range(times):
        url = here.get(ENDPOINT).data["properties"]["scoringUri"]
        assert here.ask("POST", url, {"properties": {}}, headers=NAMED).status == 201
    return here


def test_a_scoring_uri_needs_no_api_version_and_begins_a_job() -> None:
    here = with_deployment()
    url = here.get(ENDPOINT).data["properties"]["scoringUri"]
    body = {"properties": {"inputData": {"UriFolder": {"uri": "https://x"}}}}
    made = here.ask("POST", url + "?", body, headers=NAMED)
    assert made.data["properties"]["status"] == "Preparing"
    assert made.header("azureml-model-deployment") == "blue"
    job = here.get(f"{WS}/jobs/{made.data['name']}").data["properties"]
    assert (job["jobType"], job["experimentName"]) == ("Pipeline", "scoring")
    assert job["tags"] == {
        "azureml.batchrun": "true",
        "azureml.deploymentname": "blue",
        "azureml.jobtype": "azureml.batchjob",
    }


def test_jobs_are_listed_by_endpoint_deployment_and_workspace_and_paged() -> None:
    here = invoked(3, page=2)
    front = "/mferp/managementfrontend"
    first = here.get(f"{front}{ENDPOINT}/jobs")
    assert len(first.names) == 2
    assert len(here.get(first.data["nextLink"]).names) == 1
    assert len(here.get(f"{front}{ENDPOINT}/deployments/blue/jobs").names) == 2
    assert here.get(f"{front}{ENDPOINT}/deployments/green/jobs").names == []
    assert len(here.get(f"{WS}/jobs").names) == 2


def test_the_default_deployment_is_invoked_where_none_is_named() -> None:
    here = with_deployment()
    assert here.ask("POST", f"{ENDPOINT}/jobs", {}).code == "NoDefaultDeployment"
    here.made(ENDPOINT, {"properties": {"defaults": {"deploymentName": "blue"}}})
    job = here.ask("POST", f"{ENDPOINT}/jobs", {"properties": {}}).data
    assert job["properties"]["tags"]["azureml.deploymentname"] == "blue"


def test_nothing_is_invoked_that_is_not_there() -> None:
    here = with_deployment()
    named = {"azureml-model-deployment": "green"}
    assert here.ask("POST", f"{ENDPOINT}/jobs", {}, headers=named).code == "DeploymentNotFound"
    assert here.ask("POST", f"{WS}/batchEndpoints/none/jobs", {}).status == 404
    assert here.get(f"{WS}/jobs/none").status == 404


def test_the_step_that_scores_is_a_child_of_its_own() -> None:
    here = invoked()
    job = here.get(f"{WS}/jobs").data["value"][0]["name"]
    history = f"/history/v1.0{WS}"
    (step,) = here.get(f"{history}/runs/{job}/children").data["value"]
    assert (step["parentRunId"], step["rootRunId"]) == (job, job)
    assert step["runId"] not in (job, None)
    assert step["properties"]["azureml.moduleName"] == "batchscoring"
    known = here.get(f"{WS}/jobs/{step['runId']}").data
    assert (known["name"], "properties" in known) == (step["runId"], False)
    details = here.get(f"{history}/runs/{step['runId']}/details").data
    assert details["runId"] == step["runId"]
    assert here.get(f"{history}/runs/{step['runId']}/children").data == {"value": []}
    assert here.get(f"{history}/runs/{step['runId']}/children").data == {"value": []}
    for name in (f"{step['runId']}x", f"{step['runId']}-score", "-score"):
        assert here.get(f"{WS}/jobs/{name}").status == 404
    assert here.ask("POST", f"{WS}/jobs/{step['runId']}/cancel").status == 200
    assert here.get(f"{WS}/jobs/{job}").data["properties"]["status"] == "Canceled"


def test_a_job_is_cancelled_once() -> None:
    here = invoked()
    job = here.get(f"{WS}/jobs").data["value"][0]["id"]
    assert [here.ask("POST", f"{job}/cancel").status for _ in range(2)] == [202, 200]
    assert here.get(job).data["properties"]["status"] == "Canceled"


def test_the_cancellation_of_a_pipeline_job_leads_to_its_result() -> None:
    here = invoked()
    job = here.get(f"{WS}/jobs").data["value"][0]["id"]
    began = here.ask("POST", f"{job}/cancel")
    url = str(began.header("location"))
    assert f"/mfeOperationResults/jc:{here.get(WS).data['properties']['workspaceId']}:" in url
    assert (began.data, began.header("azure-asyncoperation")) == (None, None)
    first, second = here.get(url), here.get(url)
    assert (first.status, first.data, first.header("location")) == (202, {}, url)
    assert (second.status, second.response.body) == (200, b"")
    assert here.get(url.replace(":batchjob", ":other")).status == 404


def test_a_pipeline_job_whose_component_is_not_there_is_refused_at_submission() -> None:
    here, component = with_deployment(), f"{WS}/components/step/versions/7"
    steps = {"one": {"type": "command", "componentId": component}}
    refused = here.put(f"{WS}/jobs/p", {"properties": {"jobType": "Pipeline", "jobs": steps}})
    assert (refused.status, refused.code) == (404, "NotFound")
    assert refused.data["error"]["message"] == (
        f"key: {component}, Message: Not found component step (version: 7)."
    )
    assert here.get(f"{WS}/jobs/p").status == 404


def test_an_invocation_is_answered_as_since_april_2023() -> None:
    here = with_deployment()
    began = here.ask("POST", f"{WS}/batchEndpoints/scoring/jobs", {"properties": {}}, headers=NAMED)
    properties = began.data["properties"]
    assert properties["output"] == {"datastoreId": None, "path": None}
    assert properties["tags"]["azureml.jobtype"] == "azureml.batchjob"
    assert '"error_threshold":"-1"' in properties["properties"]["azureml.parameters"]
    assert "miniBatchSize" not in properties


def test_a_job_runs_while_somebody_asks_for_it() -> None:
    here = invoked()
    job = here.get(f"{WS}/jobs").data["value"][0]["id"]
    seen = [here.get(job).data["properties"]["status"] for _ in range(60)]
    assert list(dict.fromkeys(seen)) == ["Preparing", "Running", "Completed"]


def test_a_job_that_has_ended_stays_what_it_is() -> None:
    here = invoked()
    job = here.get(f"{WS}/jobs").data["value"][0]["id"]
    while here.get(job).data["properties"]["status"] != "Completed":
        pass
    here.ask("POST", f"{job}/cancel")
    assert here.get(job).data["properties"]["status"] == "Completed"


def test_a_cluster_shows_its_nodes_while_a_job_runs() -> None:
    here = invoked()
    job = here.get(f"{WS}/jobs").data["value"][0]["id"]
    while here.get(job).data["properties"]["status"] != "Running":
        pass
    (cluster,) = here.get(f"{WS}/computes").data["value"]
    assert cluster["properties"]["properties"]["nodeStateCounts"]["runningNodeCount"] == 1
    nodes = here.ask("POST", f"{WS}/computes/cpu/listNodes").data["nodes"]
    assert [node["nodeState"] for node in nodes] == ["running"]


def test_a_command_job_is_created_once() -> None:
    here = with_deployment()
    asked = {"jobType": "Command", "command": "x", "computeId": f"{WS}/computes/cpu"}
    body = {"properties": {**asked, "environmentId": "azureml://registries/r/environments/e"}}
    answers = [here.put(f"{WS}/jobs/mine", body) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 200]
    assert [answer.data["properties"]["status"] for answer in answers] == ["Starting", "Queued"]
    assert here.put(f"{WS}/jobs/other", {"properties": {"jobType": "Spark"}}).status == 400
    assert here.get(f"{WS}/jobs").names == ["mine"]


def test_nodes_are_listed_under_nodes_on_one_page() -> None:
    here = world()
    here.made(f"{WS}/computes/cpu", CLUSTER)
    assert here.ask("POST", f"{WS}/computes/cpu/listNodes").data == {
        "computeType": "AmlCompute",
        "nodes": [],
    }
    assert here.ask("POST", f"{WS}/computes/none/listNodes").status == 404


def test_a_second_deployment_finds_its_endpoint_again() -> None:
    here = with_deployment()
    here.made(f"{ENDPOINT}/deployments/green", deployment(miniBatchSize=5))
    assert here.get(f"{ENDPOINT}/deployments").names == ["blue", "green"]


def test_a_long_job_ends_in_few_looks_as_each_takes_a_part_of_its_age() -> None:
    here = with_deployment()
    with here.store.write() as db:
        workloads.save(db, DEFAULT_NAME, Workload(files=4000, seconds_per_mini_batch=20.0))
    url = here.get(ENDPOINT).data["properties"]["scoringUri"]
    name = here.ask("POST", url, {"properties": {}}, headers=NAMED).data["name"]
    looks = 0
    while here.get(f"{WS}/jobs/{name}").data["properties"]["status"] != "Completed":
        looks += 1
    assert looks < 30
