"""The unmodified SDK waits for operations in each of the forms that the service gives them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.sdk import Sdk, lead_here, sdk

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]  # the SDK's own


@pytest.fixture
def leading(monkeypatch: pytest.MonkeyPatch) -> Sdk:
    lead_here(monkeypatch)
    return sdk()


def with_pipeline(here: Sdk) -> object:
    from azure.ai.ml import command
    from azure.ai.ml.dsl import pipeline
    from azure.ai.ml.entities import AmlCompute

    cluster = AmlCompute(name="cpu", size="Standard_DS3_v2", max_instances=2)
    here.ml.compute.begin_create_or_update(cluster).result()
    environment = "azureml:AzureML-sklearn-1.0-ubuntu20.04-py38-cpu:33"
    step = command(name="step", command="echo", environment=environment)

    made: Any = pipeline
    return made(default_compute="cpu")(lambda: step() and None)()


def test_a_cancelled_pipeline_job_is_waited_for(leading: Sdk) -> None:
    job = leading.ml.jobs.create_or_update(with_pipeline(leading))
    leading.ml.jobs.begin_cancel(job.name).result()
    assert leading.ml.jobs.get(job.name).status == "Canceled"
    assert any("jc:" in asked for asked in leading.asked)


def test_a_schedule_is_made_disabled_and_deleted(leading: Sdk) -> None:
    from azure.ai.ml.entities import CronTrigger, JobSchedule
    from azure.core.exceptions import ResourceNotFoundError

    trigger = CronTrigger(expression="15 10 * * 1")
    job: Any = with_pipeline(leading)  # its type depends on whether the SDK is installed
    schedules = leading.ml.schedules
    nightly = JobSchedule(name="nightly", create_job=job, trigger=trigger)
    made = schedules.begin_create_or_update(nightly).result()
    assert (made.name, made.is_enabled) == ("nightly", True)
    assert [one.name for one in schedules.list()] == ["nightly"]
    schedules.begin_disable("nightly").result()
    assert [one.name for one in schedules.list()] == []
    schedules.begin_delete("nightly").result()
    with pytest.raises(ResourceNotFoundError, match="Resource Trigger nightly not found"):
        schedules.get("nightly")


def test_an_online_endpoint_is_written_over_and_gives_tokens(leading: Sdk) -> None:
    from azure.ai.ml.entities import ManagedOnlineEndpoint

    endpoint = ManagedOnlineEndpoint(name="live-endpoint", auth_mode="aml_token")
    endpoints = leading.ml.online_endpoints
    endpoints.begin_create_or_update(endpoint).result()
    endpoint.tags = {"a": "b"}
    assert endpoints.begin_create_or_update(endpoint).result().tags == {"a": "b"}
    token = endpoints.get_keys("live-endpoint")
    assert token.expiry_time_utc - token.refresh_after_time_utc == 12 * 3600
    endpoints.begin_delete("live-endpoint").result()
    assert list(endpoints.list()) == []
