"""The jobs of the azure backend, on an emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mlctl.emulator import Request, Response
from mlctl.emulator.http.messages import DROPPED
from mlctl.kinds.address import Scope
from mlctl.service_errors import NotFound, Permanent, Transient
from mlctl.testing.sdk import InProcess
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.azure import BASE, Azure, Between, Credential, azure, emulated, no, says
from tests.builders.emulator import WS, with_deployment

if TYPE_CHECKING:
    from mlctl.backends.azure import ArmClient

SCOPE = Scope("sub", "rg", "ws")
SCORING = "https://e.eastus.inference.ml.azure.com/jobs"
INPUT = {"inputData": {"x": {"jobInputType": "UriFolder", "uri": "https://host/data"}}}
COMMAND = {
    "jobType": "Command",
    "command": "x",
    "computeId": f"{WS}/computes/cpu",
    "environmentId": "azureml://registries/r/environments/e",
}


def scoring() -> Azure:
    return azure(with_deployment().emulator, SCOPE)


def invoked(here: Azure, name: str | None = None) -> str:
    body = INPUT if name is None else {**INPUT, "name": name}
    return here.backend.jobs.invoke("scoring", "blue", body, Workload(), DEFAULT_NAME).name


def plane_of(cloud: str, url: str, credential: Any = None) -> ArmClient:
    """The client for a URL of a cloud all of whose hosts are one emulator."""
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    import requests
    from azure.core.pipeline.transport import RequestsTransport

    from mlctl.backends.azure import ArmClient, Cloud
    from mlctl.backends.azure.clouds import data_plane

    session = requests.Session()
    everywhere: Any = InProcess(emulated())
    session.mount("https://", everywhere)
    arm = ArmClient(BASE, credential or Credential(), RequestsTransport(session=session))
    return data_plane(arm, Cloud(cloud, "", "", ""), url)


def test_an_invoked_job_is_shown_and_listed() -> None:
    here = scoring()
    name = invoked(here, "mine")
    jobs = here.backend.jobs
    assert name == "mine"
    assert jobs.show(name).body["properties"]["deploymentName"] == "blue"
    for found in (jobs.list(), jobs.list("scoring"), jobs.list("scoring", "blue")):
        assert [one.name for one in found] == ["mine"]


def test_waiting_looks_again_until_the_job_has_ended_and_tells_each_state_once() -> None:
    here = scoring()
    told = list(here.backend.jobs.follow(invoked(here), 1e6, detail=False))
    states = [event.facts["status"] for each in told for event in each.events]
    assert states == ["Preparing", "Running", "Completed"]
    assert told[-1].job.ended
    assert len(here.clock.slept) == len(told) - 1


def test_waiting_ends_at_its_limit() -> None:
    here = scoring()
    told = list(here.backend.jobs.follow(invoked(here), 15.0, detail=False))
    assert not told[-1].job.ended
    assert sum(here.clock.slept) < 20


def test_a_job_is_cancelled_and_one_that_has_ended_is_not() -> None:
    here = scoring()
    name = invoked(here)
    assert here.backend.jobs.cancel(name).status == "Canceled"
    with pytest.raises(Permanent, match="has already ended: it is Canceled"):
        here.backend.jobs.cancel(name)


def test_a_command_job_is_created_under_its_name_or_a_new_one() -> None:
    jobs = scoring().backend.jobs
    made = [
        jobs.create(name, {"properties": COMMAND}, Workload(), DEFAULT_NAME) for name in ("a", None)
    ]
    assert made[0].name == "a"
    assert {one.name for one in jobs.list()} == {one.name for one in made}


def test_what_is_not_there_is_not_found() -> None:
    jobs = scoring().backend.jobs
    for ask in (
        lambda: jobs.show("none"),
        lambda: jobs.cancel("none"),
        lambda: jobs.list("none"),
        lambda: jobs.list("scoring", "none"),
        lambda: jobs.invoke("none", None, INPUT, Workload(), DEFAULT_NAME),
        lambda: jobs.invoke("scoring", "none", INPUT, Workload(), DEFAULT_NAME),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_local_input_is_refused_before_anything_is_asked() -> None:
    here = scoring()
    body = {"inputData": {"x": {"jobInputType": "UriFolder", "uri": "./data"}}}
    with pytest.raises(Permanent, match=r"local path `./data`"):
        here.backend.jobs.invoke("scoring", "blue", body, Workload(), DEFAULT_NAME)
    assert here.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.test/jobs",
        "http://e.eastus.inference.ml.azure.com/jobs",
        "https://eviml.azure.com/jobs",
    ],
)
def test_no_token_goes_to_a_host_that_is_not_azures(url: str) -> None:
    with pytest.raises(Permanent, match="mlctl sends no token"):
        plane_of("AzureCloud", url)


def test_the_data_plane_of_a_cloud_is_asked_with_a_token_of_its_own() -> None:
    asked: list[str] = []

    class Noting(Credential):
        def get_token(self, *scopes: str, **more: Any) -> Any:
            asked.extend(scopes)
            return super().get_token(*scopes, **more)

    with pytest.raises(
        NotFound
    ):  # the emulator, which stands for every host here, has no such path
        plane_of("AzureCloud", SCORING, Noting()).get(SCORING, "")
    assert asked == ["https://ml.azure.com/.default"]
    with pytest.raises(Permanent, match="mlctl sends no token"):
        plane_of("AzureChinaCloud", SCORING)


def test_the_newest_job_is_the_first_of_a_list() -> None:
    here = scoring()
    invoked(here, "a-first")
    list(here.backend.jobs.follow("a-first", 15.0, detail=False))  # virtual time passes
    invoked(here, "b-second")
    assert [one.name for one in here.backend.jobs.list()] == ["b-second", "a-first"]


class Losing:
    """An emulator whose answer to the call of an endpoint becomes another on its way back."""

    def __init__(self, answer: Response) -> None:
        self.inner, self.calls, self.answer = with_deployment().emulator, 0, answer

    def __call__(self, request: Request) -> Response:
        answer = self.inner(request)
        if request.method != "POST" or not request.path.endswith("/jobs"):
            return answer
        self.calls += 1
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [says(200, cut=DROPPED), says(502, "<html>"), says(201), says(201, {}), says(201, "{")],
    ids=["lost", "proxy", "empty", "nameless", "cut off"],
)
def test_one_invocation_starts_one_job_though_its_answer_is_lost(answer: Response) -> None:
    service = Losing(answer)
    here = azure(service, SCOPE)
    name = invoked(here)
    assert service.calls == 1
    assert [one.name for one in here.backend.jobs.list()] == [name]


def test_an_invocation_that_was_lost_on_its_way_says_how_to_find_its_job() -> None:
    here = azure(
        Between(with_deployment().emulator, [("POST */jobs", says(200, cut=DROPPED))]), SCOPE
    )
    with pytest.raises(Transient, match="no job of that name exists; look at `mlctl batch-endp"):
        invoked(here, "nightly")
    assert here.backend.jobs.list() == []
    assert invoked(here, "nightly") == "nightly"


def test_an_invoked_job_has_the_tags_that_were_asked_for() -> None:
    here = scoring()
    body = {**INPUT, "tags": {"team": "ds", "night": "3"}}
    made = here.backend.jobs.invoke("scoring", "blue", body, Workload(), DEFAULT_NAME)
    tags = here.backend.jobs.show(made.name).body["properties"]["tags"]
    assert made.body["properties"]["tags"] == tags
    assert (tags["team"], tags["night"], tags["azureml.deploymentname"]) == ("ds", "3", "blue")


def test_a_job_whose_tags_are_refused_is_named_for_it_runs() -> None:
    here = azure(Between(with_deployment().emulator, [("PATCH */runs/*", no(403))]), SCOPE)
    body = {**INPUT, "name": "nightly", "tags": {"team": "ds"}}
    with pytest.raises(Permanent, match="job nightly was started, but its tags could not be set"):
        here.backend.jobs.invoke("scoring", "blue", body, Workload(), DEFAULT_NAME)
    assert here.backend.jobs.show("nightly").name == "nightly"
