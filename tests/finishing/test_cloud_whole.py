"""Pipelines finished on the azure backend, against the emulator: one run is one shard."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlctl.finishing.begin import TWIN_S
from mlctl.finishing.progress import Ending
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import disruptions
from mlctl.simulator.control_plane.jobs import workloads
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import OnOff
from mlctl.workload import DEFAULT_NAME
from tests.builders.bodies import CPU, cluster, put
from tests.finishing.meeting import Meeting
from tests.finishing.worlds import NAME, SURE_CPU, trained, training_ordered

TRAIN = Address("component", "train", None, "1")


@pytest.mark.slow
def test_a_pipeline_that_is_lost_is_run_again_on_the_twin_of_its_cluster() -> None:
    there = Meeting()
    client = there.client()
    backend, scope = client.backend, there.scope
    put(backend, CPU, cluster(nodes=1, tier="LowPriority"))
    environment = "azureml://registries/azureml/environments/sklearn-1.5/labels/latest"
    spec = {"type": "command", "name": "train", "version": "1", "command": "python train.py"}
    spec["environment"] = environment
    backend.put(TRAIN, {"properties": {"componentSpec": spec}}).wait()
    of = trained(3, (), RecoveryPolicy(Way.UNIFORM_PROGRESS), 4 * HOUR - TWIN_S)
    with there.store.write() as db:
        workloads.save(db, DEFAULT_NAME, replace(of.workload, checkpoint_every=0))
    disruptions.set_preemption(
        WorkspaceHandle(there.store, scope, "eastus"), (OnOff(4.0, 5 * HOUR),)
    )
    step = {"type": "command", "componentId": TRAIN.id(scope), "computeId": CPU.id(scope)}
    settings = {"default_compute": CPU.id(scope)}
    body = {"jobType": "Pipeline", "settings": settings, "jobs": {"train": step}}
    facts = {"makes_twin": True, "job": body, "checkpoint": "", "resumes": "", "whole": True}
    order = training_ordered(of, 4 * HOUR, **facts)
    record = {"at": there.wall(), "event": "begun", "order": order.document()}
    backend.journals.append(NAME, record)
    controller = there.controller(client)
    assert controller.carry_out() is Ending.DONE
    first, *_, last = controller.progress.runs
    assert (first.status, first.tier) == ("Canceled", Tier.LOW_PRIORITY)
    assert (last.status, last.tier) == ("Completed", Tier.DEDICATED)
    jobs = backend.jobs.show(last.name).body["properties"]["jobs"]
    assert jobs["train"]["computeId"] == SURE_CPU.id(scope)
    assert not backend.read([SURE_CPU])
    assert any("children" in line for line in client.asked)  # whether a step has worked
