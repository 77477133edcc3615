"""A plan that deletes or replaces names the jobs that have not ended there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mlctl
from mlctl.backends.ports.jobs import Job
from mlctl.kinds.address import Address, Scope
from mlctl.planning.model import Action, Change, Plan
from mlctl.planning.running_jobs import with_running_jobs
from mlctl.render.plan import blocks as render
from mlctl.render.plan import markdown, plan_json
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.azure import Between, azure, no, says
from tests.builders.emulator import WS, with_deployment
from tests.builders.shell import Run, edit

if TYPE_CHECKING:
    from tests.builders.azure import Azure, Service

ENDPOINT = "heart-classifier-batch"
URI = {"x": {"jobInputType": "UriFolder", "uri": "https://host/data"}}
INVOKE = ("batch-endpoint", "invoke", "-n", ENDPOINT, "--input", "https://host/data")
QUERY = ("--input-type", "uri_folder", "--files", "500", "--query", "name", "-o", "tsv")
CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: cpu
type: amlcompute
size: Standard_F4s_v2
max_instances: 2
"""


@pytest.fixture
def running(mlctl: Run, sample: Path) -> tuple[Run, list[str]]:
    """The sample in the local cloud, and the names of four jobs of its endpoint."""
    assert mlctl("apply", sample, "--yes").code == 0
    return mlctl, [mlctl(*INVOKE, *QUERY).out.strip() for _ in range(4)]


def told(plan: Plan) -> list[tuple[str, str]]:
    return [(str(one.address), one.message) for one in plan.warnings if one.rule.code == "MLC417"]


def test_a_replaced_cluster_names_the_jobs_that_fail_with_it(
    running: tuple[Run, list[str]], sample: Path
) -> None:
    run, jobs = running
    run("job", "cancel", "-n", jobs[0])
    edit(sample / "low-pri-cluster.yml", "STANDARD_DS3_v2", "STANDARD_DS4_v2")
    planned = run("plan", sample)
    said = " ".join(planned.out.split())
    assert "warning[MLC417]: 3 jobs run or wait on compute/low-pri-cluster, and fail when" in said
    assert all(f"{name} (Queued)" in said for name in jobs[1:])
    assert jobs[0] not in said
    assert run("plan", sample, "--ignore", "MLC417").out.count("MLC417") == 0
    document = run("plan", sample, "-o", "json").json
    changes = {one["address"]: one["running_jobs"] for one in document["resource_changes"]}
    assert changes["compute/low-pri-cluster"] == [
        {"name": name, "status": "Queued"} for name in reversed(jobs[1:])
    ]
    assert changes[f"batch-endpoint/{ENDPOINT}"] == []
    assert "**MLC417** 3 jobs run or wait on" in run("plan", sample, "-o", "markdown").out


def test_apply_is_not_refused_and_the_jobs_fail_as_was_said(
    running: tuple[Run, list[str]], sample: Path
) -> None:
    run, jobs = running
    edit(sample / "low-pri-cluster.yml", "STANDARD_DS3_v2", "STANDARD_DS4_v2")
    assert run("plan", sample, "--out", "it.json").code == 0
    assert run("apply", "it.json").code == 0
    assert {run("job", "show", "-n", one).json["status"] for one in jobs} == {"Failed"}
    assert run("plan", sample, "--detailed-exitcode").code == 0


def test_strict_refuses_to_lose_jobs(running: tuple[Run, list[str]], sample: Path) -> None:
    run, _ = running
    edit(sample / "low-pri-cluster.yml", "STANDARD_DS3_v2", "STANDARD_DS4_v2")
    assert run("apply", sample, "--yes", "--strict").code != 0
    assert "DS3" in run("compute", "show", "-n", "low-pri-cluster").out.upper()


def test_what_is_destroyed_together_tells_of_a_job_once(
    running: tuple[Run, list[str]], sample: Path
) -> None:
    run, _ = running
    said = " ".join(run("plan", sample, "--destroy").out.split())
    assert said.count("MLC417") == 1
    assert "4 jobs run or wait on compute/low-pri-cluster" in said
    assert "and 1 more" in said


def test_jobs_of_a_deleted_deployment_go_on_as_is_said(running: tuple[Run, list[str]]) -> None:
    run, jobs = running
    run("batch-endpoint", "update", "-n", ENDPOINT, "--remove", "defaults.deployment_name")
    gone = run("batch-deployment", "delete", "-n", "classifier-xgboost", "-e", ENDPOINT, "--yes")
    assert f"4 jobs of batch-deployment/{ENDPOINT}/classifier-xgboost have not ended" in gone.err
    assert "they continue, but are no longer listed by it" in gone.err
    assert run("job", "wait", "-n", jobs[0]).json["status"] == "Completed"


def test_an_endpoint_tells_of_the_jobs_of_its_deployments(running: tuple[Run, list[str]]) -> None:
    run, _ = running
    gone = run("batch-endpoint", "delete", "-n", ENDPOINT, "--dry-run")
    assert gone.out.count("MLC417") == 1
    assert f"4 jobs of batch-endpoint/{ENDPOINT} have not ended" in gone.out


def test_deleting_a_cluster_by_its_command_names_them_before_it_asks(
    running: tuple[Run, list[str]],
) -> None:
    run, jobs = running
    dry = run("compute", "delete", "-n", "low-pri-cluster", "--dry-run")
    assert "4 jobs run or wait on compute/low-pri-cluster" in " ".join(dry.out.split())
    assert {run("job", "show", "-n", one).json["status"] for one in jobs} == {"Queued"}


