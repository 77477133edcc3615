"""Schedules: how one is shown, listed, deleted and missed."""

from __future__ import annotations

import re

from mlctl.pointer import Data
from tests.builders.emulator import WS, World, world

NIGHTLY = f"{WS}/schedules/nightly"
JOB: dict[str, Data] = {
    "jobType": "Command",
    "command": "x",
    "environmentId": "e",
    "inputs": {"data": {"uri": "azureml://datastores/d/paths/p", "jobInputType": "uri_folder"}},
}


def schedule(job: Data, *, enabled: bool = True) -> Data:
    trigger = {"triggerType": "Cron", "expression": "* * * * *"}
    action = {"actionType": "CreateJob", "jobDefinition": job}
    return {"properties": {"trigger": trigger, "action": action, "isEnabled": enabled}}


def with_schedule() -> World:
    here = world()
    here.made(NIGHTLY, schedule(JOB))
    return here


def test_a_schedule_is_shown_by_its_name_alone() -> None:
    shown = with_schedule().get(NIGHTLY).data
    assert (shown["name"], "id" in shown, "type" in shown) == ("nightly", False, False)


def test_its_job_is_completed_as_a_job_is() -> None:
    here = world()
    began = here.put(NIGHTLY, schedule(JOB))
    job = began.data["properties"]["action"]["jobDefinition"]
    assert (job["resources"]["instanceCount"], job["inputs"]["data"]["mode"]) == (
        1,
        "ReadOnlyMount",
    )
    assert (job["status"], job["services"], job["queueSettings"]) == ("NotStarted", None, None)
    here.done(began)
    job = here.get(NIGHTLY).data["properties"]["action"]["jobDefinition"]
    assert (job["services"], job["queueSettings"]["jobTier"]) == ({}, "Null")


def test_schedules_are_listed_by_whether_they_are_enabled() -> None:
    here = with_schedule()
    here.made(f"{WS}/schedules/off", schedule(JOB, enabled=False))
    views = ("EnabledOnly", "DisabledOnly", "All")
    listed = [here.get(f"{WS}/schedules?listViewType={view}").names for view in views]
    assert listed == [["nightly"], ["off"], ["nightly", "off"]]


def test_a_deletion_says_so_and_its_result_is_its_status() -> None:
    here = with_schedule()
    began = here.ask("DELETE", NIGHTLY)
    status, result = (str(began.header(name)) for name in ("azure-asyncoperation", "location"))
    assert re.search(r"/mfeOperationsStatus/s:[-0-9a-f]{36}:[A-Za-z0-9_-]{43}\?", status)
    assert [here.get(status).data["status"] for _ in range(2)] == ["Deleting", "Succeeded"]
    assert here.get(result).data["status"] == "Succeeded"
    assert here.get(result.replace(":", ";")).status == 404


def test_the_404_of_a_schedule_calls_it_a_trigger() -> None:
    error = world().get(NIGHTLY).data["error"]
    assert (error["code"], error["message"]) == ("UserError", "Resource Trigger nightly not found")
