"""Training jobs finished on the azure backend, against the emulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlctl.finishing.begin import TWIN_S
from mlctl.finishing.cloud import WorkspaceCloud, checkpoint_uri
from mlctl.finishing.progress import Ending, Run, RunState
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.simulator.control_plane import disruptions
from mlctl.simulator.control_plane.jobs import workloads
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import OnOff
from mlctl.workload import DEFAULT_NAME
from tests.builders.bodies import CPU, cluster, put
from tests.finishing.meeting import Meeting
from tests.finishing.test_controller import Killed
from tests.finishing.worlds import NAME, SURE_CPU, trained, training_ordered


@pytest.fixture
def there() -> Meeting:
    """A workspace on the emulator with an outage, and a training job that was ordered."""
    meeting = Meeting()
    handle = WorkspaceHandle(meeting.store, meeting.scope, "eastus")
    backend = meeting.client().backend
    put(backend, CPU, cluster(nodes=1, tier="LowPriority"))
    of = trained(3, (), RecoveryPolicy(Way.DEADLINE), 4 * HOUR - TWIN_S)
    with meeting.store.write() as db:
        workloads.save(db, DEFAULT_NAME, of.workload)
    disruptions.set_preemption(handle, (OnOff(4.0, 5 * HOUR),))
    order = training_ordered(of, 4 * HOUR, makes_twin=True)
    record = {"at": meeting.wall(), "event": "begun", "order": order.document()}
    backend.journals.append(NAME, record)
    return meeting


@pytest.mark.slow
def test_a_run_goes_on_from_the_checkpoint_that_is_in_the_storage(there: Meeting) -> None:
    client = there.client()
    controller = there.controller(client)
    assert controller.carry_out() is Ending.DONE
    runs = controller.progress.runs
    assert runs[0].status == "Canceled"
    assert runs[-1].tier is Tier.DEDICATED
    assert runs[-1].first > 0
    body = client.backend.jobs.show(runs[-1].name).body["properties"]
    assert body["inputs"]["from"]["uri"].endswith(f"/azureml/{runs[-1].resumes}/kept/")
    assert body["properties"]["mlctl.resumes"] == runs[-1].resumes
    assert not client.backend.read([SURE_CPU])


@pytest.mark.slow
def test_another_machine_goes_on_with_a_training_job(there: Meeting) -> None:
    first = there.controller(there.client())
    submit = first.cloud.submit

    def dying(order: object, run: Run) -> None:
        submit(order, run)  # type: ignore[arg-type]
        if run.resumes:
            raise Killed

    first.cloud.submit = dying  # type: ignore[method-assign]
    with pytest.raises(Killed):
        first.carry_out()
    client = there.client()
    second = there.controller(client)
    assert second.carry_out() is Ending.DONE
    names = [job.name for job in client.backend.jobs.list()]
    assert len(names) == len(set(names)) == len(second.progress.runs)


def test_half_a_checkpoint_in_the_storage_is_not_trusted(there: Meeting, tmp_path: Path) -> None:
    client = there.client()
    cloud = WorkspaceCloud(client.backend, client.backend.jobs, there.wall)
    order = replace(there.progress().order, name="earlier")
    run = Run(NAME, 0, Tier.LOW_PRIORITY, 0.0, resumes="earlier", first=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cloud, "find", lambda _: RunState("Canceled"))
        for step, size in ((20, 1000), (40, 1001), (60, 500)):
            (tmp_path / str(step)).write_bytes(b"x" * size)
            name = f"checkpoint-{step}/model.bin"
            folder = checkpoint_uri(order, run.name).partition("/paths/")[2].rstrip("/")
            client.backend.folders.write(folder, {name: tmp_path / str(step)})
        assert cloud.saved_steps(order, run) == 40
        assert cloud.saved_steps(order, replace(run, name="no-other")) is None
