"""`finish` on the azure backend, against the emulator: killed, taken up elsewhere, nothing left."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mlctl.backends.ports.lease import Holder, LeaseLost
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.controller import Controller
from mlctl.finishing.progress import Outcome, Progress
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.kinds.address import Scope
from tests.builders.azure import SCOPE, Azure, ManualClock, azure, emulated
from tests.builders.bodies import (
    BLUE,
    CPU,
    ENDPOINT,
    MODEL,
    cluster,
    deployment,
    endpoint,
    model,
    put,
)
from tests.builders.emulator import Wall
from tests.finishing.test_controller import Killed
from tests.finishing.worlds import NAME, SURE, SURE_CPU, ordered, world


class Meeting:
    """An emulator on a clock that moves as its clients wait."""

    def __init__(self, scope: Scope = SCOPE) -> None:
        self.wall, self.scope = Wall(), scope
        self.emulator = emulated(now=self.wall, pace=1.0)

    def client(self) -> Azure:
        """A client on a machine of its own."""
        wall = self.wall

        class Shared(ManualClock):
            def sleep(self, seconds: float) -> None:
                super().sleep(seconds)
                wall.time += seconds

        return azure(self.emulator, self.scope, wall=wall, clock=Shared(), limit=3600.0)

    def controller(self, client: Azure, backend: Any = None) -> Controller:
        """A controller that knows the journal."""
        backend = backend or client.backend
        journals = backend.journals
        return Controller(
            Progress.of(journals.read(NAME)),
            WorkspaceCloud(backend, backend.jobs, self.wall),
            lambda record: journals.append(NAME, record),
        )


@pytest.fixture
def meeting() -> Meeting:
    """A workspace on the emulator with a job that was ordered: three shards, all on a twin."""
    there = Meeting()
    backend = there.client().backend
    settings = {"miniBatchSize": 2, "resources": {"instanceCount": 2}}
    put(backend, CPU, cluster(nodes=2, tier="LowPriority"))
    put(backend, MODEL, model())
    put(backend, ENDPOINT, endpoint())
    put(backend, BLUE, deployment(backend.scope, **settings))
    order = ordered(
        world(1, (), RecoveryPolicy(Way.DEDICATED, shards=3), None),
        makes_twin=True,
        inputs={"images": {"jobInputType": "UriFolder", "uri": "azureml://datastores/d/paths/i"}},
    )
    record = {"at": there.wall(), "event": "begun", "order": order.document()}
    backend.journals.append(NAME, record)
    return there


def test_a_job_is_finished_on_azure_and_leaves_nothing_behind(meeting: Meeting) -> None:
    client = meeting.client()
    controller = meeting.controller(client)
    assert controller.carry_out() is Outcome.DONE
    assert [run.status for run in controller.progress.runs] == ["Completed"] * 3
    assert controller.progress.spent > 0
    assert not client.backend.read([SURE_CPU, SURE])
    assert client.backend.journals.names() == [NAME]


def test_another_machine_goes_on_after_a_kill(meeting: Meeting) -> None:
    first = meeting.controller(meeting.client())
    submit, numbers = first.cloud.submit, iter(range(9))

    def dying(*facts: Any) -> None:
        submit(*facts)
        if next(numbers) == 1:
            raise Killed

    first.cloud.submit = dying  # type: ignore[assignment, method-assign]
    with pytest.raises(Killed):
        first.carry_out()
    client = meeting.client()
    second = meeting.controller(client)
    assert second.progress.under_way is not None
    assert second.carry_out() is Outcome.DONE
    names = [job.name for job in client.backend.jobs.list()]
    assert sorted(names) == [NAME, f"{NAME}-2", f"{NAME}-3"]
    assert not client.backend.read([SURE_CPU, SURE])


def test_it_asks_no_more_than_twice_a_minute_while_it_waits(meeting: Meeting) -> None:
    client = meeting.client()
    controller = meeting.controller(client)
    submit, since = controller.cloud.submit, []

    def marked(*facts: Any) -> None:
        submit(*facts)
        since.append((len(client.asked), meeting.wall()))

    controller.cloud.submit = marked  # type: ignore[assignment, method-assign]
    controller.carry_out()
    for run, (number, at) in zip(controller.progress.runs, since, strict=True):
        ended = run.ended or at
        looks = Counter(client.asked[number:])[f"GET {run.name}"]
        assert looks <= (ended - at) / 30 + 3


def test_a_broken_lease_ends_a_controller_on_azure_too(meeting: Meeting) -> None:
    client = meeting.client()
    leases = client.backend.leases
    lease = leases.acquire("finish/forecast", Holder("a", 1, "mlctl finish"))
    controller = meeting.controller(client, client.backend.under(lease))
    assert meeting.client().backend.leases.break_(lease)
    with pytest.raises(LeaseLost):
        controller.carry_out()
    assert not client.backend.jobs.list()