def on_azure(tmp_path: Path, service: Service | None = None) -> tuple[Azure, Path]:
    """The backend on an emulator with a cluster, a deployment on it and its running job."""
    here = azure(service or with_deployment().emulator, Scope("sub", "rg", "ws"))
    file = tmp_path / "cpu.yml"
    file.write_text(CLUSTER)
    return here, file


def test_on_azure_the_jobs_of_deployments_on_the_cluster_and_command_jobs_are_found(
    tmp_path: Path,
) -> None:
    here, file = on_azure(tmp_path)
    jobs = here.backend.jobs
    batch = jobs.invoke("scoring", "blue", {"inputData": URI}, Workload(), DEFAULT_NAME).name
    body = {"jobType": "Command", "command": "x", "environmentId": "azureml://registries/r/e/e"}
    command = {"properties": {**body, "computeId": f"{WS}/computes/cpu"}}
    own = jobs.create("mine", command, Workload(), DEFAULT_NAME).name
    jobs.cancel(jobs.create("past", command, Workload(), DEFAULT_NAME).name)
    plan = mlctl.plan(file, here.backend).plan
    (change,) = plan.pending
    assert change.jobs is not None
    assert {one.name for one in change.jobs} == {batch, own}
    ((address, message),) = told(plan)
    assert address == "compute/cpu"
    assert "2 jobs run or wait on compute/cpu" in message


def test_jobs_are_asked_for_once_and_only_where_something_goes(tmp_path: Path) -> None:
    here, file = on_azure(tmp_path)
    bigger = file.read_text()
    file.write_text(bigger.replace("F4s_v2", "DS3_v2").replace("max_instances: 2", "tags: {a: b}"))
    assert [one.action.name for one in mlctl.plan(file, here.backend).plan.pending] == ["UPDATE"]
    assert "GET jobs" not in here.asked
    file.write_text(bigger)
    assert [one.action.name for one in mlctl.plan(file, here.backend).plan.pending] == ["REPLACE"]
    assert here.asked.count("GET jobs") == 1


def test_jobs_that_may_not_be_read_are_unknown_and_no_error(tmp_path: Path) -> None:
    service = Between(with_deployment().emulator, [("GET */jobs", no(403, "AuthorizationFailed"))])
    here, file = on_azure(tmp_path, service)
    planned = mlctl.plan(file, here.backend)
    ((_, message),) = told(planned.plan)
    assert "it is unknown if jobs run on it" in message
    assert "AuthorizationFailed" in message
    (change,) = plan_json.document(planned.plan)["resource_changes"]
    assert change["running_jobs"] is None
    assert "unknown" in markdown.plan(planned.plan)
    assert "unknown" in render.human(planned.plan)
    assert not planned.refused


def listed(name: str, made: str, status: str = "Running") -> dict[str, object]:
    place = {"computeId": f"{WS}/computes/cpu"}
    return {
        "name": name,
        "systemData": {"createdAt": made},
        "properties": {"jobType": "Command", "status": status, **place},
    }


@pytest.mark.parametrize(
    ("made", "pages"),
    [
        (("2026-03-02T10:00:00.123456+00:00", "2025-01-01T10:00:00Z"), 1),
        (("2025-01-01T10:00:00Z", "2026-03-02T10:00:00Z"), 2),
        (("?", "2025-01-01T10:00:00Z"), 2),
    ],
)
def test_years_of_jobs_are_not_read_where_the_newest_come_first(
    tmp_path: Path, made: tuple[str, str], pages: int
) -> None:
    first = [listed("a", made[0]), listed("b", made[1])]
    link = f"https://azure.test{WS}/jobs?page=2"
    answers = [
        ("GET */jobs", says(200, {"value": first, "nextLink": link})),
        ("GET */jobs", says(200, {"value": [listed("c", made[1])]})),
    ]
    here, file = on_azure(tmp_path, Between(with_deployment().emulator, answers))
    mlctl.plan(file, here.backend)
    assert here.asked.count("GET jobs") == pages


class OfJobs:
    """A backend that knows a job of a deployment, by its body."""

    def __init__(self, **said: str) -> None:
        self.jobs = self
        self._job = Job("mine", {"properties": {"status": "Running", **said}})

    def unfinished(self) -> list[Job]:
        return [self._job]


def warned(backend: Any, *deleted: str) -> list[str]:
    changes = tuple(Change(Address.parse(one), Action.DELETE) for one in deleted)
    made = with_running_jobs(Plan("x", Scope("", "", ""), changes, {}), {}, backend)
    return [str(one.address) for one in made.warnings]


def test_a_deployment_of_the_same_name_under_another_endpoint_is_another() -> None:
    backend = OfJobs(endpointName="a", deploymentName="main")
    assert warned(backend, "batch-deployment/b/main") == []
    assert warned(backend, "batch-deployment/a/MAIN") == ["batch-deployment/a/MAIN"]


def test_of_all_that_a_job_loses_the_cluster_is_told_and_else_the_endpoint() -> None:
    backend = OfJobs(endpointName="a", deploymentName="main", computeId="/x/computes/cpu")
    beneath = ("batch-deployment/a/main", "batch-endpoint/a")
    assert warned(backend, *beneath, "compute/cpu") == ["compute/cpu"]
    assert warned(backend, *beneath) == ["batch-endpoint/a"]
