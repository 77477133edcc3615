"""Fixtures of jobs that are finished on Azure."""

from __future__ import annotations

import pytest

from mlctl.forecast.batch.policy import RecoveryPolicy, Way
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
from tests.finishing.meeting import Meeting
from tests.finishing.worlds import NAME, ordered, world


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
