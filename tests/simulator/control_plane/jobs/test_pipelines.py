"""Pipeline jobs of a simulated workspace: planned from ARM's body, and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import disruptions, replay
from mlctl.simulator.control_plane.jobs import artifacts, creation, job_events, records, workloads
from mlctl.simulator.control_plane.jobs.batch_jobs import Invocation
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.jobs.workloads import JobRequest
from mlctl.workload import Workload
from tests.builders.bodies import CPU
from tests.builders.simulated import finish_operations

START = 180 + 60  # seconds from asking for a node to its being ready
STEP = 600  # seconds of a step, unless a workload says otherwise


@pytest.fixture
def local(local: LocalBackend) -> LocalBackend:
    """A workspace with a cluster of at most 4 nodes."""
    inner = {"vmSize": "STANDARD_DS3_V2", "scaleSettings": {"maxNodeCount": 4}}
    body = {"properties": {"computeType": "AmlCompute", "properties": inner}}
    local.put(CPU, {"location": "eastus", **body})
    finish_operations(local)
    return local


def step(*after: str, **more: Data) -> dict[str, Data]:
    """A command step on the cluster that takes an output of each of `after`."""
    inputs = {
        name: {"value": f"${{{{parent.jobs.{name}.outputs.out}}}}", "job_input_type": "literal"}
        for name in after
    }
    return {"type": "command", "inputs": inputs, "outputs": {"out": {}}, **more}


def create(local: LocalBackend, jobs: Mapping[str, Data], **more: Any) -> JobRecord:
    settings = more.pop("settings", {})
    workload = more.pop("workload", Workload())
    properties = {
        "jobType": "Pipeline",
        "settings": {"default_compute": CPU.name, **settings},
        "jobs": jobs,
        **more,
    }
    return creation.create(local.handle, JobRequest(None, properties, workload))


def ended(local: LocalBackend, made: JobRecord) -> JobRecord:
    *_, last = job_events.follow(local.handle, made.row.name, 1e8, detail=False)
    return last.record


def steps(local: LocalBackend, made: JobRecord) -> dict[str, JobRecord]:
    found = records.children(local.handle, made.row.name)
    return {str(each.row.note["displayName"]): each for each in found}


def test_steps_run_in_the_order_of_their_data(local: LocalBackend) -> None:
    made = create(
        local,
        {"last": step("left", "right"), "left": step("in"), "right": step("in"), "in": step()},
    )
    done = ended(local, made)
    # One node for `in`; the second one for `left` and `right` is asked for when `in` has ended.
    assert done.view.makespan_s == START + STEP + max(STEP, START + STEP) + STEP
    assert list(steps(local, made)) == ["in", "left", "right", "last"]
    assert done.body(local.handle.scope)["properties"]["run"]["children"]["completed"] == 4


def test_a_pipeline_takes_its_inputs_to_its_steps(local: LocalBackend) -> None:
    placed = step(computeId="${{parent.inputs.where}}")
    inputs = {"where": {"value": "serverless", "jobInputType": "literal"}}
    made = create(local, {"only": placed}, inputs=inputs)
    assert steps(local, made)["only"].view.cluster == f"{_id(steps(local, made)['only'])}-nodes"
    with pytest.raises(NotFound, match="compute/gpu"):
        create(local, {"only": placed}, inputs={"where": {"value": "gpu"}})


def _id(job: JobRecord) -> str:
    return job.view.name


def test_a_step_has_the_workload_of_its_name(local: LocalBackend) -> None:
    disruptions.set_workload(local.handle, "train", Workload(steps=7, seconds_per_step=10.0))
    made = create(local, {"prep": step(), "train": step("prep")})
    assert ended(local, made).view.makespan_s == START + STEP + 70
    typed = create(local, {"x": step(command="x")}, workload=Workload(steps=1))
    assert ended(local, typed).view.makespan_s == 60  # on a node that is still there


def test_a_parallel_step_is_a_batch_job(local: LocalBackend) -> None:
    score = {
        "type": "parallel",
        "mini_batch_size": 5,
        "resources": {"instance_count": 2},
        "max_concurrency_per_instance": 2,
        "input_data": "${{inputs.data}}",
    }
    made = create(local, {"score": score})
    done = ended(local, made)
    of = steps(local, made)["score"].view.mini_batches
    assert of is not None
    assert (of.total, of.completed) == (20, 20)
    assert done.view.makespan_s == START + 20 / 4 * 5


def test_a_table_has_mini_batches_of_the_usual_size(local: LocalBackend) -> None:
    table = {"data": {"uri": "https://x", "job_input_type": "mltable"}}
    score = {
        "type": "parallel",
        "mini_batch_size": 10240,
        "input_data": "${{inputs.data}}",
        "inputs": table,
    }
    made = create(local, {"score": score})
    of = steps(local, made)["score"].view.mini_batches
    assert of is not None
    assert of.total == 10


def test_a_parallel_step_runs_on_serverless_compute(local: LocalBackend) -> None:
    made = create(local, {"score": {"type": "parallel", "computeId": "serverless"}})
    assert ended(local, made).view.status.value == "Completed"


def test_a_registered_pipeline_component_is_a_pipeline_within(local: LocalBackend) -> None:
    address = Address("component", "inner", version="1")
    spec = {"type": "pipeline", "name": "inner", "version": "1"}
    jobs = {"a": step(), "b": step("a")}
    local.put(address, {"properties": {"componentSpec": {**spec, "jobs": jobs}}})
    at = {"type": "pipeline", "componentId": address.id(local.handle.scope)}
    made = create(local, {"first": step(), "within": step("first", **at), "last": step("within")})
    assert ended(local, made).view.makespan_s == START + 4 * STEP
    inner = steps(local, made)["within"]
    assert (inner.row.kind, list(steps(local, inner))) == ("Pipeline", ["a", "b"])
    alone = create(local, {}, componentId=address.id(local.handle.scope))
    assert ended(local, alone).view.status.value == "Completed"


def test_a_failed_step_fails_its_pipeline(local: LocalBackend) -> None:
    disruptions.set_workload(local.handle, "bad", Workload(fail_probability=1.0, steps=1))
    graph = {"bad": step(command="bad"), "after": step("bad"), "free": step(command="free")}
    made = create(local, graph)
    assert ended(local, made).view.status.value == "Failed"
    assert [each.view.status.value for each in steps(local, made).values()] == [
        *("Failed", "Completed", "Canceled")
    ]
    stopped = create(
        local, graph, settings={"continue_on_step_failure": False, "force_rerun": True}
    )
    assert ended(local, stopped).view.status.value == "Failed"
    assert [each.view.status.value for each in steps(local, stopped).values()] == [
        *("Failed", "Canceled", "Canceled")
    ]


def test_what_ran_before_is_reused_if_nothing_of_it_has_changed(local: LocalBackend) -> None:
    def run(rate: str, **settings: Data) -> list[str]:
        prep = step(command="prep", inputs={"rate": {"value": "${{parent.inputs.rate}}"}})
        graph = {"prep": prep, "train": step("prep"), "other": step(command="x")}
        made = create(local, graph, inputs={"rate": {"value": rate}}, settings=settings)
        assert ended(local, made).view.status.value == "Completed"
        return [
            name
            for name, each in steps(local, made).items()
            if "azureml.isreused" in each.row.note["properties"]
        ]

    assert run("1") == []
    assert run("1") == ["prep", "other", "train"]
    assert run("2") == ["other"]  # what the change reaches runs again
    assert run("2", force_rerun=True) == []
    disruptions.configure(local.handle, {"reuse_steps": "false"})
    assert run("2") == []


def test_a_step_of_another_component_is_not_reused(local: LocalBackend) -> None:
    ended(local, create(local, {"a": step(command="one")}))
    made = create(local, {"a": step(command="two")})
    assert "azureml.isreused" not in steps(local, made)["a"].row.note["properties"]


def test_to_cancel_a_pipeline_cancels_its_steps(local: LocalBackend) -> None:
    made = create(local, {"a": step(), "b": step("a")})
    records.cancel(local.handle, made.row.name)
    assert {each.view.status.value for each in steps(local, made).values()} == {"Canceled"}


def test_steps_are_listed_with_their_job_only(local: LocalBackend) -> None:
    made = create(local, {"a": step()})
    assert [each.row.name for each in records.list_jobs(local.handle)] == [made.row.name]


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        ({}, "at least one step"),
        ({"a": step("b")}, "takes an output of `b`, which is no step"),
        ({"a": step("b"), "b": step("a")}, "wait for each other"),
        ({"a": "text"}, "is no object"),
        ({"a": {"type": "if_else"}}, "where their code is run"),
        ({"a": step(resources={"instance_count": 0})}, "instance_count"),
    ],
)
def test_a_pipeline_that_cannot_run_is_refused_whole(
    local: LocalBackend, jobs: Any, why: str
) -> None:
    with pytest.raises(Permanent, match=why):
        create(local, jobs)
    assert records.list_jobs(local.handle) == []


def test_a_replayed_pipeline_has_the_same_history(local: LocalBackend) -> None:
    made = create(local, {"a": step(), "b": step("a"), "c": step("a")})
    events = [each.line() for each in replay.events(local.handle.store, detail=True)]
    ended(local, made)
    whole = [each.line() for each in replay.events(local.handle.store, detail=True)]
    local.handle.store.engine_cache = None
    assert [each.line() for each in replay.events(local.handle.store, detail=True)] == whole
    assert whole[: len(events)] == events


def test_a_deployment_of_a_pipeline_component_runs_its_steps(local: LocalBackend) -> None:
    spec: dict[str, Data] = {"type": "pipeline", "name": "inner", "version": "1"}
    spec["outputs"] = {"scores": {"type": "uri_folder"}}
    spec["jobs"] = {"prep": step(computeId="${{parent.inputs.where}}"), "score": step("prep")}
    component = Address("component", "inner", version="1")
    local.put(component, {"properties": {"componentSpec": spec}})
    at = {"assetId": component.id(local.handle.scope), "referenceType": "Id"}
    configured = {
        "deploymentConfigurationType": "PipelineComponent",
        "componentId": at,
        "settings": {"default_compute": CPU.name},
    }
    endpoint = Address("batch-endpoint", "scoring-abc")
    local.put(endpoint, {"location": "eastus", "properties": {"authMode": "AADToken"}})
    finish_operations(local)
    deployment = Address("batch-deployment", "blue", endpoint.name)
    local.put(
        deployment, {"location": "eastus", "properties": {"deploymentConfiguration": configured}}
    )
    finish_operations(local)
    body = {"inputData": {"where": {"value": "serverless", "jobInputType": "literal"}}}
    made = creation.invoke(local.handle, Invocation(endpoint.name, "blue", body))
    assert (made.row.kind, made.row.endpoint) == ("Pipeline", endpoint.name)
    assert ended(local, made).view.makespan_s == (START + STEP) + (START + STEP)
    assert list(steps(local, made)) == ["prep", "score"]
    assert [each.row.name for each in records.list_jobs(local.handle, endpoint.name)] == [
        made.row.name
    ]
    files = [path.as_posix() for path, _ in artifacts.files_of(ended(local, made))]
    assert "named-outputs/scores/output.txt" in files


def test_the_events_of_a_pipeline_are_those_of_its_steps(local: LocalBackend) -> None:
    made = create(local, {"prep": step(), "train": step("prep")})
    told = [
        (event.event, event.facts["part"])
        for progress in job_events.follow(local.handle, made.row.name, 1e8, detail=True)
        for event in progress.events
        if "part" in event.facts and event.event in ("JOB_RUNNING", "JOB_ENDED")
    ]
    running, ended_ = "JOB_RUNNING", "JOB_ENDED"
    assert told == [(each, name) for name in ("prep", "train") for each in (running, ended_)]


def test_a_step_says_how_much_work_it_has_and_who_said_so(local: LocalBackend) -> None:
    with local.handle.store.write() as db:
        workloads.save(db, "train", Workload(steps=7))
    made = create(local, {"train": step(), "other": step()}, workload=Workload(seconds_per_step=2))
    work = {name: one.row.note["work"] for name, one in steps(local, made).items()}
    assert (work["train"]["steps"], work["other"]["steps"]) == (7, 10)
    assert work["train"]["said_by"] == {
        "steps": "workload train",
        "seconds_per_step": "the submission",
    }
    assert work["other"]["said_by"] == {"steps": "assumed", "seconds_per_step": "the submission"}
