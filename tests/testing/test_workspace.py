"""The workspace of a test: what it does, what it refuses, and what it leaves."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlctl
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import disruptions
from mlctl.testing import sdk
from mlctl.testing.workspace import NotApplied, SimulatedWorkspace
from tests.builders.paths import SAMPLES

CLUSTER, ENDPOINT = "scoring-nodes", "claims-scoring"


@pytest.fixture
def scoring() -> Iterator[SimulatedWorkspace]:
    """A workspace with what the sample declares."""
    workspace = SimulatedWorkspace(SAMPLES / "testing")
    workspace.apply("infra")
    yield workspace
    workspace.close()


def test_a_job_of_the_sdk_is_waited_for_like_one_of_its_own(scoring: SimulatedWorkspace) -> None:
    ml = scoring.ml_client
    from azure.ai.ml import Input  # the line above skips where it is absent

    own = scoring.invoke(ENDPOINT, "blue", files=10, seconds_per_file=2)
    where = Input(type="uri_folder", path="https://store.blob.core.windows.net/box/folder")
    with pytest.warns(Warning, match="marshmallow"):
        other = ml.batch_endpoints.invoke(ENDPOINT, input=where)
    assert {scoring.wait(one).status for one in (own, own.name, other)} == {"Completed"}
    assert ml.jobs.get(own.name).status == "Completed"


def test_two_workspaces_have_two_clients_and_leave_no_trace(tmp_path: Path) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    before = dict(os.environ)
    one, other = SimulatedWorkspace(SAMPLES / "testing"), SimulatedWorkspace(tmp_path)
    one.apply("infra/cluster.yml")
    assert [each.name for each in one.ml_client.compute.list()] == [CLUSTER]
    clouds = [os.environ[sdk.CLOUD] for each in (one, other, one) if each.ml_client]
    assert clouds[0] == clouds[2] != clouds[1]  # the SDK reads it again when it makes URLs
    assert list(other.ml_client.compute.list()) == []
    one.close()
    assert list(other.ml_client.compute.list()) == []
    other.close()
    assert dict(os.environ) == before
    assert not [each for each in sdk.TRANSPORTS.values() if each.emulator is one.emulator]


def test_nodes_go_when_they_are_told_to(scoring: SimulatedWorkspace) -> None:
    job = scoring.invoke(ENDPOINT, files=400, seconds_per_file=30)
    scoring.advance("20m")
    assert scoring.preempt(CLUSTER, nodes=2) == 2
    scoring.preempt.by_rate(6)
    scoring.advance(3600)
    scoring.preempt.stop()
    lost = scoring.wait(job).body["properties"]["run"]["preempted_nodes"]
    assert lost > 2


def test_weather_has_a_name(scoring: SimulatedWorkspace) -> None:
    scoring.preempt.by_weather("stress")
    done = scoring.wait(scoring.invoke(ENDPOINT, files=4000, seconds_per_file=60))
    assert done.body["properties"]["run"]["preempted_nodes"] > 0
    with pytest.raises(ValueError, match="no weather `rain`; there is calm"):
        scoring.preempt.by_weather("rain")


def test_a_job_that_does_not_end_in_time_says_where_it_stands(scoring: SimulatedWorkspace) -> None:
    job = scoring.invoke(ENDPOINT, files=400, seconds_per_file=30)
    with pytest.raises(TimeoutError, match="is Running after 20m"):
        scoring.wait(job, "20m")
    with pytest.raises(mlctl.ServiceError, match="endpoint"):
        scoring.invoke("nothing", files=1)
    with pytest.raises(LookupError, match="no compute/gpu"):
        scoring.show("compute/gpu")


def test_a_step_that_fails_fails_the_apply(scoring: SimulatedWorkspace) -> None:
    disruptions.lock(scoring.backend.handle, [Address("compute", CLUSTER)], locked=True)
    with pytest.raises(NotApplied, match=f"compute/{CLUSTER}: .*lock") as caught:
        scoring.apply("infra", destroy=True)
    assert len(caught.value.outcome.failed) == 1


def test_a_test_costs_little(scoring: SimulatedWorkspace) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    alone, shared = [], []
    list(scoring.ml_client.compute.list())
    for _ in range(7):
        start = time.process_time()
        fresh = SimulatedWorkspace(SAMPLES / "testing")
        fresh.apply("infra")
        list(fresh.ml_client.compute.list())
        fresh.close()
        alone.append(time.process_time() - start)
        start = time.process_time()
        assert scoring.plan("infra").plan.empty
        list(scoring.ml_client.compute.list())
        shared.append(time.process_time() - start)
    assert (statistics.median(alone) < 0.15, statistics.median(shared) < 0.03) == (True, True)
