"""`finish` on the azure backend where the service fails: it waits, repeats nothing, and goes on."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mlctl.finishing.progress import Ending
from mlctl.kinds.address import Scope
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, ServiceError
from mlctl.simulator.control_plane.faults import HttpFault, HttpFaultKind, RetryAfter
from mlctl.simulator.control_plane.jobs import workloads
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.azure import TOKEN, Azure
from tests.builders.bodies import BLUE, ENDPOINT, deployment, put
from tests.finishing.meeting import Meeting
from tests.finishing.worlds import NAME, SURE, SURE_CPU

_LOOKS = f"*/jobs/{NAME}*"
_STORE = "*/blob/*"


def done(meeting: Meeting, client: Azure) -> list[str]:
    """What was run, of a job that came to its end although something failed."""
    controller = meeting.controller(client)
    assert controller.carry_out() is Ending.DONE
    runs = [run.name for run in controller.progress.runs]
    assert [run.reason for run in controller.progress.runs] == [""] * 3
    assert [run.status for run in controller.progress.runs] == ["Completed"] * 3
    assert sorted(job.name for job in client.backend.jobs.list()) == sorted(runs)
    assert not client.backend.read([SURE_CPU, SURE])
    return runs


@pytest.mark.parametrize(
    "fault",
    [
        HttpFault(HttpFaultKind.REFUSE, "POST", "*/jobs", status=429, times=12),
        HttpFault(
            HttpFaultKind.REFUSE,
            path=_LOOKS,
            status=429,
            retry_after=RetryAfter.SECONDS,
            seconds=60,
            times=30,
        ),
        HttpFault(HttpFaultKind.HANG_UP, "POST", "*/jobs", times=2),
        HttpFault(HttpFaultKind.TRUNCATE, "POST", "*/jobs", times=2),
        HttpFault(HttpFaultKind.REFUSE, path=_LOOKS, status=503, times=40),
        HttpFault(HttpFaultKind.TRUNCATE, "GET", _LOOKS, bytes=9, every=True, nth=3, times=None),
    ],
    ids=["calls throttled", "looks throttled", "calls dropped", "answers lost", "down", "cut"],
)
def test_what_passes_is_waited_for_and_nothing_is_started_twice(
    meeting: Meeting,
    fault: HttpFault,
) -> None:
    meeting.strike(fault)
    assert done(meeting, meeting.client()) == [NAME, f"{NAME}-2", f"{NAME}-3"]


def test_an_answer_that_is_lost_and_a_job_that_is_seen_late_are_one_run(
    meeting: Meeting,
) -> None:
    meeting.strike(HttpFault(HttpFaultKind.TRUNCATE, "POST", "*/jobs"))
    client = meeting.client()
    show, hidden = client.backend.jobs.show, iter([True, True])
    jobs: Any = type(client.backend.jobs)

    def late(self: Any, name: str) -> Any:
        if name == NAME and next(hidden, False):
            raise NotFound("NotFound", "not seen yet")
        return show(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "show", late)
        assert done(meeting, client) == [NAME, f"{NAME}-2", f"{NAME}-3"]
    assert client.asked.count("POST jobs") == 4  # the second call is refused: its name is taken


def test_an_endpoint_that_is_deleted_under_it_ends_it_and_leaves_nothing(
    meeting: Meeting,
) -> None:
    client = meeting.client()
    controller = meeting.controller(client)
    watch = controller.cloud.watch

    def deleted(*facts: Any) -> Any:
        look = watch(*facts)
        for address in (SURE, BLUE, ENDPOINT):
            if client.backend.read([address]):
                client.backend.delete(address).wait()
        return look

    controller.cloud.watch = deleted  # type: ignore[assignment, method-assign]
    assert controller.carry_out() is Ending.IMPOSSIBLE
    assert "no longer exists" in controller.progress.reason
    assert not client.backend.read([SURE_CPU])


class Ageing:
    """A credential whose tokens last for ten minutes of the real clock, or that has ended."""

    def __init__(self) -> None:
        self.asked = 0
        self.ended = False

    def get_token(self, *_: str, **__: Any) -> Any:
        from azure.core.credentials import AccessToken  # noqa: PLC0415 - of an extra
        from azure.core.exceptions import ClientAuthenticationError  # noqa: PLC0415

        self.asked += 1
        if self.ended:
            raise ClientAuthenticationError("the session has ended: log in")
        return AccessToken(TOKEN, int(time.time()) + 1)  # over before the next request


def test_a_token_that_has_expired_is_asked_for_again(meeting: Meeting) -> None:
    credential = Ageing()
    done(meeting, meeting.client(credential=credential))
    assert credential.asked > 20


def test_a_login_that_has_ended_leaves_the_job_to_be_resumed(meeting: Meeting) -> None:
    credential = Ageing()
    client = meeting.client(credential=credential)
    controller = meeting.controller(client)
    submit = controller.cloud.submit

    def ending(*facts: Any) -> None:
        submit(*facts)
        credential.ended = True

    controller.cloud.submit = ending  # type: ignore[assignment, method-assign]
    with pytest.raises(ServiceError, match="log in"):
        controller.carry_out()
    assert done(meeting, meeting.client()) == [NAME, f"{NAME}-2", f"{NAME}-3"]


def test_the_secret_of_the_storage_is_read_again_when_it_has_expired(
    meeting: Meeting,
) -> None:
    client = meeting.client()
    journals = client.backend.journals
    before: list[Data] = [*journals.read(NAME)]
    meeting.strike(HttpFault(HttpFaultKind.REFUSE, path=_STORE, status=403))
    journals.append(NAME, {"event": "later"})
    assert journals.read(NAME) == [*before, {"event": "later"}]
    assert client.asked.count("POST listSecrets") == 2


def test_a_deployment_that_fails_on_every_node_is_given_up_after_two_equal_failures(
    meeting: Meeting,
) -> None:
    with meeting.store.write() as db:
        workloads.save(db, DEFAULT_NAME, Workload(files=4, fail_probability=1.0))
    client = meeting.client()
    put(client.backend, BLUE, failing(client.backend.scope))
    meeting.order(version=meeting.controller(client).cloud.version(meeting.progress().order))
    controller = meeting.controller(client)
    assert controller.carry_out() is Ending.IMPOSSIBLE
    assert "2 runs failed with the same error" in controller.progress.reason
    assert [run.status for run in controller.progress.runs] == ["Failed", "Failed"]
    assert len(client.backend.jobs.list()) == 2
    assert not client.backend.read([SURE_CPU, SURE])


def failing(scope: Scope) -> Data:
    """A deployment whose code fails on each node, as in `init()`, and which no failure passes."""
    settings = {"miniBatchSize": 2, "resources": {"instanceCount": 2}, "errorThreshold": 0}
    return deployment(scope, **settings)
