"""A blue/green rollout on every backend: as planned, and in an order that the service takes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mlctl import pointer
from mlctl.backends.ports.backend import Backend
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data
from mlctl.service_errors import ServiceError
from tests.builders.plans import planned, succeeded
from tests.builders.resources import declared, environment, model

RISK = Address("online-endpoint", "risk")
BLUE = Address("online-deployment", "blue", "risk")
KEPT = {"collections": {"inputs": {"enabled": "true"}}, "sampling_rate": 0.5}
SIZE = "Standard_D4as_v4"


def endpoint(**values: Data) -> Resource:
    return declared("online-endpoint", {"name": "risk", "auth_mode": "aad_token", **values})


def deployment(name: str, **values: Data) -> Resource:
    said = {"model": "azureml:heart:1", "environment": "azureml:torch:1", "instance_type": SIZE}
    return declared("online-deployment", {**said, "name": name, "endpoint_name": "risk", **values})


def told(backend: Backend, at: str) -> Mapping[str, Data]:
    found: Mapping[str, Data] = pointer.get(backend.read([RISK])[RISK].body, ("properties", at))
    return found


def test_each_step_of_a_rollout_is_carried_out_and_leaves_nothing_to_do(backend: Backend) -> None:
    blue, green = deployment("blue", instance_count=2), deployment("green")
    bigger = deployment("blue", instance_type="Standard_E4s_v3", data_collector=KEPT)
    steps: list[tuple[Resource, ...]] = [
        (endpoint(traffic={"blue": 100}), blue),
        (endpoint(traffic={"blue": 100}, mirror_traffic={"green": 10}), blue, green),
        (endpoint(traffic={"blue": 90, "green": 10}, mirror_traffic={}), blue, green),
        (endpoint(traffic={"green": 100}), blue, green),
        (endpoint(traffic={"green": 60, "blue": 40}), bigger, green),
    ]
    for step in steps:
        made = planned(backend, model(), environment(), *step)
        assert not made.plan.errors
        succeeded(made.work, backend)
        assert planned(backend, model(), environment(), *step).plan.empty
        assert told(backend, "traffic") == step[0].values["traffic",]
    assert told(backend, "mirrorTraffic") == {}


def test_the_service_deletes_no_deployment_that_gets_requests(backend: Backend) -> None:
    made = planned(
        backend, model(), environment(), endpoint(traffic={"blue": 100}), deployment("blue")
    )
    succeeded(made.work, backend)
    with pytest.raises(ServiceError):
        backend.delete(BLUE).wait()
    assert BLUE in backend.read([BLUE])
