"""The unmodified azure-ai-ml on the emulator: compute instances, beside mlctl on the same ones."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address, Scope
from tests.builders.azure import azure
from tests.builders.paths import SAMPLES
from tests.builders.plans import actions, planned
from tests.builders.sdk import GROUP, SUBSCRIPTION, WORKSPACE, lead_here, sdk

TODAY = date(2026, 6, 18)
FILE = SAMPLES / "compute-instances" / "workstation.yml"
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    lead_here(monkeypatch)


def instance() -> Any:
    from azure.ai.ml import load_compute

    return load_compute(str(FILE))


def test_an_instance_comes_back_as_it_was_sent_stops_and_starts() -> None:
    ml = sdk().ml
    made = ml.compute.begin_create_or_update(instance()).result()
    assert (made.type, made.size, made.state) == ("computeinstance", "STANDARD_DS3_V2", "Running")
    assert made.idle_time_before_shutdown_minutes == 30
    [schedule] = made.schedules.compute_start_stop
    assert (schedule.action.lower(), schedule.trigger.expression) == ("stop", "0 18 * * 1-5")
    states = []
    for begin in (ml.compute.begin_stop, ml.compute.begin_start, ml.compute.begin_restart):
        begin("workstation").wait()
        states.append(ml.compute.get("workstation").state)
    assert states == ["Stopped", "Running", "Running"]
    assert [one.name for one in ml.compute.list(compute_type="ComputeInstance")] == ["workstation"]
    ml.compute.begin_delete("workstation").wait()
    assert [*ml.compute.list()] == []


def test_what_the_sdk_makes_is_to_mlctl_as_its_file_says() -> None:

    here = sdk()
    here.ml.compute.begin_create_or_update(instance()).result()
    backend = azure(here.world.emulator, Scope(SUBSCRIPTION, GROUP, WORKSPACE)).backend
    loader = Loader(Report(), TODAY, scope=backend.scope, planning=True)
    declared = loader.load([str(FILE)]).graph.resources.values()
    assert actions(planned(backend, *declared).plan) == {}
    backend.power(Address("compute-instance", "workstation"), "stop").wait()
    assert here.ml.compute.get("workstation").state == "Stopped"
    assert [live.address.name for live in backend.list_all(["compute", "compute-instance"])] == [
        "workstation"
    ]
